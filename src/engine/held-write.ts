import { engineCall } from './engine-errors.ts';
import type { OpenTables } from './open-tables.ts';
import type { WriteTarget } from './table-writes.ts';

/** How readers are kept at the version before while a write takes several commits. */
export interface VersionHold {
  /** From now on readers see this version; after a crash the table is restored to it. */
  hold(version: number): Promise<void>;
  /** Readers see the latest version again. */
  release(): Promise<void>;
}

export interface HeldWrite {
  readonly target: WriteTarget;
  /** The version before the write. */
  readonly before: number;
  /** Absent when the write is one commit, which needs no hold. */
  readonly readers: VersionHold | undefined;
}

/** To be set with the first commit: from then on a failure has something to undo. */
export interface WriteProgress {
  hasCommitted: boolean;
}

/**
 * Runs a write that may take several commits, in the lane of its table: readers see what was there before, or all of it.
 * After a failure the contents are as before.
 */
export async function writeHeld<Value>(
  tables: OpenTables,
  { target, before, readers }: HeldWrite,
  write: (progress: WriteProgress) => Promise<Value>,
): Promise<Value> {
  if (readers !== undefined) {
    await readers.hold(before);
    await tables.hold(target, before);
  }
  const progress = { hasCommitted: false };
  try {
    const outcome = await write(progress);
    await readers?.release();
    tables.release(target);
    return outcome;
  } catch (error) {
    const undo = async (): Promise<void> => {
      if (progress.hasCommitted) await restoreVersion(tables, target, before);
      // The latest version is like the old one again, so that our own readers need no hold whatever the catalog says.
      tables.release(target);
      await readers?.release();
    };
    // If this fails, too, the hold stays: readers keep the old version, and the recovery restores it.
    await undo().catch(() => {});
    throw error;
  }
}

/** Brings the contents of an earlier version back as a new version. */
export async function restoreVersion(tables: OpenTables, target: WriteTarget, version: number): Promise<number> {
  return tables.useAlone({ ...target, version }, async ({ native }) => {
    await engineCall(async () => native.restore());
    return engineCall(async () => native.version());
  });
}
