import { requireInteger } from '../../guard/numbers.ts';
import type { RequestFacts, QueryValues } from '../operation.ts';
import type { Services } from '../services.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Which part of a listing is wanted. */
export interface Page {
  readonly after: string | undefined;
  /** `undefined`: all that there is. */
  readonly limit: number | undefined;
}

interface PageBody {
  readonly limit?: number;
  readonly page_token?: string;
}

/** The query says it, or else the body. The LanceDB client knows no pages here: without a limit it gets everything. */
export function readPage(request: RequestFacts, body: PageBody, services: Services): Page {
  const token = request.query['page_token'] ?? body.page_token;
  return { after: token === '' ? undefined : token, limit: limitOf(request, body, services.limits.http.pageSizeMax) };
}

/** Of entries that were asked for with one more than the page has. */
export function cutPage<Entry>(
  found: readonly Entry[],
  { limit }: Page,
  toToken: (last: Entry) => string,
): { readonly entries: readonly Entry[]; readonly token: { readonly page_token?: string } } {
  if (limit === undefined || found.length <= limit) return { entries: found, token: {} };
  const entries = found.slice(0, limit);
  const last = entries.at(-1);
  return { entries, token: last === undefined ? {} : { page_token: toToken(last) } };
}

/** How many to ask for, so that it shows whether there are more. */
export function limitWithNext({ limit }: Page): number | undefined {
  return limit === undefined ? undefined : limit + 1;
}

function limitOf({ query, dialect }: RequestFacts, body: PageBody, maximum: number): number | undefined {
  if (query['limit'] !== undefined) return readLimit(query, maximum);
  if (body.limit !== undefined) return requireInteger(body.limit, { field: 'limit', minimum: 1, maximum });
  return dialect === 'lancedb' ? undefined : maximum;
}

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

/** Entries by the thousand come in pages, so that the requests of others get their turn in between. */
const PAGE_ENTRIES = 1000;

/** Up to `limit` entries, each page behind the last entry of the one before. */
export async function collectPages<Entry>(
  limit: number,
  read: (last: Entry | undefined, limit: number) => Promise<readonly Entry[]>,
): Promise<readonly Entry[]> {
  const found: Entry[] = [];
  while (found.length < limit) {
    const wanted = Math.min(PAGE_ENTRIES, limit - found.length);
    const page = await read(found.at(-1), wanted);
    found.push(...page);
    if (page.length < wanted) break;
    await nextTurn();
  }
  return found;
}

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
