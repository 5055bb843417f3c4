import type { IncomingMessage } from 'node:http';

const PREFIX = 'header.';

/** What a body's context may not stand in for: who asks, what for, and how the bytes travel. */
const NEVER_FROM_CONTEXT = new Set([
  'authorization',
  'x-api-key',
  'x-service-database',
  'x-lancedb-database',
  'x-lancedb-database-prefix',
  'host',
  'cookie',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'content-length',
  'content-type',
  'content-encoding',
]);

export type HeaderReader = (name: string) => string | undefined;

/** A header that was sent, else the entry `header.<name>` of the body's context. */
export function headerReader(message: IncomingMessage, context: unknown): HeaderReader {
  const fromContext = readContextHeaders(context);
  return (name) => {
    const sent = message.headers[name];
    if (sent !== undefined) return Array.isArray(sent) ? sent.join(', ') : sent;
    return fromContext.get(name);
  };
}

function readContextHeaders(context: unknown): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  if (typeof context !== 'object' || context === null) return headers;
  for (const [key, value] of Object.entries(context)) {
    if (!key.toLowerCase().startsWith(PREFIX) || typeof value !== 'string') continue;
    const name = key.slice(PREFIX.length).toLowerCase();
    if (!NEVER_FROM_CONTEXT.has(name)) headers.set(name, value);
  }
  return headers;
}
