import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../errors/service-error.ts';
import { locationKey } from '../../model/table.ts';
import type { RecordedVersion, TableLocation } from '../../model/table.ts';
import type { Schema } from '../../model/schema.ts';
import type { Connections } from '../native/connections.ts';
import { engineCall } from '../native/engine-errors.ts';
import { CountedHandle, readSchema, readVersion, retireSoon } from './table-handle.ts';
import type { OpenTable } from './table-handle.ts';

export interface RecordedSettings {
  readonly openTablesMax: number;
  /** How long a later version in the store, committed by a program that bypasses the service, may stay unseen. */
  readonly pollSeconds: number;
  /** Called if the store has a later version than the recorded one. */
  readonly onLaterVersion: (tableId: string, version: number) => Promise<void>;
}

interface Opened {
  readonly tableId: string;
  readonly opening: Promise<RecordedTable>;
}

/**
 * Tables for readers that know which version to read: while it stays the same, the store is only asked for data.
 * Writers have separate handles at the latest version.
 */
export class RecordedTables {
  readonly #connections: Connections;
  readonly #settings: RecordedSettings;
  readonly #open: LRUCache<string, Opened>;
  /** When the store was last asked for later versions: by a poll, or by opening the table. */
  readonly #polledAt: LRUCache<string, number>;

  constructor(connections: Connections, settings: RecordedSettings) {
    this.#connections = connections;
    this.#settings = settings;
    this.#open = new LRUCache({ max: settings.openTablesMax, dispose: ({ opening }) => retireSoon(opening) });
    this.#polledAt = new LRUCache({ max: settings.openTablesMax });
  }

  /** At the recorded version, or one recorded later; the caller must release it. `undefined` if it does not exist. */
  async acquire(location: TableLocation, recorded: RecordedVersion): Promise<RecordedTable | undefined> {
    for (;;) {
      const table = await this.#find(location, recorded);
      if (!table.acquire()) continue;
      try {
        await table.moveTo(recorded.version);
        this.pollSometimes(location, recorded);
        return table;
      } catch (error) {
        this.evict(location);
        table.release();
        if (error instanceof ServiceError && error.kind === 'TableVersionNotFound') return undefined;
        throw error;
      }
    }
  }

  /** Called for every read, including those of cached results, which open nothing. */
  pollSometimes(location: TableLocation, recorded: RecordedVersion): void {
    const now = performance.now();
    const key = locationKey(location);
    const polledAt = this.#polledAt.get(key);
    if (polledAt !== undefined && now - polledAt < this.#settings.pollSeconds * 1000) return;
    this.#polledAt.set(key, now);
    // A table that is not open is about to be opened, unless the result is cached: one opening serves both.
    const isNew = polledAt === undefined && !this.#open.has(key);
    const polled = isNew ? this.#find(location, recorded) : this.#poll(location, recorded);
    // The next read or poll meets the failure too.
    polled.catch(() => {});
  }

  evict(location: TableLocation): void {
    this.#open.delete(locationKey(location));
  }

  async close(): Promise<void> {
    for (const outcome of await Promise.allSettled([...this.#open.values()].map(async ({ opening }) => opening))) {
      if (outcome.status === 'fulfilled') outcome.value.retire();
    }
    this.#open.clear();
  }

  async #find(location: TableLocation, recorded: RecordedVersion): Promise<RecordedTable> {
    const key = locationKey(location);
    const { tableId } = recorded;
    let opened = this.#open.get(key);
    // A table that replaced another has its own versions, and a handle only moves forward.
    if (opened?.tableId !== tableId) {
      this.#polledAt.set(key, performance.now());
      opened = { tableId, opening: this.#openLatest(location, recorded) };
      this.#open.set(key, opened);
    }
    try {
      return await opened.opening;
    } catch (error) {
      if (this.#open.peek(key) === opened) this.#open.delete(key);
      throw error;
    }
  }

  /** Opening also polls: a table may be opened again and again, because many others are read. */
  async #openLatest(location: TableLocation, recorded: RecordedVersion): Promise<RecordedTable> {
    const native = await this.#connections.openTable(location);
    const latest = await readVersion(native);
    // Readers do not wait for the catalog.
    this.#report(latest, recorded).catch(() => {});
    return new RecordedTable(native);
  }

  async #poll(location: TableLocation, recorded: RecordedVersion): Promise<void> {
    const native = await this.#connections.openTable(location);
    try {
      await this.#report(await readVersion(native), recorded);
    } finally {
      native.close();
    }
  }

  async #report(latest: number, { tableId, version }: RecordedVersion): Promise<void> {
    if (latest > version) await this.#settings.onLaterVersion(tableId, latest);
  }
}

/** A handle at a recorded version, shared by all its readers. It only ever moves forward. */
class RecordedTable extends CountedHandle implements OpenTable {
  #version = 0;
  #moving: Promise<void> | undefined;
  #schema: Promise<Schema> | undefined;

  async moveTo(version: number): Promise<void> {
    while (this.#version < version) {
      this.#moving ??= this.#checkout(version).finally(() => {
        this.#moving = undefined;
      });
      await this.#moving;
    }
  }

  async version(): Promise<number> {
    return this.#version;
  }

  knownVersion(): number | undefined {
    return this.#moving === undefined ? this.#version : undefined;
  }

  async schema(): Promise<Schema> {
    this.#schema ??= readSchema(this.native);
    return this.#schema;
  }

  moved(): never {
    throw new Error('A handle of readers does not write.');
  }

  forget(): void {
    this.#schema = undefined;
  }

  async #checkout(version: number): Promise<void> {
    await engineCall(async () => this.native.checkout(version));
    this.#version = version;
    this.#schema = undefined;
  }
}
