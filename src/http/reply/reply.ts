import type { Reply } from '../../operations/operation.ts';
import { LANCEDB_PROTOCOL } from '../dialects.ts';

/** An operation's reply in HTTP form. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly response?: Reply['response'];
  readonly isLive?: boolean;
}

export type TextReply = HttpReply & { readonly body: string };

const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';

/** Has neither a body nor headers that describe one. */
export const NOT_MODIFIED = 304;

/** Headers of every reply. */
export function commonHeaders(requestId: string): Record<string, string> {
  return {
    'x-request-id': requestId,
    'phalanx-version': LANCEDB_PROTOCOL,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
}

export function toHttpReply(reply: Reply, requestId: string): HttpReply {
  const { status = 200, response } = reply;
  const type = status === NOT_MODIFIED ? {} : { 'content-type': contentType(reply) };
  const headers = { ...commonHeaders(requestId), ...reply.headers, ...type };
  const isLive = reply.kind === 'stream' && reply.isLive === true;
  return { status, headers, body: toBody(reply, headers), isLive, ...(response === undefined ? {} : { response }) };
}

export function toJsonReply(status: number, headers: Readonly<Record<string, string>>, body: object): TextReply {
  return { status, headers: { ...headers, 'content-type': JSON_TYPE }, body: JSON.stringify(body) };
}

function contentType(reply: Reply): string {
  if (reply.kind === 'stream' || reply.kind === 'bytes') return reply.mediaType;
  if (reply.kind === 'object' && reply.mediaType !== undefined) return `${reply.mediaType}; charset=utf-8`;
  return reply.kind === 'object' || reply.kind === 'value' ? JSON_TYPE : TEXT_TYPE;
}

function toBody(reply: Reply, headers: HttpReply['headers']): HttpReply['body'] {
  switch (reply.kind) {
    case 'object':
      return JSON.stringify({ ...reply.body, context: toContext(headers) });
    case 'value':
      return JSON.stringify(reply.value);
    case 'text':
      return reply.text;
    case 'bytes':
      return reply.bytes;
    case 'stream':
      return reply.pieces;
    case 'empty':
      return '';
  }
}

/** The context of a JSON object repeats the headers. */
function toContext(headers: HttpReply['headers']): Record<string, string> {
  const context: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) context[`header.${name}`] = value;
  return context;
}
