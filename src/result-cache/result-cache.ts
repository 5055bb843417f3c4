import { LRUCache } from 'lru-cache';
import type { QueryLimits } from '../model/limits.ts';

export interface CachedResult {
  readonly bytes: Uint8Array;
  /** The version of the table that was read. */
  readonly version: number;
  readonly etag: string;
}

/** Memory for the key and the entry of a result. */
const ENTRY_BYTES = 512;

/**
 * Results of queries. A version of a table never changes, so a result for the same contents stays valid forever:
 * entries are never invalidated, they only become unreachable. The least recently used are evicted first.
 */
export class ResultCache {
  readonly #entries: LRUCache<string, CachedResult> | undefined;
  readonly entryBytesMax: number;
  #hits = 0;
  #misses = 0;
  #bypassed = 0;
  #evictions = 0;

  constructor({ cacheBytes, cachedResultBytesMax }: Pick<QueryLimits, 'cacheBytes' | 'cachedResultBytesMax'>) {
    this.entryBytesMax = Math.min(cachedResultBytesMax, cacheBytes - ENTRY_BYTES);
    if (cacheBytes <= ENTRY_BYTES) return;
    this.#entries = new LRUCache({
      maxSize: cacheBytes,
      sizeCalculation: ({ bytes }) => bytes.length + ENTRY_BYTES,
      dispose: (_result, _key, reason) => {
        if (reason === 'evict') this.#evictions += 1;
      },
    });
  }

  get isOn(): boolean {
    return this.#entries !== undefined;
  }

  counts() {
    const { size = 0, calculatedSize = 0 } = this.#entries ?? {};
    return {
      entries: size,
      bytes: calculatedSize,
      hits: this.#hits,
      misses: this.#misses,
      bypassed: this.#bypassed,
      evictions: this.#evictions,
    };
  }

  find(key: string): CachedResult | undefined {
    const found = this.#entries?.get(key);
    if (found === undefined) this.#misses += 1;
    else this.#hits += 1;
    return found;
  }

  countBypass(): void {
    this.#bypassed += 1;
  }

  /** False if the result is too large. */
  add(key: string, result: CachedResult): boolean {
    const { bytes } = result;
    if (this.#entries === undefined || bytes.length > this.entryBytesMax) return false;
    // A copy: a small buffer is a slice of a larger one, and the engine's buffers take more memory than their length.
    this.#entries.set(key, { ...result, bytes: new Uint8Array(bytes) });
    return true;
  }
}
