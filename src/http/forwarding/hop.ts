import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** Set on forwarded requests: the id of the sending node, and a proof that it knows the secret of all nodes. */
const HOP = 'tiltyard-hop';
/**
 * Set on the reply of a node that does not own the table: nothing was changed, and the sender looks up the owner again.
 */
export const NOT_OWNER = 'tiltyard-not-owner';

/** Hop-by-hop headers. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  // Belongs to the span of the replying node; the forwarding node sets its own.
  'traceresponse',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

type Address = Pick<IncomingMessage, 'method' | 'url'>;

/** The headers of a request or reply that are passed on to the next node or the client. */
export function passedHeaders(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !CONNECTION_HEADERS.has(name) && name !== HOP) passed[name] = value;
  }
  return passed;
}

export function hopHeader(nodeId: string, secret: string, message: Address): Readonly<Record<string, string>> {
  return { [HOP]: `${nodeId} ${sign(nodeId, secret, message)}` };
}

/** Whether another node forwarded the request. A header without a valid proof is ignored. */
export function isForwarded(message: IncomingMessage, secret: string): boolean {
  const header = message.headers[HOP];
  if (typeof header !== 'string') return false;
  const [nodeId = '', proof = ''] = header.split(' ');
  const expected = Buffer.from(sign(nodeId, secret, message));
  const given = Buffer.from(proof);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function sign(nodeId: string, secret: string, { method, url }: Address): string {
  return createHmac('sha256', secret).update(`${nodeId}\n${method}\n${url}`).digest('base64url');
}
