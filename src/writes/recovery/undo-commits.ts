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
 * Gives what makes the base version of a write of several commits the latest again, and removes its entry. A retry does
 * not repeat what is done.
 */
export function prepareUndo(
  { engine, storages, journal }: UndoParts,
  { id: tableId, location }: TableRecord,
  { id, baseVersion, branch, epoch, expected }: Pick<NewEntry, 'id' | 'baseVersion' | 'branch' | 'epoch' | 'expected'>,
): () => Promise<void> {
  const target = { location, branch };
  const storage = storages.of(location.root);
  let isRestored = false;
  /** The version that readers get from now on, where it is recorded. */
  let head: number | undefined;
  const { transactionId } = readExpectation({ expected });
  const restore = async (): Promise<void> => {
    if (transactionId !== undefined) {
      // Only the commit of this write is undone: others may have been faster, which is why it is undone.
      const commits = (await storage.readCommits(location, branch, baseVersion)) ?? [];
      const own = commits.find((commit) => commit.transactionId === transactionId);
      if (own === undefined) return;
      await journal.requireOwner(tableId, epoch);
      if (baseVersion === 0) return removeFirstVersion(storage, target, own.version);
    }
    // Not tracked for each chunk: another latest version than the base means that something was committed.
    const latest = (await engine.findLatestVersion(target)) ?? 0;
    if (latest === baseVersion) return;
    // What a new owner has committed since must not be undone.
    await journal.requireOwner(tableId, epoch);
    if (baseVersion > 0) head = await engine.restoreVersion(target, baseVersion, latest);
    // There was no data.
    else await engine.dropTable(location);
  };
  return async () => {
    await storage.requireRoot();
    // Refuses a table whose disk failed, before anything is restored.
    const scope = await storage.beginSync(location);
    try {
      if (!isRestored) {
        await restore().catch((error: unknown) => {
          // The table was dropped meanwhile.
          if (!(error instanceof ServiceError) || error.kind !== 'TableNotFound') throw error;
        });
      }
      isRestored = true;
      // Durable before the entry goes: nothing else would undo the commits after a power loss.
      await scope.sync();
    } finally {
      scope.end();
    }
    // The latest version equals the base version again, so readers need no hold whatever the catalog says.
    engine.releaseReaders(target);
    await journal.abortHeld(id, tableId, isObjectRoot(location.root) && branch === undefined ? head : undefined);
  };
}

/** There was no version before: the files of the external writer stay, for another attempt. */
async function removeFirstVersion(storage: Storage, { location, branch }: WriteTarget, version: number): Promise<void> {
  const paths = [true, false].map((isCountedDown) =>
    storage.manifestPath({ location, branch, version, isCountedDown }),
  );
  await storage.removeManifests(paths);
}
