import { LRUCache } from 'lru-cache';

export interface LookupCachesOptions {
  /** Changes when another connection, such as one of another process, has committed anything. */
  readonly readChangeCounter: () => Promise<number>;
  /** Changes when anything was committed that a lookup may have found. Costs more, so it is read second. */
  readonly readGeneration: () => Promise<string>;
  readonly entriesMax: number;
}

type Found = object | string | number | true;

/** Since the start; `entries` as of now. */
export interface LookupCounts {
  readonly entries: number;
  readonly hits: number;
  readonly misses: number;
}

/** Caches that every lookup first compares with what other connections have committed. */
export class LookupCaches {
  readonly #options: LookupCachesOptions;
  readonly #caches: Pick<LookupCache<string>, 'clear' | 'size' | 'hits' | 'misses'>[] = [];
  #changeCounter: number | undefined;
  #generation: string | undefined;
  #check: Promise<void> | undefined;

  constructor(options: LookupCachesOptions) {
    this.#options = options;
  }

  create<Value extends Found>(): LookupCache<Value> {
    const cache = new LookupCache<Value>(async () => this.#clearWhenChanged(), this.#options.entriesMax);
    this.#caches.push(cache);
    return cache;
  }

  counts(): LookupCounts {
    return this.#caches.reduce(
      (sum, { size, hits, misses }) => ({
        entries: sum.entries + size,
        hits: sum.hits + hits,
        misses: sum.misses + misses,
      }),
      { entries: 0, hits: 0, misses: 0 },
    );
  }

  /** For after a transaction of this process that may have changed what lookups have found: no counter shows it. */
  clear(): void {
    for (const cache of this.#caches) cache.clear();
    this.#generation = undefined;
  }

  /**
   * Lookups that follow one another without waiting for an event share one check: whatever another process acknowledged
   * before the first of them began reaches this process, if at all, in a later turn of the event loop.
   */
  async #clearWhenChanged(): Promise<void> {
    if (this.#check === undefined) {
      const check = this.#compareWithCommitted();
      this.#check = check;
      process.nextTick(() => {
        if (this.#check === check) this.#check = undefined;
      });
    }
    return this.#check;
  }

  async #compareWithCommitted(): Promise<void> {
    const changeCounter = await this.#options.readChangeCounter();
    if (changeCounter === this.#changeCounter) return;
    const generation = await this.#options.readGeneration();
    if (generation !== this.#generation) {
      this.clear();
      this.#generation = generation;
    }
    // Last, so that a concurrent lookup reads the generation too.
    this.#changeCounter = changeCounter;
  }
}

/** The most recently used results, by key. Absence is not cached: requests for what does not exist would evict the rest. */
export class LookupCache<Value extends Found> {
  readonly #clearWhenChanged: () => Promise<void>;
  readonly #entries: LRUCache<string, Value>;
  #clearings = 0;
  #hits = 0;
  #misses = 0;

  constructor(clearWhenChanged: () => Promise<void>, entriesMax: number) {
    this.#clearWhenChanged = clearWhenChanged;
    this.#entries = new LRUCache({ max: entriesMax });
  }

  get size(): number {
    return this.#entries.size;
  }

  get hits(): number {
    return this.#hits;
  }

  get misses(): number {
    return this.#misses;
  }

  async find(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> {
    await this.#clearWhenChanged();
    const cached = this.#entries.get(key);
    if (cached !== undefined) {
      this.#hits += 1;
      return cached;
    }
    this.#misses += 1;
    const clearings = this.#clearings;
    const loaded = await load();
    // What was loaded before a change may arrive after the cache was cleared of it.
    if (loaded !== undefined && clearings === this.#clearings) this.#entries.set(key, loaded);
    return loaded;
  }

  clear(): void {
    this.#clearings += 1;
    this.#entries.clear();
  }
}
