import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../errors/service-error.ts';
import { isLoopback } from '../../model/address.ts';
import { quoteForMessage } from '../../model/identifier.ts';

export interface HostSettings {
  /** That the server listens on. */
  readonly host: string;
  readonly hostSuffix: string | undefined;
  /** Besides those of this machine. */
  readonly allowedHosts: readonly string[];
}

/**
 * Against web pages that send requests to a server on the machine of their reader: a page names itself in Origin and, in
 * DNS rebinding, a name that it chose in Host.
 */
export function requireOwnHost({ headers }: IncomingMessage, settings: HostSettings): void {
  requireOwnOrigin(headers.origin, settings);
  requireOwnName(headers.host, settings);
}

/** The same, but pages that this server sent, such as the console, may have any name that Host may have. */
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

/** `undefined` for what is no address, such as the origin `null` of a sandboxed page. */
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
