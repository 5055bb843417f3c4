import { LRUCache } from 'lru-cache';
import type { HeadRow } from '../schema/rows.ts';

/** Where heads are cached, their changes are read together with the check of all other lookups. */
export class HeadCache {
  readonly #versions: LRUCache<string, number>;
  #lastChange = 0;

  constructor(entriesMax: number) {
    this.#versions = new LRUCache({ max: entriesMax });
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
