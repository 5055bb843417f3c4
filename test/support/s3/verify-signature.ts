import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/**
 * Why a request is not signed as Signature Version 4 wants it; `undefined` when it is. The engine's requests pass it too,
 * so a mistake that this code shared with our own signing would show.
 */
export function findSignatureFault(
  request: IncomingMessage,
  body: Buffer,
  { accessKeyId, secretAccessKey }: Credentials,
  service: 's3' | 'sts' = 's3',
): 'AccessDenied' | 'InvalidAccessKeyId' | 'SignatureDoesNotMatch' | 'XAmzContentSHA256Mismatch' | undefined {
  const { method = '', url = '/', headers } = request;
  const found = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)$/.exec(
    headers.authorization ?? '',
  );
  if (found === null) return 'AccessDenied';
  const [, id, scope = '', names = '', signature] = found;
  if (id !== accessKeyId) return 'InvalidAccessKeyId';
  if (scope.split('/')[2] !== service) return 'SignatureDoesNotMatch';
  const hash = String(headers['x-amz-content-sha256']);
  if (hash !== 'UNSIGNED-PAYLOAD' && hash !== sha256(body)) return 'XAmzContentSHA256Mismatch';
  const [path = '', query = ''] = url.split('?');
  const sorted = query.split('&').map((pair) => (pair === '' || pair.includes('=') ? pair : `${pair}=`));
  const lines = names.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = [method, path, sorted.toSorted().join('&'), lines.join(''), names, hash].join('\n');
  const text = ['AWS4-HMAC-SHA256', String(headers['x-amz-date']), scope, sha256(Buffer.from(canonical))].join('\n');
  let key: Buffer = Buffer.from(`AWS4${secretAccessKey}`);
  for (const part of scope.split('/')) key = hmac(key, part);
  return hmac(key, text).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch';
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
