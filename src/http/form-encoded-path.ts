import type { IncomingMessage } from 'node:http';

/**
 * The Rust client of the REST namespace form-encodes identifiers also in the path, so that a space arrives as a plus sign;
 * from everybody else a plus sign is one. It is the only client that does not say its name.
 */
export function decodePlusSigns({ url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>): string {
  if (headers['user-agent'] !== undefined) return url;
  const [path = '', ...query] = url.split('?');
  return [path.replaceAll('+', '%20'), ...query].join('?');
}
