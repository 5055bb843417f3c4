import type { TableLocation } from '../model/table.ts';
import type { SyncScope } from '../storage/storage.ts';
import type { Storages } from '../storage/storages.ts';

/** Runs work on a table, and resolves when all that it committed is durable. */
export async function runSynced<Value>(
  storages: Storages,
  location: TableLocation,
  work: (scope: SyncScope) => Promise<Value>,
): Promise<Value> {
  const storage = storages.of(location.root);
  await storage.requireRoot();
  const scope = await storage.beginSync(location);
  try {
    const value = await work(scope);
    await scope.sync();
    return value;
  } finally {
    scope.end();
  }
}
