export interface LookupCachesParts {
  /** While it stays the same, nothing at all was committed. */
  readonly readChangeCounter: () => Promise<number>;
  /** While it stays the same, nothing was committed that a lookup may have found. Dearer, so asked second. */
  readonly generation: () => Promise<string>;
  readonly entriesMax: number;
}

/** Since the start; `entries` as of now. */
export interface LookupCounts {
  readonly entries: number;
  readonly hits: number;
  readonly misses: number;
}

/** Caches that every lookup first compares with what is committed, by this process or another. */
export class LookupCaches {
  readonly #parts: LookupCachesParts;
  readonly #caches: LookupCache<unknown>[] = [];
  #readChangeCounter: number | undefined;
  #generation: string | undefined;
  #look: Promise<void> | undefined;

  constructor(parts: LookupCachesParts) {
    this.#parts = parts;
  }

  create<Value>(): LookupCache<Value> {
    const cache = new LookupCache<Value>(async () => this.#dropWhenChanged(), this.#parts.entriesMax);
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

  /** What this process has just committed, its next lookup sees. */
  lookAgain(): void {
    this.#look = undefined;
  }

  /**
   * Lookups that follow one another without waiting for anything share one look: whatever was acknowledged to anyone
   * before the first of them began reached this process, if at all, in a later turn of the event loop.
   */
  async #dropWhenChanged(): Promise<void> {
    if (this.#look === undefined) {
      const look = this.#compareWithCommitted();
      this.#look = look;
      process.nextTick(() => {
        if (this.#look === look) this.#look = undefined;
      });
    }
    return this.#look;
  }

  async #compareWithCommitted(): Promise<void> {
    const readChangeCounter = await this.#parts.readChangeCounter();
    if (readChangeCounter === this.#readChangeCounter) return;
    const generation = await this.#parts.generation();
    if (generation !== this.#generation) {
      for (const cache of this.#caches) cache.clear();
      this.#generation = generation;
    }
    // Last, so that a lookup in the meantime asks for the generation too.
    this.#readChangeCounter = readChangeCounter;
  }
}

/**
 * The most recently used results, by key. Absence is not kept: anyone can ask for what is not there, without end, and
 * would push out what is.
 */
export class LookupCache<Value> {
  readonly #dropWhenChanged: () => Promise<void>;
  readonly #entriesMax: number;
  readonly #entries = new Map<string, Value>();
  #clearings = 0;
  #hits = 0;
  #misses = 0;

  constructor(dropWhenChanged: () => Promise<void>, entriesMax: number) {
    this.#dropWhenChanged = dropWhenChanged;
    this.#entriesMax = entriesMax;
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
    await this.#dropWhenChanged();
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#hits += 1;
      this.#keep(key, known);
      return known;
    }
    this.#misses += 1;
    const clearings = this.#clearings;
    const loaded = await load();
    // What was loaded before a change may arrive after the caches were cleared of it.
    if (loaded !== undefined && clearings === this.#clearings) this.#keep(key, loaded);
    return loaded;
  }

  clear(): void {
    this.#clearings += 1;
    this.#entries.clear();
  }

  #keep(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#entriesMax) return;
    const oldest = this.#entries.keys().next();
    if (oldest.done !== true) this.#entries.delete(oldest.value);
  }
}
