import type { Type } from 'typebox';
import { ServiceError } from '../errors/service-error.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { Dialect, QueryValues } from '../operations/operation.ts';

/**
 * The query parameters that an operation knows, each given at most once. Others are refused, so that a misspelt one does
 * not pass; from the LanceDB client, whose newer releases add some, they are ignored.
 */
export function readQueryValues(url: string, shape: Type.TObject, dialect: Dialect): QueryValues {
  const start = url.indexOf('?');
  if (start < 0) return {};
  const text = url.slice(start + 1);
  requireWellFormed(text);
  const known = Object.keys(shape.properties);
  const values: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    if (!known.includes(name)) {
      if (dialect === 'lancedb') continue;
      throw new ServiceError('InvalidInput', `The query parameter ${quoteForMessage(name)} is not known here.`, {
        hint: `Known are ${known.join(', ')}.`,
      });
    }
    if (values[name] !== undefined)
      throw new ServiceError('InvalidInput', `The query parameter ${name} is given twice.`);
    values[name] = value;
  }
  return values;
}

/** `URLSearchParams` replaces what it cannot decode, so that the caller's value would silently become another. */
function requireWellFormed(text: string): void {
  try {
    decodeURIComponent(text);
  } catch (error) {
    throw new ServiceError('InvalidInput', 'The query of the address is not valid percent-encoded UTF-8.', {
      cause: error,
    });
  }
}
