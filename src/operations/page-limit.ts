import { ServiceError } from '../errors/service-error.ts';
import { requireInteger } from '../guard/numbers.ts';
import type { QueryValues } from './operation.ts';

/** How many entries the caller wants at most; without a wish, as many as one page may have. */
export function readLimit(query: QueryValues, maximum: number): number {
  const text = query['limit'];
  if (text === undefined) return maximum;
  if (!/^\d{1,15}$/.test(text)) {
    throw new ServiceError('InvalidInput', 'The query parameter limit is not a whole number.', {
      hint: `Give a number from 1 to ${maximum}.`,
    });
  }
  return requireInteger(Number(text), { field: 'limit', minimum: 1, maximum });
}
