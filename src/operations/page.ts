import { requireInteger } from '../guard/numbers.ts';
import type { RequestFacts } from './operation.ts';
import { readLimit } from './page-limit.ts';
import type { Services } from './services.ts';

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
