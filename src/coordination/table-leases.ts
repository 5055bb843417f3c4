import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Catalog, Lease } from '../catalog/catalog.ts';
import { NotOwner } from '../errors/service-error.ts';
import type { TableRecord } from '../model/table.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Coordination, LocateOptions, Owner, Ownership } from './coordination.ts';

type Table = Pick<TableRecord, 'id'>;

type OwnLease = Extract<Lease, { readonly kind: 'ours' }>;

/** How long a batch waits for another node's pending writes of a table. */
const CLAIM_MILLISECONDS = 10_000;
const CLAIM_PAUSE_MILLISECONDS = 20;

/** Beyond this, the least recently written tables are looked up again; their leases stay. */
const KNOWN_MAX = 10_000;

/** How long the owner of a table is cached. */
const REMEMBERED_MILLISECONDS = 1000;

/**
 * Assigns each table to the node that has its lease. The leases cached here may be outdated: the journal compares the
 * epoch in the transactions that begin and record a write.
 */
export class TableLeases implements Coordination {
  readonly #catalog: Pick<Catalog, 'leases' | 'nodes'>;
  readonly #nodeId: string;
  readonly #telemetry: Telemetry;
  readonly #ours = new LRUCache<string, Ownership>({ max: KNOWN_MAX });
  /** Owners of tables, as last read from the catalog. */
  readonly #others = new LRUCache<string, Owner>({ max: KNOWN_MAX, ttl: REMEMBERED_MILLISECONDS });
  /** Concurrent writes of a table share one query. */
  readonly #taking = new Map<string, Promise<Owner | Ownership>>();
  /** Requests in flight that may write to a table, by table id. */
  readonly #writers = new Map<string, number>();
  /** Set at shutdown: resolves when other nodes may take the tables. */
  #released: Promise<void> | undefined;
  /** Set at shutdown: releases tables whose last request has ended. */
  #onUnused: (() => Promise<void>) | undefined;

  constructor(catalog: Pick<Catalog, 'leases' | 'nodes'>, nodeId: string, telemetry: Telemetry) {
    this.#catalog = catalog;
    this.#nodeId = nodeId;
    this.#telemetry = telemetry;
  }

  /** Tables that this node may write to, as far as it knows. */
  get held(): number {
    return this.#ours.size;
  }

  async own(table: Table): Promise<Ownership> {
    const known = this.#ours.get(table.id);
    if (known !== undefined) return known;
    const found = await this.#take(table.id);
    if ('nodeId' in found) throw new NotOwner();
    return found;
  }

  async claim(table: Table): Promise<Ownership> {
    const giveUpAt = performance.now() + CLAIM_MILLISECONDS;
    for (;;) {
      const known = this.#ours.get(table.id);
      if (known !== undefined) return known;
      if (this.#released !== undefined) throw new NotOwner();
      const lease = await this.#catalog.leases.take(table.id, { fromIdle: true });
      if (lease.kind === 'ours') return this.#keep(table.id, lease);
      if (performance.now() > giveUpAt) throw new NotOwner();
      await sleep(CLAIM_PAUSE_MILLISECONDS);
    }
  }

  async locate(table: Table, { mayBeOutdated = false }: LocateOptions = {}): Promise<Owner | undefined> {
    if (this.#released !== undefined) return this.#locateAfterRelease(table.id, this.#released);
    if (this.#ours.has(table.id)) return undefined;
    const remembered = mayBeOutdated ? this.#others.get(table.id) : undefined;
    if (remembered !== undefined) return remembered;
    const found = await this.#take(table.id);
    return 'nodeId' in found ? found : undefined;
  }

  resolved(tableId: string, epoch: number): void {
    const known = this.#ours.get(tableId);
    // The table may have been lost and taken again, with writes that the owner in between left pending.
    if (known?.epoch === epoch) this.#ours.set(tableId, { ...known, hasPending: false });
  }

  lost(tableId: string): void {
    const known = this.#ours.get(tableId);
    if (known === undefined) return;
    this.#ours.delete(tableId);
    this.#telemetry.emit({ kind: 'lease-lost', tableId, epoch: known.epoch });
  }

  async mayPreviousHolderRun(tableId: string): Promise<boolean> {
    return this.#catalog.leases.mayPreviousHolderRun(tableId);
  }

  /** Other nodes may have taken over any table. */
  forget(): void {
    this.#ours.clear();
    this.#others.clear();
  }

  /**
   * Call it when a request begins that may write to the table, even if its body is still arriving. The returned
   * function ends the hold. At shutdown, the node keeps the table until then.
   */
  hold(tableId: string): () => void {
    if (this.#released !== undefined) return () => {};
    this.#writers.set(tableId, (this.#writers.get(tableId) ?? 0) + 1);
    return () => {
      const left = (this.#writers.get(tableId) ?? 1) - 1;
      if (left > 0) {
        this.#writers.set(tableId, left);
        return;
      }
      this.#writers.delete(tableId);
      // If this fails, the table is released when this node leaves.
      this.#onUnused?.().catch(() => {});
    };
  }

  /** For shutdown: new writes wait until the running ones have ended, then go to other nodes. */
  async release(whenIdle: () => Promise<void>): Promise<void> {
    this.#released ??= this.#releaseUnused(whenIdle);
    this.#onUnused ??= async () => this.#releaseUnused(whenIdle);
    await this.#released;
  }

  async #releaseUnused(whenIdle: () => Promise<void>): Promise<void> {
    await whenIdle();
    const kept = new Set(this.#writers.keys());
    await this.#catalog.leases.releaseAll([...kept]);
    const unused = [...this.#ours.keys()].filter((tableId) => !kept.has(tableId));
    for (const tableId of unused) this.#ours.delete(tableId);
  }

  async #locateAfterRelease(tableId: string, released: Promise<void>): Promise<Owner | undefined> {
    await released;
    if (this.#ours.has(tableId)) return undefined;
    const { leases, nodes } = this.#catalog;
    const holder = await leases.find(tableId);
    if (holder !== undefined) return holder;
    // Any other node can take the table.
    const other = await nodes.findOther();
    if (other === undefined) throw new NotOwner();
    return other;
  }

  async #take(tableId: string): Promise<Owner | Ownership> {
    const running = this.#taking.get(tableId);
    if (running !== undefined) return running;
    const taking = this.#ask(tableId).finally(() => this.#taking.delete(tableId));
    this.#taking.set(tableId, taking);
    return taking;
  }

  async #ask(tableId: string): Promise<Owner | Ownership> {
    // Read first: a read is cheap, but the transaction that takes a lease waits for all others.
    const holder = await this.#catalog.leases.find(tableId);
    if (holder !== undefined && holder.nodeId !== this.#nodeId) {
      this.#others.set(tableId, holder);
      return holder;
    }
    if (this.#released !== undefined) throw new NotOwner();
    const lease = await this.#catalog.leases.take(tableId);
    return lease.kind === 'held' ? lease : this.#keep(tableId, lease);
  }

  #keep(tableId: string, { epoch, hasPending, takenFrom }: OwnLease): Ownership {
    const ours = { epoch, hasPending };
    this.#ours.set(tableId, ours);
    if (takenFrom !== undefined) {
      this.#telemetry.emit({ kind: 'table-taken-over', tableId, epoch, formerHolder: takenFrom, hasPending });
    }
    return ours;
  }
}
