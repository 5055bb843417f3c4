import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** On a request that another node has forwarded: the id of that node, and a proof that it knows the secret of all nodes. */
const HOP = 'tiltyard-hop';
/** On the reply of a node that does not own the table: nothing was changed, and the sender looks for the owner again. */
export const NOT_OWNER = 'tiltyard-not-owner';

/** They belong to one hop. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  // Of the span of the node that replies; the one that forwards names its own.
  'traceresponse',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

type Address = Pick<IncomingMessage, 'method' | 'url'>;

/** The headers of a request or a reply that the next node or the client gets. */
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

/** Whether another node has forwarded the request. A header without proof counts for nothing. */
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
