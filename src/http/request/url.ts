import type { IncomingMessage } from 'node:http';
import type { Type } from 'typebox';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { Dialect, RequestFacts } from '../../operations/operation.ts';

type QueryParameters = Pick<RequestFacts, 'query' | 'queryLists'>;

/**
 * Refuses unknown parameters as misspelled, but ignores them from the LanceDB client, whose newer releases add some.
 */
export function readQueryValues(url: string, shape: Type.TObject, dialect: Dialect): QueryParameters {
  const query: Record<string, string> = {};
  const queryLists: Record<string, string[]> = {};
  const start = url.indexOf('?');
  if (start < 0) return { query, queryLists };
  const text = url.slice(start + 1);
  requireWellFormed(text);
  const known: Readonly<Record<string, Type.TSchema & { readonly type?: unknown }>> = shape.properties;
  for (const [name, value] of new URLSearchParams(text)) {
    const parameter = Object.hasOwn(known, name) ? known[name] : undefined;
    if (parameter === undefined) {
      if (dialect === 'lancedb') continue;
      const message = `The query parameter ${quoteForMessage(name)} is unknown.`;
      throw invalidInput(message, `The query parameters are ${Object.keys(known).join(', ')}.`);
    }
    if (parameter.type === 'array') (queryLists[name] ??= []).push(value);
    else if (query[name] === undefined) query[name] = value;
    else throw invalidInput(`The query parameter ${name} is given twice.`);
  }
  return { query, queryLists };
}

/** `URLSearchParams` would silently replace what it cannot decode. */
function requireWellFormed(text: string): void {
  try {
    decodeURIComponent(text);
  } catch (cause) {
    throw new ServiceError('InvalidInput', 'The query of the URL is not valid percent-encoded UTF-8.', { cause });
  }
}

/**
 * The Rust client of the REST namespace form-encodes identifiers in the path, so a plus sign means a space. It is the
 * only client without a User-Agent.
 */
export function decodePlusSigns({ url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>): string {
  if (headers['user-agent'] !== undefined) return url;
  const [path = '', ...query] = url.split('?');
  return [path.replaceAll('+', '%20'), ...query].join('?');
}
