import { AsyncLocalStorage } from 'node:async_hooks';
import { LRUCache } from 'lru-cache';
import type { HeadRow } from './schema/rows.ts';

/** What was committed since a given change of a head. */
export interface Changes {
  /** Differs if anything was committed that may change the result of a lookup. */
  readonly generation: string;
  readonly heads: readonly HeadRow[];
  /** False if there are more. */
  readonly isComplete: boolean;
}

interface LookupCachesOptions {
  /** Changes when another connection, such as one of another process, commits. */
  readonly readChangeCounter: (() => Promise<number>) | undefined;
  /** More expensive than the counter, so it is read second. */
  readonly readChanges: (lastChange: number) => Promise<Changes>;
  readonly heads: HeadCache | undefined;
  /** The estimated total of all caches. */
  readonly bytesMax: number;
}

/** Lookups of a request share a check up to this age, because a request may wait for long before its last lookup. */
const CHECK_MILLISECONDS = 100;

/** The maximum age of a check if another node repeats all lookups. */
const MEMORY_MILLISECONDS = 500;

interface RequestScope {
  /** The maximum age, in milliseconds, of a check that lookups rely on. */
  readonly ageMax: number;
  check: Promise<void> | undefined;
  checkedAt: number;
}

type Cached = object | string | number;

/** Caches whose lookups first check what other connections have committed. */
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

  /**
   * Caches the most recently used results. Absence is not cached: requests for missing objects would evict the rest.
   */
  create<Value extends Cached>() {
    this.#kinds += 1;
    const prefix = `${this.#kinds} `;
    return {
      /** A check that began after `since`, when the request arrived, is not repeated. */
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
        // A result loaded before a change may arrive after the cache was cleared.
        if (loaded !== undefined && clearings === this.#clearings) this.#cache.set(prefix + key, loaded);
        return loaded;
      },
    };
  }

  /** Lookups of a request share one check where it is a query. It begins after the request, so it misses nothing. */
  async inRequest<Value>(run: () => Promise<Value>): Promise<Value> {
    return this.#requests.run({ ageMax: 0, check: undefined, checkedAt: 0 }, run);
  }

  /** Lookups inside may miss what was committed since the last check, if that is recent. */
  async fromMemory<Value>(run: () => Promise<Value>): Promise<Value> {
    return this.#requests.run({ ageMax: MEMORY_MILLISECONDS, check: undefined, checkedAt: 0 }, run);
  }

  async findHead(tableId: string, load: () => Promise<number | undefined>): Promise<number | undefined> {
    await this.#clearWhenChanged();
    return this.#options.heads?.find(tableId, load) ?? load();
  }

  /** Hits and misses since the start, and the current number of entries. */
  counts(): { readonly entries: number; readonly hits: number; readonly misses: number } {
    return { entries: this.#cache.size, hits: this.#hits, misses: this.#misses };
  }

  /** Call after a transaction of this process that may change results of lookups: the counter does not show it. */
  clear(): void {
    this.#clearings += 1;
    this.#cache.clear();
    this.#options.heads?.clear();
    this.#generation = undefined;
  }

  /**
   * Lookups that follow each other without waiting for an event share one check: commits that another process
   * acknowledged before the first lookup can only become known here in a later turn of the event loop.
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
    // Set last, so that a concurrent lookup reads the generation too.
    this.#changeCounter = changeCounter;
  }
}

/** A value, and its slot in the object or array that contains it. */
const VALUE_BYTES = 32;

/** An upper bound: a text may need two bytes per character. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return VALUE_BYTES + 2 * value.length;
  if (typeof value !== 'object' || value === null) return VALUE_BYTES;
  return Object.entries(value).reduce((sum, [key, each]) => sum + bytesOf(key) + bytesOf(each), VALUE_BYTES);
}

const HEAD_BYTES = 128;

/** Caches heads. Their changes are read in the same query that checks all other lookups. */
export class HeadCache {
  readonly #versions: LRUCache<string, number>;
  #lastChange = 0;

  constructor(bytesMax: number) {
    this.#versions = new LRUCache({ maxSize: bytesMax, sizeCalculation: () => HEAD_BYTES });
  }

  /** All changes up to this one are known. */
  get lastChange(): number {
    return this.#lastChange;
  }

  /** In order. Skips changes that a later check has already applied. */
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
    // A change that arrived meanwhile may concern this table, and be later than the loaded version.
    if (loaded !== undefined && lastChange === this.#lastChange) this.#versions.set(tableId, loaded);
    return loaded;
  }
}
