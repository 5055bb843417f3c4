import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../errors/service-error.ts';
import { isLoopback } from '../../model/address.ts';
import { quoteForMessage } from '../../model/identifier.ts';

export interface HostSettings {
  /** The address that the server listens on. */
  readonly host: string;
  readonly hostSuffix: string | undefined;
  /** In addition to the names of this machine. */
  readonly allowedHosts: readonly string[];
}

/**
 * Protects against web pages that send requests to a server on their reader's machine: a page reveals itself in Origin
 * and, with DNS rebinding, by a name of its choice in Host.
 */
export function requireOwnHost({ headers }: IncomingMessage, settings: HostSettings): void {
  requireOwnOrigin(headers.origin, settings);
  requireOwnName(headers.host, settings);
}

/**
 * Like `requireOwnHost`, but pages served by this server, such as the console, may have any name that is allowed in
 * Host.
 */
export function requireOwnPage({ headers }: IncomingMessage, settings: HostSettings): void {
  const { origin, host } = headers;
  const isSent = origin !== undefined && parse(origin)?.host === parse(`http://${host}`)?.host;
  if (!isSent) requireOwnOrigin(origin, settings);
  requireOwnName(host, settings);
}

function requireOwnOrigin(origin: string | undefined, settings: HostSettings): void {
  if (origin !== undefined && !isOwn(origin, settings)) throw notOwn('Origin', origin);
}

function requireOwnName(name = '', settings: HostSettings): void {
  const isChecked = isLoopback(settings.host) || settings.allowedHosts.length > 0;
  if (isChecked && !isOwn(`http://${name}`, settings)) throw notOwn('Host', name);
}

function isOwn(address: string, { allowedHosts, hostSuffix }: HostSettings): boolean {
  const name = parse(address)?.hostname.toLowerCase() ?? '';
  return (
    isLoopback(name) ||
    allowedHosts.some((allowed) => allowed.toLowerCase() === name) ||
    (hostSuffix !== undefined && (name === hostSuffix || name.endsWith(`.${hostSuffix}`)))
  );
}

/** `undefined` if it is not an address, such as the origin `null` of a sandboxed page. */
function parse(address: string): URL | undefined {
  return URL.canParse(address) ? new URL(address) : undefined;
}

function notOwn(header: string, value: string): ServiceError {
  return new ServiceError(
    'PermissionDenied',
    `The ${header} header is ${quoteForMessage(value)}, which is not allowed.`,
    { hint: 'An operator can allow host names with the setting mcp.allowedHosts.' },
  );
}
