import { GroupCommit } from './group-commit.ts';
import type { GroupOptions } from './group-commit.ts';
import { LookupCaches } from './lookup-cache.ts';
import { createStorageRoots } from './storage-roots.ts';
import type { StorageRoots } from './storage-roots.ts';
import type { CatalogStore, Sql } from './store.ts';
import { sql as statement } from 'kysely';
import { createId } from './ids.ts';

type Transact = <Value>(work: (sql: Sql) => Promise<Value>) => Promise<Value>;

/** What every part of the catalog is given. */
export interface CatalogContext {
  readonly read: CatalogStore['read'];
  /** One transaction, after which no process goes by what it has looked up before. */
  readonly write: Transact;
  /** One transaction that leaves right whatever a lookup has found: it adds, or touches only what lookups never show. */
  readonly append: Transact;
  /** The same for work that may share its transaction with others. */
  readonly group: GroupCommit;
  readonly requireDurable: CatalogStore['requireDurable'];
  /** Transactions that were committed since the start. */
  readonly transactionCount: () => number;
  readonly caches: LookupCaches;
  readonly roots: StorageRoots;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface ContextSettings {
  readonly storageRoot: string;
  readonly cacheEntriesMax: number;
  readonly now: () => number;
}

export function createContext(
  store: CatalogStore,
  { storageRoot, cacheEntriesMax, now }: ContextSettings,
): CatalogContext {
  const caches = new LookupCaches({
    readChangeCounter: () => store.readChangeCounter(),
    generation: async () => store.read(readGeneration),
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
      caches.lookAgain();
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

/** Stays the same until something changes that a lookup may have found. */
export async function readGeneration(sql: Sql): Promise<string> {
  // Written out, because it runs after every commit.
  const { rows } = await statement<{ value: string }>`select value from settings where name = ${GENERATION}`.execute(
    sql,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('The catalog has no generation.');
  return row.value;
}

export async function renewGeneration(sql: Sql, nowMilliseconds: number): Promise<void> {
  const value = createId(nowMilliseconds);
  await sql
    .insertInto('settings')
    .values({ name: GENERATION, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}
