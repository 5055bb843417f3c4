import { LRUCache } from 'lru-cache';

interface LookupCachesOptions {
  /** Changes when another connection, such as one of another process, has committed anything. */
  readonly readChangeCounter: () => Promise<number | string>;
  /** Changes when anything was committed that a lookup may have found. Costs more, so it is read second. */
  readonly readGeneration: () => Promise<string>;
  /** Of each cache. */
  readonly entriesMax: number;
}

/** Caches that every lookup first compares with what other connections have committed. */
export class LookupCaches {
  readonly #options: LookupCachesOptions;
  readonly #caches: Pick<LRUCache<string, string>, 'clear' | 'size'>[] = [];
  #changeCounter: number | string | undefined;
  #generation: string | undefined;
  #check: Promise<void> | undefined;
  #clearings = 0;
  #hits = 0;
  #misses = 0;

  constructor(options: LookupCachesOptions) {
    this.#options = options;
  }

  /** Keeps the most recently used results. Absence is not cached: requests for what does not exist would evict the rest. */
  create<Value extends object | string | number>() {
    const cache = new LRUCache<string, Value>({ max: this.#options.entriesMax });
    this.#caches.push(cache);
    return {
      find: async (key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> => {
        await this.#clearWhenChanged();
        const cached = cache.get(key);
        if (cached !== undefined) {
          this.#hits += 1;
          return cached;
        }
        this.#misses += 1;
        const clearings = this.#clearings;
        const loaded = await load();
        // What was loaded before a change may arrive after the cache was cleared of it.
        if (loaded !== undefined && clearings === this.#clearings) cache.set(key, loaded);
        return loaded;
      },
    };
  }

  /** Hits and misses since the start, and entries as of now. */
  counts(): { readonly entries: number; readonly hits: number; readonly misses: number } {
    const entries = this.#caches.reduce((sum, { size }) => sum + size, 0);
    return { entries, hits: this.#hits, misses: this.#misses };
  }

  /** For after a transaction of this process that may have changed what lookups have found: no counter shows it. */
  clear(): void {
    this.#clearings += 1;
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
