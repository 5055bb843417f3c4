import { createHash, createHmac } from 'node:crypto';
import type { StoreRequest } from './http.ts';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiresAtMilliseconds?: number;
}

/** Signature Version 4: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
export function signAws(
  { method, url, headers = {}, body = Buffer.alloc(0) }: StoreRequest,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  { region, service = 's3', now }: { readonly region: string; readonly service?: 's3' | 'sts'; readonly now: Date },
): Readonly<Record<string, string>> {
  const { host, pathname, search } = new URL(url);
  const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const contentHash = sha256(body);
  const added = {
    ...headers,
    'x-amz-date': time,
    'x-amz-content-sha256': contentHash,
    ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
  };
  const signed = Object.entries({ ...added, host })
    .map(([name, value]) => [name.toLowerCase(), value.trim()] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  const names = signed.map(([name]) => name).join(';');
  const lines = signed.map(([name, value]) => `${name}:${value}\n`).join('');
  const canonical = [method, pathname, search.slice(1), lines, names, contentHash].join('\n');
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  let key = hmac(`AWS4${secretAccessKey}`, time.slice(0, 8));
  for (const part of [region, service, 'aws4_request']) key = hmac(key, part);
  const signature = hmac(key, text).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...added, authorization };
}

function sha256(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('hex');
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
