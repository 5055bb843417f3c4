import type { Reply } from '../../operations/operation.ts';
import { LANCEDB_PROTOCOL } from '../dialects.ts';

export interface Outgoing {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Text that is there, or bytes that are still to come. */
  readonly body: string | AsyncIterable<Uint8Array>;
  /** Of a write: to be marked right before it is sent. */
  readonly response?: Reply['response'];
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** What every reply of ours carries; a JSON object repeats it in its `context`. */
export function commonHeaders(requestId: string): Record<string, string> {
  return {
    'x-request-id': requestId,
    'phalanx-version': LANCEDB_PROTOCOL,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
}

export function toOutgoing(reply: Reply, requestId: string): Outgoing {
  const type = contentType(reply);
  const headers = {
    ...commonHeaders(requestId),
    ...reply.headers,
    ...(type === undefined ? {} : { 'content-type': type }),
  };
  const { status = 200, response } = reply;
  return { status, headers, body: toBody(reply, headers), ...(response === undefined ? {} : { response }) };
}

export function toJsonOutgoing(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: object,
): Outgoing & { readonly body: string } {
  return { status, headers: { ...headers, 'content-type': JSON_TYPE }, body: JSON.stringify(body) };
}

function contentType(reply: Reply): string | undefined {
  switch (reply.kind) {
    case 'object':
      return reply.mediaType === undefined ? JSON_TYPE : `${reply.mediaType}; charset=utf-8`;
    case 'value':
      return JSON_TYPE;
    case 'text':
      return 'text/plain; charset=utf-8';
    case 'stream':
      return reply.mediaType;
    case 'empty':
      return undefined;
  }
}

function toBody(reply: Reply, headers: Readonly<Record<string, string>>): Outgoing['body'] {
  switch (reply.kind) {
    case 'object':
      return JSON.stringify({ ...reply.body, context: toContext(headers) });
    case 'value':
      return JSON.stringify(reply.value);
    case 'text':
      return reply.text;
    case 'stream':
      return reply.pieces;
    case 'empty':
      return '';
  }
}

function toContext(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [`header.${name}`, value]));
}
