import { sql as statement } from 'kysely';
import { GroupCommit } from './group-commit.ts';
import type { GroupOptions } from './group-commit.ts';
import { createId } from './ids.ts';
import { LookupCaches } from './lookup-cache.ts';
import { createStorageRoots } from './storage-roots.ts';
import type { StorageRoots } from './storage-roots.ts';
import type { CatalogStore, Sql } from './store.ts';

type Transact = <Value>(work: (sql: Sql) => Promise<Value>) => Promise<Value>;

/** What every part of the catalog works with. */
export interface CatalogContext {
  readonly read: CatalogStore['read'];
  /** One transaction, after which every process repeats its lookups. */
  readonly write: Transact;
  /** One transaction that leaves cached lookups valid: it only adds, or changes what no lookup returns. */
  readonly append: Transact;
  /** Transactions that concurrent callers share. */
  readonly group: GroupCommit;
  readonly requireDurable: CatalogStore['requireDurable'];
  /** Transactions committed since the start. */
  readonly transactionCount: () => number;
  readonly caches: LookupCaches;
  readonly roots: StorageRoots;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface ContextSettings {
  /** Databases whose roots lie below it can be moved with it. */
  readonly storageRoot: string;
  /** For each kind of lookup. */
  readonly cacheEntriesMax: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export function createContext(
  store: CatalogStore,
  { storageRoot, cacheEntriesMax, now }: ContextSettings,
): CatalogContext {
  const caches = new LookupCaches({
    readChangeCounter: async () => store.readChangeCounter(),
    readGeneration: async () => store.read(readGeneration),
    entriesMax: cacheEntriesMax,
  });
  let transactions = 0;
  const transact = async <Value>(
    work: (sql: Sql) => Promise<Value>,
    { changesLookups, isDurable }: GroupOptions,
  ): Promise<Value> => {
    const complete = async (sql: Sql): Promise<Value> => {
      const result = await work(sql);
      if (changesLookups) await renewGeneration(sql, now());
      return result;
    };
    try {
      const result = await store.transact(complete, { isDurable });
      transactions += 1;
      return result;
    } finally {
      // After a failure too: it may have been committed, and only the sync has failed.
      if (changesLookups) caches.clear();
    }
  };
  return {
    read: async (work) => store.read(work),
    write: async (work) => transact(work, { changesLookups: true, isDurable: true }),
    append: async (work) => transact(work, { changesLookups: false, isDurable: true }),
    group: new GroupCommit(transact),
    requireDurable: async () => store.requireDurable(),
    transactionCount: () => transactions,
    caches,
    roots: createStorageRoots(storageRoot),
    now,
  };
}

const GENERATION = 'generation';

/** Changes with every transaction that may change what a lookup has found. */
export async function readGeneration(sql: Sql): Promise<string> {
  const found = await statement<{ value: string }>`select value from settings where name = ${GENERATION}`.execute(sql);
  const [row] = found.rows;
  if (row === undefined) throw new Error('The catalog has no generation.');
  return row.value;
}

export async function renewGeneration(sql: Sql, now: number): Promise<void> {
  await writeSetting(sql, GENERATION, createId(now));
}

export async function writeSetting(sql: Sql, name: string, value: string): Promise<void> {
  await sql
    .insertInto('settings')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}
