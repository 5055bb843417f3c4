import { isIPv4 } from 'node:net';

/** Whether a host name or address reaches this machine only. Takes an IPv6 address with or without brackets. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (bare === 'localhost' || bare === '::1' || bare === '0:0:0:0:0:0:0:1') return true;
  return isIPv4(bare) && bare.startsWith('127.');
}

/** Whether secrets may be sent there, and keys fetched: by https, or http on a loopback host. */
export function isSafeAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '' || text.includes('#')) return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/** The path of a folder as the engine escapes it. */
export function escapePath(path: string): string {
  return path.replaceAll(/[^\w !$&'()+,./:;=@-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}
