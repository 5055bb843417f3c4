import { GroupCommit } from './group-commit.ts';
import type { GroupOptions } from './group-commit.ts';
import { createId } from './ids.ts';
import { LookupCaches } from './lookup-cache.ts';
import { createStorageRoots } from './storage-roots.ts';
import type { CatalogStore, Sql } from './store.ts';

export interface ContextSettings {
  /** Databases whose roots lie below it can be moved with it. */
  readonly storageRoot: string;
  /** For each kind of lookup. */
  readonly cacheEntriesMax: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export type CatalogContext = ReturnType<typeof createContext>;

export function createContext(store: CatalogStore, { storageRoot, cacheEntriesMax, now }: ContextSettings) {
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
    read: async <Value>(work: (sql: Sql) => Promise<Value>) => store.read(work),
    /** One transaction, after which every process repeats its lookups. */
    write: async <Value>(work: (sql: Sql) => Promise<Value>) =>
      transact(work, { changesLookups: true, isDurable: true }),
    /** One transaction that leaves cached lookups valid: it only adds, or changes what no lookup returns. */
    append: async <Value>(work: (sql: Sql) => Promise<Value>) =>
      transact(work, { changesLookups: false, isDurable: true }),
    /** Transactions that concurrent callers share. */
    group: new GroupCommit(transact),
    requireDurable: async () => store.requireDurable(),
    /** Transactions committed and syncs of the disk since the start. */
    counts: () => ({ transactions, syncs: store.syncCount() }),
    caches,
    roots: createStorageRoots(storageRoot),
    now,
  };
}

const GENERATION = 'generation';

/** Changes with every transaction that may change what a lookup has found. */
export async function readGeneration(sql: Sql): Promise<string> {
  const row = await sql.selectFrom('settings').select('value').where('name', '=', GENERATION).executeTakeFirst();
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
