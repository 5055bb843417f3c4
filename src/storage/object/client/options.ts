import { readFileSync } from 'node:fs';
import { storeMisconfigured } from '../object-store.ts';

/** The engine's storage options, and the environment variables that it falls back to. */
export interface StoreOptions {
  readonly options: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Finds options by any of their names, like the engine: first in the options, then in the environment. */
export class OptionReader {
  readonly #sources: readonly ReadonlyMap<string, string>[];

  constructor({ options, environment }: StoreOptions) {
    this.#sources = [options, environment].map(toLowerCaseNames);
  }

  find(...names: readonly string[]): string | undefined {
    for (const source of this.#sources) {
      for (const name of names) {
        const value = source.get(name);
        if (value !== undefined && value !== '') return value;
      }
    }
    return undefined;
  }

  isTrue(...names: readonly string[]): boolean {
    return ['true', '1', 'yes', 'on', 'y'].includes(this.find(...names)?.toLowerCase() ?? '');
  }

  /** Without a trailing slash. Plain HTTP must be allowed explicitly, as for the engine. */
  readEndpoint(endpoint: string, allowsHttp: boolean, name = 'The endpoint in the storage options'): string {
    const trimmed = endpoint.replace(/\/+$/, '');
    if (!URL.canParse(trimmed)) {
      throw storeMisconfigured(`${name} is not an address.`, 'Give one like https://host.');
    }
    if (trimmed.startsWith('http://') && !allowsHttp) {
      const hint = 'Use https, or set the storage option allow_http to true.';
      throw storeMisconfigured(`${name} is not encrypted.`, hint);
    }
    return trimmed;
  }
}

function toLowerCaseNames(source: StoreOptions['environment']): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(source)) if (value !== undefined) found.set(name.toLowerCase(), value);
  return found;
}

/**
 * Caches something that expires, and fetches it again shortly before. Concurrent callers share a fetch, and wait for it
 * only if the present value is about to expire.
 */
export function keepFresh<Value extends { readonly expiresAtMilliseconds?: number }>(
  fetchNew: () => Promise<Value>,
): () => Promise<Value> {
  let current: Value | undefined;
  let fetching: Promise<Value> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  const renew = async (): Promise<Value> => {
    try {
      current = await fetchNew();
      return current;
    } catch (error) {
      failedAt = performance.now();
      throw error;
    } finally {
      fetching = undefined;
    }
  };
  return async () => {
    const leftMilliseconds = (current?.expiresAtMilliseconds ?? Infinity) - Date.now();
    if (current === undefined || !(leftMilliseconds > URGENT_MILLISECONDS)) {
      fetching ??= renew();
      return fetching;
    }
    const isRested = performance.now() - failedAt > RETRY_MILLISECONDS;
    if (leftMilliseconds < EARLY_MILLISECONDS && isRested && fetching === undefined) {
      fetching = renew();
      fetching.catch(() => {});
    }
    return current;
  };
}

const EARLY_MILLISECONDS = 5 * 60_000;
const URGENT_MILLISECONDS = 30_000;
const RETRY_MILLISECONDS = 10_000;

/** Reads a credential that a platform stores in a file. */
export function readTextFile(path: string): string {
  return readFileSync(path, 'utf8').trim();
}

const TOKEN_SECONDS = 10;

/** Fetches from a token endpoint, or from a metadata service of the machine. */
export async function fetchText(url: string, init: RequestInit = {}): Promise<string> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(TOKEN_SECONDS * 1000) });
  const text = await response.text();
  if (!response.ok) throw new TypeError(`${new URL(url).host} returned no credentials: status ${response.status}`);
  return text;
}

/** An OAuth token reply (RFC 6749, section 5.1). */
export async function fetchToken(url: string, init: RequestInit = {}) {
  const reply: unknown = JSON.parse(await fetchText(url, init));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Checked in the next line.
  const { access_token: token, expires_in: seconds } = reply as { access_token?: unknown; expires_in?: unknown };
  if (typeof token !== 'string') throw new TypeError(`${new URL(url).host} returned no access token`);
  return { token, expiresAtMilliseconds: Date.now() + Number(seconds ?? 3600) * 1000 };
}
