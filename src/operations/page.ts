import { ServiceError } from '../errors/service-error.ts';
import { requireInteger } from '../guard/numbers.ts';
import type { RequestFacts } from './operation.ts';
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
  const { limit, page_token } = request.query;
  const maximum = services.limits.http.pageSizeMax;
  const wanted = limit === undefined ? body.limit : wholeNumber(limit, maximum);
  const token = page_token ?? body.page_token;
  return {
    after: token === '' ? undefined : token,
    limit: wanted === undefined ? defaultLimit(request, maximum) : requireInteger(wanted, { ...LIMIT, maximum }),
  };
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

const LIMIT = { place: 'limit', minimum: 1 } as const;

function defaultLimit({ dialect }: RequestFacts, maximum: number): number | undefined {
  return dialect === 'lancedb' ? undefined : maximum;
}

function wholeNumber(text: string, maximum: number): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new ServiceError('InvalidInput', 'The query parameter limit is not a whole number.', {
    hint: `Give a number from 1 to ${maximum}.`,
  });
}
