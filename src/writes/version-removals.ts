import type { Catalog, VersionRemoval } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import type { TableRecord } from '../model/table.ts';
import type { Storages } from '../storage/storages.ts';
import { runSynced } from './background-work.ts';

interface RemovalParts {
  readonly engine: Engine;
  readonly storages: Storages;
  readonly batches: Catalog['batches'];
}

/**
 * Removes the manifests of versions whose deletion is committed. To be called in the queue of their table, by its owner.
 * What fails stays listed in the catalog, and is repeated.
 */
export async function removeVersions(
  { engine, storages, batches }: RemovalParts,
  { location }: TableRecord,
  removals: readonly VersionRemoval[],
): Promise<void> {
  for (const { id, branch, versions } of removals) {
    await runSynced(storages, location, async () => engine.versions.removeListed({ location, branch }, versions));
    await batches.finishRemoval(id);
  }
}
