import { ServiceError } from '../../errors/service-error.ts';
import { requireInteger } from '../../guard/numbers.ts';

export function readPageSize(limit: number | undefined, maximum: number): number {
  return limit === undefined ? maximum : requireInteger(limit, { field: 'limit', minimum: 1, maximum });
}

/** A place in an order of texts, as one text. */
export function toPageToken(place: readonly string[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

export function readPageToken(token: string, length: number): readonly string[] {
  const place = parse(Buffer.from(token, 'base64url').toString());
  const isPlace = Array.isArray(place) && place.length >= length && place.every((each) => typeof each === 'string');
  if (isPlace) return place;
  throw new ServiceError('InvalidInput', 'The page token is not one that was given out here.');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
