import type { Config } from './config.ts';
import { isLoopback } from './loopback.ts';

/** Where the token endpoint stands below the base path. */
export const TOKEN_ENDPOINT_PATH = '/oauth';

/**
 * The address of our own token endpoint, or `undefined` when there is none. It is never taken from a request: whoever
 * sends one chooses its host, and clients send their secrets to the address that the discovery document names.
 */
export function ownIssuerOf(config: Config): string | undefined {
  const { auth, host, port, tls, basePath } = config;
  if (!auth.tokenEndpoint) return undefined;
  if (auth.issuerUrl !== undefined) return auth.issuerUrl;
  if (!isLoopback(host)) return undefined;
  const shown = host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${shown}:${port}${basePath}${TOKEN_ENDPOINT_PATH}`;
}
