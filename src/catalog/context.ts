import { sql as statement } from 'kysely';
import { GroupCommit } from './group-commit.ts';
import type { GroupOptions } from './group-commit.ts';
import { createId } from './ids.ts';
import { HeadCache, LookupCaches } from './lookup-cache.ts';
import type { Changes } from './lookup-cache.ts';
import { createStorageRoots } from './storage-roots.ts';
import type { HeadRow } from './schema/rows.ts';
import type { CatalogStore, Sql } from './store.ts';

export interface ContextSettings {
  /** Databases with roots below it can be moved together with it. */
  readonly storageRoot: string;
  /** This process in a cluster: it writes only tables whose lease it has. */
  readonly nodeId?: string | undefined;
  /** For cached lookups, and again as much for cached heads. */
  readonly cacheBytes: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export type CatalogContext = ReturnType<typeof createContext>;

export function createContext(store: CatalogStore, { storageRoot, cacheBytes, nodeId, now }: ContextSettings) {
  const { readChangeCounter, clock } = store;
  // With a change counter, looking up a head is cheaper than checking a cache.
  const heads = readChangeCounter === undefined ? new HeadCache(cacheBytes) : undefined;
  const caches = new LookupCaches({
    readChangeCounter: readChangeCounter?.bind(store),
    readChanges: async (lastChange) => store.read(async (sql) => readChanges(sql, lastChange)),
    heads,
    bytesMax: cacheBytes,
  });
  let transactions = 0;
  const commitListeners = new Set<() => void>();
  const transact = async <Value>(
    work: (sql: Sql) => Promise<Value>,
    { changesLookups, isDurable, isOneStatement = false }: GroupOptions,
  ): Promise<Value> => {
    const complete = async (sql: Sql): Promise<Value> => {
      const result = await work(sql);
      if (changesLookups) await renewGeneration(sql, now());
      return result;
    };
    try {
      const result = await store.transact(complete, { isDurable, isOneStatement: isOneStatement && !changesLookups });
      transactions += 1;
      for (const notify of commitListeners) notify();
      return result;
    } finally {
      // After a failure too: the transaction may have been committed, and only the sync failed.
      if (changesLookups) caches.clear();
    }
  };
  return {
    read: async <Value>(work: (sql: Sql) => Promise<Value>) => store.read(work),
    /** One transaction, after which all processes repeat their lookups. */
    write: async <Value>(work: (sql: Sql) => Promise<Value>) =>
      transact(work, { changesLookups: true, isDurable: true }),
    /** One transaction that leaves cached lookups valid: it only adds rows, or changes what no lookup returns. */
    append: async <Value>(work: (sql: Sql) => Promise<Value>) =>
      transact(work, { changesLookups: false, isDurable: true }),
    /** Transactions that concurrent callers share. */
    group: new GroupCommit(transact),
    requireDurable: async () => store.requireDurable(),
    /** Transactions committed and disk syncs since the start. */
    counts: () => ({ transactions, syncs: store.syncCount() }),
    /** Calls the listener after each transaction of this process. The returned function removes it. */
    onCommit: (listener: () => void): (() => void) => {
      commitListeners.add(listener);
      return () => void commitListeners.delete(listener);
    },
    caches,
    inRequest:
      readChangeCounter === undefined ? async <Value>(run: () => Promise<Value>) => caches.inRequest(run) : undefined,
    fromMemory: async <Value>(run: () => Promise<Value>) => caches.fromMemory(run),
    heads: {
      find: async (tableId: string, load: () => Promise<number | undefined>) =>
        heads === undefined ? load() : caches.findHead(tableId, load),
    },
    nodeId,
    /** The clock of the database, in milliseconds since 1970. */
    clock: { value: clock, plus: (milliseconds: number) => statement<number>`${clock} + ${milliseconds}` },
    roots: createStorageRoots(storageRoot),
    now,
  };
}

const GENERATION = 'generation';

/** Changes with every transaction that may change the result of a lookup. */
export async function readGeneration(sql: Sql): Promise<string> {
  const row = await sql.selectFrom('settings').select('value').where('name', '=', GENERATION).executeTakeFirst();
  if (row === undefined) throw new Error('The catalog has no generation.');
  return row.value;
}

/** At most this many changed heads are applied; after more, all heads are read again. */
const HEADS_MAX = 1000;

/** The generation and the heads changed since, oldest first. One query, because every request waits for it. */
async function readChanges(sql: Sql, lastChange: number): Promise<Changes> {
  const { rows } = await statement<{ generation: string } & { [Name in keyof HeadRow]: HeadRow[Name] | null }>`
    select settings.value as generation, heads.table_id, heads.version, heads.change
    from settings left join heads on heads.change > ${lastChange}
    where settings.name = ${GENERATION} order by heads.change limit ${HEADS_MAX}`.execute(sql);
  const generation = rows[0]?.generation;
  if (generation === undefined) throw new Error('The catalog has no generation.');
  const heads: HeadRow[] = [];
  for (const { tableId, version, change } of rows) {
    if (tableId !== null && version !== null && change !== null) heads.push({ tableId, version, change });
  }
  return { generation, heads, isComplete: rows.length < HEADS_MAX };
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
