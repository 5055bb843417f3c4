import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../errors/service-error.ts';
import type { Place } from '../model/table.ts';
import type { Lanes } from './durable-lanes.ts';
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

/** A hold, and who is told that the write has failed while what it left is still being undone. */
export interface WatchedHold extends VersionHold {
  onFailed(error: unknown): void;
}

export interface HeldWrite {
  readonly target: WriteTarget;
  /** The version before the write. */
  readonly before: number;
  /** Absent when the write is one commit, which needs no hold. */
  readonly readers: WatchedHold | undefined;
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
      progress.hasCommitted = false;
      // The latest version is like the old one again, so that our own readers need no hold whatever the catalog says.
      tables.release(target);
      await readers?.release();
    };
    await undoSurely(undo, () => readers?.onFailed(error));
    throw error;
  }
}

/**
 * Runs such a write in the lane of its table. When it cannot be undone at once, because the catalog or the storage is
 * away, its caller is told of the failure, and the lane is kept: what another write commits now would not be seen, and
 * would be lost when the table goes back to the version before.
 */
export async function runHeld<Value>(
  lanes: Lanes,
  place: Place,
  write: (onFailed: (error: unknown) => void) => Promise<Value>,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    lanes.run(place, async () => write(reject)).then(resolve, reject);
  });
}

const UNDO_MILLISECONDS_MIN = 100;
const UNDO_MILLISECONDS_MAX = 5000;

/** Tries until it is done; after a crash the recovery does it instead. */
async function undoSurely(undo: () => Promise<void>, onDelay: () => void): Promise<void> {
  for (let milliseconds = UNDO_MILLISECONDS_MIN; ; milliseconds = Math.min(2 * milliseconds, UNDO_MILLISECONDS_MAX)) {
    try {
      await undo();
      return;
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'TableNotFound') return;
      onDelay();
      await sleep(milliseconds, undefined, { ref: false });
    }
  }
}

/** Brings the contents of an earlier version back as a new version. */
export async function restoreVersion(tables: OpenTables, target: WriteTarget, version: number): Promise<number> {
  return tables.useAlone({ ...target, version }, async ({ native }) => {
    await engineCall(async () => native.restore());
    return engineCall(async () => native.version());
  });
}
