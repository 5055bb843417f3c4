import { isIPv4 } from 'node:net';
import { quoteForMessage } from './identifier.ts';

/** Whether a host name or address only reaches this machine. IPv6 addresses may have brackets. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (bare === 'localhost' || bare === '::1' || bare === '0:0:0:0:0:0:0:1') return true;
  return isIPv4(bare) && bare.startsWith('127.');
}

/** Whether secrets may be sent there, and keys fetched from there: https, or http on a loopback host. */
export function isSafeAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '' || text.includes('#')) return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/**
 * What a storage root must not contain, and what would be right. Quotes nothing else from it, because it may contain a
 * password.
 */
export interface RootFault {
  readonly found: string;
  readonly advice: string;
}

/**
 * The engine parses an address as a URL, and the path of a folder up to `?`; the server uses both as written. If they
 * differ, each would look for a table in a different place.
 */
export function findRootFault(root: string): RootFault | undefined {
  const [control] = /\p{Cc}/u.exec(root) ?? [];
  if (control !== undefined)
    return { found: `the control character ${quoteForMessage(control)}`, advice: 'Remove it.' };
  if (root.startsWith('/')) return root.includes('?') ? endsPath('?') : undefined;
  const [, bucket, path = ''] = /^(?:s3|gs|az):\/\/([^/]*)(.*)$/s.exec(root) ?? [];
  return bucket === undefined ? undefined : (findBucketFault(bucket) ?? findPathFault(path));
}

function findBucketFault(bucket: string): RootFault | undefined {
  const [found] = /[^\w.$-]/u.exec(bucket) ?? [];
  const advice = 'Give only the name of the bucket there, and credentials and the endpoint in storage.options.';
  return found === undefined ? undefined : { found: `${quoteForMessage(found)} in the bucket`, advice };
}

function findPathFault(path: string): RootFault | undefined {
  const [ending] = /[#?]/.exec(path) ?? [];
  if (ending !== undefined) return endsPath(ending);
  const [encoded] = /%[0-9a-f]{2}/i.exec(path) ?? [];
  if (encoded !== undefined) {
    return { found: `"${encoded}", which the engine decodes`, advice: 'Write the character itself.' };
  }
  const trimmed = path.replace(/\/+$/, '');
  if (trimmed.endsWith(' ')) return { found: 'a space at its end', advice: 'Remove it.' };
  const [, ...segments] = trimmed.split('/');
  const empty = segments.find((segment) => ['', '.', '..'].includes(segment));
  if (empty === undefined) return undefined;
  return { found: empty === '' ? '"//" in its path' : `the segment "${empty}"`, advice: 'Write the path without it.' };
}

function endsPath(character: string): RootFault {
  return { found: `"${character}", which ends the path of a URL`, advice: 'Choose another path.' };
}

/** The path of a folder with the engine's escapes. */
export function escapePath(path: string): string {
  return path.replaceAll(/[^\w !$&'()+,./:;=@-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}
