import { readGeneration, renewGeneration } from './generation.ts';
import { LookupCaches } from './lookup-cache.ts';
import { createStorageRoots } from './storage-roots.ts';
import type { StorageRoots } from './storage-roots.ts';
import type { CatalogStore, Sql } from './store.ts';

/** What every part of the catalog is given. */
export interface CatalogContext {
  readonly read: CatalogStore['read'];
  /** One transaction, after which no process goes by what it has looked up before. */
  readonly write: CatalogStore['transact'];
  /** One transaction that leaves right whatever a lookup has found: it adds, or touches only what lookups never show. */
  readonly append: CatalogStore['transact'];
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
    commitMark: () => store.commitMark(),
    generation: async () => store.read(readGeneration),
    entriesMax: cacheEntriesMax,
  });
  const transact: CatalogStore['transact'] = async (work) => {
    try {
      return await store.transact(work);
    } finally {
      caches.lookAgain();
    }
  };
  return {
    read: async (work) => store.read(work),
    write: async (work) =>
      transact(async (sql: Sql) => {
        const result = await work(sql);
        await renewGeneration(sql, now());
        return result;
      }),
    append: transact,
    caches,
    roots: createStorageRoots(storageRoot),
    now,
  };
}
