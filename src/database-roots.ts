import type { Catalog } from './catalog/catalog.ts';
import { DEFAULT_DATABASE } from './model/table.ts';
import { openStorages } from './storage/storages.ts';
import type { Storages } from './storage/storages.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

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
