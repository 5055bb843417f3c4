import type { Place } from '../model/table.ts';
import type { Storages } from '../storage/storages.ts';

/** Runs work on a table, and resolves when all that it committed is durable. */
export async function runSynced<Value>(storages: Storages, place: Place, work: () => Promise<Value>): Promise<Value> {
  const storage = storages.of(place.root);
  await storage.requireRoot();
  const scope = await storage.beginSync(place);
  try {
    const value = await work();
    await scope.sync();
    return value;
  } finally {
    scope.end();
  }
}
