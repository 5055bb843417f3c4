import type { Schema } from '../model/schema.ts';
import { engineCall, isPanic } from './engine-errors.ts';
import { restoreVersion, runHeld, writeHeld } from './held-write.ts';
import type { VersionHold, WriteProgress } from './held-write.ts';
import type { NativeTable } from './native.ts';
import { readSchema } from './open-table.ts';
import type { OpenTable } from './open-table.ts';
import { requireFit } from './schema-fit.ts';
import { retryConflicts, writeInLane } from './table-writes.ts';
import type { WriteContext, WriteTarget } from './table-writes.ts';
import type { Turns } from './turns.ts';
import { writeChunks } from './write-chunks.ts';
import type { ChunkSource } from './write-chunks.ts';
import { malformedBatch, rowsMissing } from './write-stream.ts';
import type { WriteOutcome } from './write-stream.ts';

export interface AppendData {
  /** More than one when the rows came in several streams. */
  readonly schemas: readonly Schema[];
  readonly source: ChunkSource;
}

export interface AppendContext extends WriteContext {
  readonly bulk: Turns;
}

/** All rows become visible together, or none. */
export async function appendRows(
  context: AppendContext,
  target: WriteTarget,
  data: AppendData,
  readers: VersionHold,
): Promise<WriteOutcome> {
  try {
    return data.source.isLong
      ? await appendLong(context, target, data, readers)
      : await writeInLane(context, target, async (table) => appendShort(context, target, data, table));
  } catch (error) {
    // Nothing but the bytes of a batch makes the engine panic here.
    throw isPanic(error) ? malformedBatch(error) : error;
  }
}

/** One commit, through the handle that readers share. */
async function appendShort(
  { tables }: WriteContext,
  target: WriteTarget,
  { schemas, source }: AppendData,
  table: OpenTable,
): Promise<WriteOutcome> {
  const { native } = table;
  const tableSchema = await table.schema();
  for (const schema of schemas) requireFit(schema, tableSchema);
  const before = await countBefore(native);
  const [chunk] = source.pulled;
  // Nothing would make a version of its own, or be refused.
  if (chunk === undefined || chunk.rows === 0) return { version: before.version, rows: 0 };
  const { version } = await engineCall(async () => native.add(chunk.file, 'append'));
  table.moved(version);
  const stored = await countAdded(native, before, 1);
  if (stored !== undefined && stored !== chunk.rows) {
    await restoreVersion(tables, target, before.version);
    throw rowsMissing(stored, chunk.rows);
  }
  return { version, rows: chunk.rows };
}

/** Several commits, while readers are held at the version before. */
async function appendLong(
  { lanes, tables, limits, bulk }: AppendContext,
  target: WriteTarget,
  { schemas, source }: AppendData,
  readers: VersionHold,
): Promise<WriteOutcome> {
  return runHeld(lanes, target.place, async (onFailed) =>
    bulk.run(async () => {
      const native = await tables.openAlone({ ...target, version: undefined });
      try {
        const tableSchema = await readSchema(native);
        for (const schema of schemas) requireFit(schema, tableSchema);
        const before = await countBefore(native);
        await target.intent?.begin(before.version);
        return await writeHeld(
          tables,
          { target, before: before.version, readers: { ...readers, onFailed } },
          async (progress) => appendChunks({ native, before, attemptsMax: limits.writeAttemptsMax }, source, progress),
        );
      } catch (error) {
        target.intent?.fail();
        throw error;
      } finally {
        native.close();
      }
    }),
  );
}

interface Appending {
  readonly native: NativeTable;
  readonly before: Counted;
  readonly attemptsMax: number;
}

async function appendChunks(
  { native, before, attemptsMax }: Appending,
  source: ChunkSource,
  progress: WriteProgress,
): Promise<WriteOutcome> {
  let { version } = before;
  let commits = 0;
  const rows = await writeChunks(source, async ({ file, rows: chunkRows }) => {
    if (chunkRows === 0) return;
    ({ version } = await retryConflicts(attemptsMax, async () => engineCall(async () => native.add(file, 'append'))));
    progress.hasCommitted = true;
    commits += 1;
  });
  const stored = await countAdded(native, before, commits);
  if (stored !== undefined && stored !== rows) throw rowsMissing(stored, rows);
  return { version, rows };
}

interface Counted {
  readonly version: number;
  readonly rows: number;
}

async function countBefore(native: NativeTable): Promise<Counted> {
  const version = await engineCall(async () => native.version());
  return { version, rows: await engineCall(async () => native.countRows()) };
}

/** `undefined` when another process has written in between, so that the difference says nothing. */
async function countAdded(native: NativeTable, before: Counted, commits: number): Promise<number | undefined> {
  const after = await countBefore(native);
  return after.version === before.version + commits ? after.rows - before.rows : undefined;
}
