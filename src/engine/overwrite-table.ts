import { ServiceError } from '../errors/service-error.ts';
import type { Place } from '../model/table.ts';
import type { Connections } from './connections.ts';
import { createTable, withStorageVersion } from './create-table.ts';
import type { TableData } from './create-table.ts';
import { engineCall } from './engine-errors.ts';
import type { OpenTables } from './open-tables.ts';
import { retryConflicts } from './table-writes.ts';
import { writeStream } from './write-stream.ts';
import type { WriteOutcome } from './write-stream.ts';

/** How readers are kept at the version before while a large overwrite takes several commits. */
export interface VersionHold {
  /** From now on readers see this version; after a crash the table is restored to it. */
  hold(version: number): Promise<void>;
  /** Readers see the latest version again. */
  release(): Promise<void>;
}

export interface OverwriteContext {
  readonly connections: Connections;
  readonly tables: OpenTables;
  readonly writeAttemptsMax: number;
}

/**
 * Replaces the rows and the schema by a new version of the same table; to be called in the table's lane, with the first
 * two chunks pulled. One chunk is one commit. More take several commits, and readers must not see those between.
 */
export async function overwriteTable(
  context: OverwriteContext,
  data: TableData,
  readers: VersionHold,
): Promise<WriteOutcome> {
  const before = await findVersion(context.tables, data.place);
  // The name is there, but no data: it is written as if it were new.
  if (before === undefined) return createTable(context.connections, data);
  const isHeld = data.source.pulled.length > 1;
  if (isHeld) {
    await readers.hold(before);
    context.tables.hold(data.place, before);
  }
  const progress = { hasCommitted: false };
  try {
    const outcome = await writeVersion(context, data, progress);
    if (isHeld) await readers.release();
    context.tables.release(data.place);
    return outcome;
  } catch (error) {
    const undo = async (): Promise<void> => {
      if (progress.hasCommitted) await restoreVersion(context.tables, data.place, before);
      // The latest version is like the old one again, so that our own readers need no hold whatever the catalog says.
      context.tables.release(data.place);
      if (isHeld) await readers.release();
    };
    // If this fails, too, the hold stays: readers keep the old version, and the recovery restores it.
    await undo().catch(() => {});
    throw error;
  }
}

/** Brings the contents of an earlier version back as a new version. */
export async function restoreVersion(tables: OpenTables, place: Place, version: number): Promise<number> {
  return tables.useAlone({ place, branch: undefined, version }, async ({ native }) => {
    await engineCall(async () => native.restore());
    return engineCall(async () => native.version());
  });
}

async function writeVersion(
  { connections, writeAttemptsMax }: OverwriteContext,
  data: TableData,
  progress: { hasCommitted: boolean },
): Promise<WriteOutcome> {
  const options = { mode: 'overwrite', storageOptions: withStorageVersion(data) } as const;
  return writeStream(data.source, async (file) => {
    const native = await retryConflicts(writeAttemptsMax, async () =>
      connections.writeTable(data.place, file, options),
    );
    progress.hasCommitted = true;
    return native;
  });
}

async function findVersion(tables: OpenTables, place: Place): Promise<number | undefined> {
  const latest = { place, branch: undefined, version: undefined };
  try {
    return await tables.useAlone(latest, async ({ native }) => engineCall(async () => native.version()));
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'TableNotFound') return undefined;
    throw error;
  }
}
