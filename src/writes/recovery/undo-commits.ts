import type { Journal, NewEntry } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { isObjectRoot } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import type { Storage } from '../../storage/storage.ts';
import { readExpectation } from '../journal-entries.ts';
import type { WriteTarget } from '../../engine/engine.ts';
import type { VerifyParts } from './verify.ts';

export interface UndoParts extends VerifyParts {
  readonly journal: Journal;
}

/**
 * Returns a function that makes the base version of a write of several commits the latest again and removes its entry.
 * A retry does not repeat completed steps.
 */
export function prepareUndo(
  { engine, storages, journal }: UndoParts,
  { id: tableId, location }: TableRecord,
  { id, baseVersion, branch, epoch, expected }: Pick<NewEntry, 'id' | 'baseVersion' | 'branch' | 'epoch' | 'expected'>,
): () => Promise<void> {
  const target = { location, branch };
  const storage = storages.of(location.root);
  let isRestored = false;
  /** The version that readers get from now on, where heads are recorded. */
  let head: number | undefined;
  const { transactionId } = readExpectation({ expected });
  const restore = async (): Promise<void> => {
    if (transactionId !== undefined) {
      // Undo only the commit of this write: another writer may have committed first, which is why it is undone.
      const commits = (await storage.readCommits(location, branch, baseVersion)) ?? [];
      const own = commits.find((commit) => commit.transactionId === transactionId);
      if (own === undefined) return;
      await journal.requireOwner(tableId, epoch);
      if (baseVersion === 0) return removeFirstVersion(storage, target, own.version);
    }
    // Chunks are not tracked: a latest version other than the base means that something was committed.
    const latest = (await engine.findLatestVersion(target)) ?? 0;
    if (latest === baseVersion) return;
    // The commits of a new owner must not be undone.
    await journal.requireOwner(tableId, epoch);
    if (baseVersion > 0) head = await engine.restoreVersion(target, baseVersion, latest);
    // The table had no data.
    else await engine.dropTable(location);
  };
  return async () => {
    await storage.requireRoot();
    // Fails for a table whose disk failed, before anything is restored.
    const scope = await storage.beginSync(location);
    try {
      if (!isRestored) {
        await restore().catch((error: unknown) => {
          // The table was dropped meanwhile.
          if (!(error instanceof ServiceError) || error.kind !== 'TableNotFound') throw error;
        });
      }
      isRestored = true;
      // Must be durable before the entry is removed: after a power loss, nothing else would undo the commits.
      await scope.sync();
    } finally {
      scope.end();
    }
    // The latest version is the base version again, so readers need not be pinned, whatever the catalog says.
    engine.releaseReaders(target);
    await journal.abortHeld(id, tableId, isObjectRoot(location.root) && branch === undefined ? head : undefined);
  };
}

/** Undoes the first version: the files of the external writer stay for another attempt. */
async function removeFirstVersion(storage: Storage, { location, branch }: WriteTarget, version: number): Promise<void> {
  const paths = [true, false].map((isCountedDown) =>
    storage.manifestPath({ location, branch, version, isCountedDown }),
  );
  await storage.removeManifests(paths);
}
