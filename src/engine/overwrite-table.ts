import { ServiceError } from '../errors/service-error.ts';
import type { WriteIntent } from '../model/write-intent.ts';
import type { Connections } from './connections.ts';
import { createTable, withStorageVersion } from './create-table.ts';
import type { TableData } from './create-table.ts';
import { engineCall } from './engine-errors.ts';
import { writeHeld } from './held-write.ts';
import type { WatchedHold, WriteProgress } from './held-write.ts';
import type { NativeTable } from './native.ts';
import type { OpenTables } from './open-tables.ts';
import { retryConflicts } from './table-writes.ts';
import type { WriteTarget } from './table-writes.ts';
import { writeStream } from './write-stream.ts';
import type { WriteOutcome } from './write-stream.ts';

export interface OverwriteContext {
  readonly connections: Connections;
  readonly tables: OpenTables;
  readonly writeAttemptsMax: number;
}

export interface OverwriteData extends TableData {
  /** The main branch when absent. */
  readonly branch?: string | undefined;
  readonly intent?: WriteIntent | undefined;
}

/**
 * Replaces the rows and the schema by a new version of the same table; to be called in the table's lane. One chunk is one
 * commit. More take several commits, and readers must not see those between.
 */
export async function overwriteTable(
  context: OverwriteContext,
  data: OverwriteData,
  readers: WatchedHold,
): Promise<WriteOutcome> {
  const { place, branch, source, intent } = data;
  const target = { place, branch };
  const before = await findVersion(context.tables, target);
  // The name is there, but no data: it is written as if it were new.
  if (before === undefined) return createTable(context.connections, data);
  const held = { target, before, readers: source.isLong ? readers : undefined };
  try {
    await intent?.begin(before);
    return await writeHeld(context.tables, held, async (progress) => writeVersion(context, data, progress));
  } catch (error) {
    intent?.fail();
    throw error;
  }
}

async function writeVersion(
  context: OverwriteContext,
  data: OverwriteData,
  progress: WriteProgress,
): Promise<WriteOutcome> {
  return writeStream(data.source, async (file) => {
    const native = await retryConflicts(context.writeAttemptsMax, async () => beginVersion(context, data, file));
    progress.hasCommitted = true;
    return native;
  });
}

async function beginVersion(
  { connections, tables }: OverwriteContext,
  data: OverwriteData,
  file: Buffer,
): Promise<NativeTable> {
  const { place, branch } = data;
  if (branch === undefined) {
    return connections.writeTable(place, file, { mode: 'overwrite', storageOptions: withStorageVersion(data) });
  }
  const native = await tables.openAlone({ place, branch, version: undefined });
  try {
    await engineCall(async () => native.add(file, 'overwrite'));
    return native;
  } catch (error) {
    native.close();
    throw error;
  }
}

async function findVersion(tables: OpenTables, target: WriteTarget): Promise<number | undefined> {
  const latest = { ...target, version: undefined };
  try {
    return await tables.useAlone(latest, async ({ native }) => engineCall(async () => native.version()));
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'TableNotFound') return undefined;
    throw error;
  }
}
