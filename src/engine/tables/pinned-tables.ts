import { LRUCache } from 'lru-cache';
import { locationKey } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';
import type { Schema } from '../../model/schema.ts';
import type { NativeTable } from '../native/native.ts';
import { CountedHandle, readSchema, retireSoon } from './table-handle.ts';
import type { OpenTable } from './table-handle.ts';

/** `text` differs for another table, or another history of the same one. */
interface PinnedContent {
  readonly text: string;
  readonly version: number;
}

interface Pinned {
  readonly identity: string;
  readonly opening: Promise<PinnedTable>;
}

/** How long readers of a table use pinned handles after a writer disturbed a read. */
const BUSY_MILLISECONDS = 1000;

/**
 * Handles for reading while a table is written. The shared handle of a table moves with every commit, and a read during
 * which it moved must be repeated. Pinned handles never move, and all readers of one version share one.
 */
export class PinnedTables {
  readonly #pinned: LRUCache<string, Pinned>;
  /** Until when readers of a table use pinned handles. */
  readonly #busyUntil: LRUCache<string, number>;

  constructor(openTablesMax: number) {
    this.#pinned = new LRUCache({ max: openTablesMax, dispose: ({ opening }) => retireSoon(opening) });
    this.#busyUntil = new LRUCache({ max: openTablesMax });
  }

  /** Whether a writer disturbed a reader of the table recently. */
  isBusy(location: TableLocation): boolean {
    const until = this.#busyUntil.get(locationKey(location));
    return until !== undefined && performance.now() < until;
  }

  setBusy(location: TableLocation): void {
    this.#busyUntil.set(locationKey(location), performance.now() + BUSY_MILLISECONDS);
  }

  /** The caller must release it. */
  async acquire(
    location: TableLocation,
    { text, version }: PinnedContent,
    open: () => Promise<NativeTable>,
  ): Promise<PinnedTable> {
    const key = locationKey(location);
    const identity = `${version} ${text}`;
    for (;;) {
      const known = this.#pinned.get(key);
      const isSame = known?.identity === identity;
      const opening = isSame ? known.opening : open().then((native) => new PinnedTable(native, version));
      if (!isSame) {
        this.#pinned.set(key, { identity, opening });
        this.setBusy(location);
      }
      try {
        const table = await opening;
        if (table.acquire()) return table;
      } catch (error) {
        if (this.#pinned.peek(key)?.opening === opening) this.#pinned.delete(key);
        throw error;
      }
    }
  }

  evict(location: TableLocation): void {
    this.#pinned.delete(locationKey(location));
  }

  async close(): Promise<void> {
    const outcomes = await Promise.allSettled([...this.#pinned.values()].map(async ({ opening }) => opening));
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') outcome.value.retire();
    this.#pinned.clear();
  }
}

/** A handle at one version. */
export class PinnedTable extends CountedHandle implements OpenTable {
  readonly #version: number;
  #schema: Promise<Schema> | undefined;

  constructor(native: NativeTable, version: number) {
    super(native);
    this.#version = version;
  }

  async version(): Promise<number> {
    return this.#version;
  }

  knownVersion(): number {
    return this.#version;
  }

  async schema(): Promise<Schema> {
    this.#schema ??= readSchema(this.native).catch((error: unknown) => {
      this.#schema = undefined;
      throw error;
    });
    return this.#schema;
  }

  moved(): never {
    throw new Error('A handle of readers does not write.');
  }

  forget(): void {
    this.#schema = undefined;
  }
}
