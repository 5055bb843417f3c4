import { mkdir } from 'node:fs/promises';
import { openCatalog } from '../catalog/catalog.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { inspectCatalog } from '../catalog/sqlite/inspect-catalog.ts';
import type { CatalogState } from '../catalog/sqlite/inspect-catalog.ts';
import type { Config } from '../config/config.ts';
import { DEFAULT_DATABASE } from '../model/table.ts';
import { openStorages } from '../storage/storages.ts';
import type { Storages } from '../storage/storages.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

const CACHE_ENTRIES_MAX = 10_000;
const BUSY_MILLISECONDS = 5_000;

/** The catalog that the settings name; commands open it beside a running server. */
export async function openConfiguredCatalog(config: Config): Promise<Catalog> {
  await mkdir(config.data, { recursive: true, mode: 0o700 });
  return openCatalog({
    file: config.catalogFile,
    storageRoot: config.storage.root,
    busyTimeoutMilliseconds: BUSY_MILLISECONDS,
    cacheEntriesMax: CACHE_ENTRIES_MAX,
    journal: config.limits.journal,
    now: Date.now,
  });
}

/** How the catalog fares that the settings name; it is not changed by the look. */
export function inspectConfiguredCatalog(config: Config): CatalogState {
  return inspectCatalog(config.catalogFile);
}

/** Creates the root folder of a new database, for a command that runs beside the server. */
export async function ensureRoot(root: string): Promise<void> {
  const storages = openStorages({ sync: 'os', watchedTablesMax: 0 });
  await storages.of(root).ensureRoot();
  storages.close();
}

/**
 * At start: creates the root folder of each database that has no tables. The missing root of one that has tables was moved
 * away or is not mounted, and an empty folder in its place would hide that.
 */
export async function ensureRoots(catalog: Catalog, storages: Storages, telemetry: Telemetry): Promise<void> {
  for (const { id, name, root } of await catalog.databases.list()) {
    const [table] = await catalog.tables.list({ databaseId: id, limit: 1 });
    if (table !== undefined) continue;
    try {
      await storages.of(root).ensureRoot();
    } catch (error) {
      if (name === DEFAULT_DATABASE) throw error;
      telemetry.emit({ kind: 'background-failed', task: `creating the storage root of ${name}`, cause: error });
    }
  }
}
