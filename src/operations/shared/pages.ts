import { setImmediate as nextEventLoopTick } from 'node:timers/promises';
import { invalidInput } from '../../errors/service-error.ts';
import type { ServiceError } from '../../errors/service-error.ts';
import { requireInteger } from '../../guard/numbers.ts';
import { parseJson } from '../../model/strict-json.ts';
import type { ListBody } from '../../wire/shapes.ts';
import type { QueryValues, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';

export interface Page {
  readonly after: string | undefined;
  /** `undefined` for everything. */
  readonly limit: number | undefined;
}

/**
 * From the query, otherwise from the body. The LanceDB client does not page here: without a limit it gets everything.
 */
export function readPage(
  { query, dialect, body }: TableRequest<ListBody>,
  services: Services,
  checkName: (name: string) => void = () => {},
): Page {
  const after = readNameToken(query['page_token'] ?? body.page_token, checkName);
  if (query['limit'] !== undefined) return { after, limit: readLimit(query, services.limits.http.pageSizeMax) };
  const isUnlimited = body.limit === undefined && dialect === 'lancedb';
  return { after, limit: isUnlimited ? undefined : readPageSize(body.limit, services) };
}

/** The limit of a body; if absent, the maximum page size. */
export function readPageSize(limit: number | undefined, services: Services): number {
  const maximum = services.limits.http.pageSizeMax;
  return limit === undefined ? maximum : requireInteger(limit, { field: 'limit', minimum: 1, maximum });
}

/** The limit of a query. */
export function readLimit(query: QueryValues, maximum: number): number {
  const text = query['limit'];
  if (text === undefined) return maximum;
  if (!/^\d{1,15}$/.test(text)) {
    throw invalidInput('The query parameter limit must be a whole number.', `Give a number from 1 to ${maximum}.`);
  }
  return requireInteger(Number(text), { field: 'limit', minimum: 1, maximum });
}

/** The first page of the entries found, and the token of the next page if there are more. */
export function cutPage<Entry>(
  found: readonly Entry[],
  limit: number | undefined,
  toToken: (last: Entry) => string,
): { readonly entries: readonly Entry[]; readonly page_token: string | undefined } {
  if (limit === undefined || found.length <= limit) return { entries: found, page_token: undefined };
  const entries = found.slice(0, limit);
  const last = entries.at(-1);
  return { entries, page_token: last === undefined ? undefined : toToken(last) };
}

/** The page plus one entry, which shows whether there is a next page. */
export function withNext({ after, limit }: Page): Page {
  return { after, limit: limit === undefined ? undefined : limit + 1 };
}

export function unknownPageToken(): ServiceError {
  return invalidInput('The page token does not belong to this listing.', 'Give the page_token of the previous page.');
}

/** The token of a listing whose tokens are names. Any name is valid, such as that of an entry deleted since. */
export function readNameToken(token: string | undefined, checkName: (name: string) => void): string | undefined {
  if (token === undefined || token === '') return undefined;
  try {
    checkName(token);
    return token;
  } catch {
    throw unknownPageToken();
  }
}

/** The token of a listing whose tokens are catalog ids. */
export function readIdToken(token: string | undefined): string | undefined {
  if (token === undefined || token === '') return undefined;
  if (/^[0-9a-z]{26}$/.test(token)) return token;
  throw unknownPageToken();
}

/** Encodes a position in an order of texts as one text. */
export function toPageToken(position: readonly string[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

export function readPageToken(token: string | undefined, length: number): readonly string[] | undefined {
  if (token === undefined || token === '') return undefined;
  const position = parseJson(Buffer.from(token, 'base64url').toString());
  const isList = Array.isArray(position) && position.length >= length;
  if (isList && position.every((each) => typeof each === 'string')) return position;
  throw unknownPageToken();
}

/** Other requests get a turn after this many entries. */
const READ_ENTRIES_MAX = 1000;

/** How many entries are read at once while searching for visible ones. */
const LOOK_AHEAD_MIN = 100;

/** Up to `limit` entries, or visible ones; each read continues after the last entry of the previous one. */
export async function collectPages<Entry>(
  limit: number,
  read: (last: Entry | undefined, limit: number) => Promise<readonly Entry[]>,
  isVisible?: (entry: Entry) => boolean,
): Promise<readonly Entry[]> {
  const readMin = isVisible === undefined ? 1 : LOOK_AHEAD_MIN;
  const found: Entry[] = [];
  for (let last: Entry | undefined; found.length < limit;) {
    const wanted = Math.min(READ_ENTRIES_MAX, Math.max(readMin, limit - found.length));
    const page = await read(last, wanted);
    found.push(...(isVisible === undefined ? page : page.filter(isVisible)));
    if (page.length < wanted) break;
    last = page.at(-1);
    await nextEventLoopTick();
  }
  return found.slice(0, limit);
}
