import { AsyncLocalStorage } from 'node:async_hooks';
import { LRUCache } from 'lru-cache';
import type { HeadRow } from './schema/rows.ts';

/** What has been committed since a change of heads. */
export interface Changes {
  /** Differs when anything was committed that a lookup may have found. */
  readonly generation: string;
  readonly heads: readonly HeadRow[];
  /** False: there are more. */
  readonly isComplete: boolean;
}

interface LookupCachesOptions {
  /** Changes when another connection, such as one of another process, has committed anything. */
  readonly readChangeCounter: (() => Promise<number>) | undefined;
  /** Costs more than the counter, so it is read second. */
  readonly readChanges: (lastChange: number) => Promise<Changes>;
  readonly heads: HeadCache | undefined;
  /** Of all caches together, as estimated. */
  readonly bytesMax: number;
}

/** Lookups of one request share a check that is not older than this: a request may wait for long before its last one. */
const CHECK_MILLISECONDS = 100;

/** How old a check may be where another node repeats all lookups. */
const MEMORY_MILLISECONDS = 500;

interface RequestScope {
  /** How old a check may be that lookups rely on, in milliseconds. */
  readonly ageMax: number;
  check: Promise<void> | undefined;
  checkedAt: number;
}

type Cached = object | string | number;

/** Caches that every lookup first compares with what other connections have committed. */
export class LookupCaches {
  readonly #options: LookupCachesOptions;
  readonly #cache: LRUCache<string, Cached>;
  #kinds = 0;
  readonly #requests = new AsyncLocalStorage<RequestScope>();
  #changeCounter: number | undefined;
  #generation: string | undefined;
  #check: Promise<void> | undefined;
  #lastCheck: Promise<void> | undefined;
  /** When the last check began. */
  #checkedAt = -Infinity;
  #clearings = 0;
  #hits = 0;
  #misses = 0;

  constructor(options: LookupCachesOptions) {
    this.#options = options;
    // Not `max`: it allocates all entries in advance, and `clear` overwrites them all.
    this.#cache = new LRUCache({
      maxSize: options.bytesMax,
      sizeCalculation: (value, key) => bytesOf(key) + bytesOf(value),
    });
  }

  /** Keeps the most recently used results. Absence is not cached: requests for what does not exist would evict the rest. */
  create<Value extends Cached>() {
    this.#kinds += 1;
    const prefix = `${this.#kinds} `;
    return {
      /** A check that began after `since` is not repeated: for a request, the moment at which it arrived. */
      find: async (
        key: string,
        load: () => Promise<Value | undefined>,
        since = Infinity,
      ): Promise<Value | undefined> => {
        await this.#clearWhenChanged(since);
        const cached = this.#cache.get(prefix + key);
        if (cached !== undefined) {
          this.#hits += 1;
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only this cache has keys with the prefix.
          return cached as Value;
        }
        this.#misses += 1;
        const clearings = this.#clearings;
        const loaded = await load();
        // What was loaded before a change may arrive after the cache was cleared of it.
        if (loaded !== undefined && clearings === this.#clearings) this.#cache.set(prefix + key, loaded);
        return loaded;
      },
    };
  }

  /** Lookups of a request share one check, for where it is a query: it begins after the request, so it misses nothing. */
  async inRequest<Value>(run: () => Promise<Value>): Promise<Value> {
    return this.#requests.run({ ageMax: 0, check: undefined, checkedAt: 0 }, run);
  }

  /** Its lookups may miss what was committed since the last check, if that is recent. */
  async fromMemory<Value>(run: () => Promise<Value>): Promise<Value> {
    return this.#requests.run({ ageMax: MEMORY_MILLISECONDS, check: undefined, checkedAt: 0 }, run);
  }

  async findHead(tableId: string, load: () => Promise<number | undefined>): Promise<number | undefined> {
    await this.#clearWhenChanged();
    return this.#options.heads?.find(tableId, load) ?? load();
  }

  /** Hits and misses since the start, and entries as of now. */
  counts(): { readonly entries: number; readonly hits: number; readonly misses: number } {
    return { entries: this.#cache.size, hits: this.#hits, misses: this.#misses };
  }

  /** For after a transaction of this process that may have changed what lookups have found: no counter shows it. */
  clear(): void {
    this.#clearings += 1;
    this.#cache.clear();
    this.#options.heads?.clear();
    this.#generation = undefined;
  }

  /**
   * Lookups that follow one another without waiting for an event share one check: whatever another process acknowledged
   * before the first of them began reaches this process, if at all, in a later turn of the event loop.
   */
  async #clearWhenChanged(since = Infinity): Promise<void> {
    const now = performance.now();
    if (this.#checkedAt >= since && now - this.#checkedAt < CHECK_MILLISECONDS) return this.#lastCheck;
    const request = this.#requests.getStore();
    if (request !== undefined && now - this.#checkedAt < request.ageMax) return this.#lastCheck;
    if (request?.check !== undefined && now - request.checkedAt < CHECK_MILLISECONDS) {
      return request.check;
    }
    if (this.#check === undefined) {
      const check = this.#compareWithCommitted();
      this.#check = check;
      this.#lastCheck = check;
      this.#checkedAt = now;
      process.nextTick(() => {
        if (this.#check === check) this.#check = undefined;
      });
    }
    if (request !== undefined) {
      request.check = this.#check;
      request.checkedAt = now;
    }
    return this.#check;
  }

  async #compareWithCommitted(): Promise<void> {
    const { readChangeCounter, readChanges, heads } = this.#options;
    const changeCounter = await readChangeCounter?.();
    if (changeCounter !== undefined && changeCounter === this.#changeCounter) return;
    const changes = await readChanges(heads?.lastChange ?? Number.MAX_SAFE_INTEGER);
    if (changes.generation !== this.#generation || !changes.isComplete) {
      this.clear();
      this.#generation = changes.generation;
    }
    heads?.apply(changes.heads);
    // Last, so that a concurrent lookup reads the generation too.
    this.#changeCounter = changeCounter;
  }
}

/** Each value and its place in what holds it. */
const VALUE_BYTES = 32;

/** At most: a text may need two bytes for each character. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return VALUE_BYTES + 2 * value.length;
  if (typeof value !== 'object' || value === null) return VALUE_BYTES;
  return Object.entries(value).reduce((sum, [key, each]) => sum + bytesOf(key) + bytesOf(each), VALUE_BYTES);
}

const HEAD_BYTES = 128;

/** Where heads are cached, their changes are read together with the check of all other lookups. */
export class HeadCache {
  readonly #versions: LRUCache<string, number>;
  #lastChange = 0;

  constructor(bytesMax: number) {
    this.#versions = new LRUCache({ maxSize: bytesMax, sizeCalculation: () => HEAD_BYTES });
  }

  /** Up to which all changes are known. */
  get lastChange(): number {
    return this.#lastChange;
  }

  /** In order. Those of a check that was overtaken by a later one are known already. */
  apply(changes: readonly HeadRow[]): void {
    for (const { tableId, version, change } of changes) {
      if (change <= this.#lastChange) continue;
      this.#versions.set(tableId, version);
      this.#lastChange = change;
    }
  }

  clear(): void {
    this.#versions.clear();
  }

  async find(tableId: string, load: () => Promise<number | undefined>): Promise<number | undefined> {
    const cached = this.#versions.get(tableId);
    if (cached !== undefined) return cached;
    const { lastChange } = this;
    const loaded = await load();
    // A change that arrived meanwhile may be this table's, and later than what was loaded.
    if (loaded !== undefined && lastChange === this.#lastChange) this.#versions.set(tableId, loaded);
    return loaded;
  }
}
