import type { ArrowChunk } from '../../arrow/stream/checked-stream.ts';
import { readFileSchema } from '../../arrow/schema/schema-reader.ts';
import { hasSameSchema, isJoinable, joinFiles } from '../../arrow/stream/chunk-buffer.ts';
import type { JoinableChunk } from '../../arrow/stream/chunk-buffer.ts';
import { writeChunks } from '../../arrow/stream/chunk-source.ts';
import type { ChunkSource } from '../../arrow/stream/chunk-source.ts';
import type { Schema } from '../../model/schema.ts';
import { addComputed } from '../computed/compute-columns.ts';
import { requireRowsFit } from '../computed/definitions.ts';
import type { ComputedColumn } from '../computed/definitions.ts';
import { RowsMissing, engineCall, retryConflicts, storeRows } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import { readSchema, readVersion, toOpenTable } from '../tables/table-handle.ts';
import type { OpenTable, WriteTarget } from '../tables/table-handle.ts';
import { addRows } from './schema-fit.ts';
import type { CommitGroup, CommitPlan, MultiCommitPlan, PreparedCommit } from './commit-plan.ts';

export interface AppendedRows {
  readonly rows: number;
}

export interface AppendData {
  readonly schema: Schema;
  readonly chunk: ArrowChunk;
}

/** Adds the rows of one chunk. Waiting appends of the same schema may share the commit. */
export class AppendPlan implements CommitPlan<AppendedRows> {
  readonly kinds = ['append'] as const;
  readonly data: AppendData;
  readonly #parts: EngineParts;

  constructor(parts: EngineParts, data: AppendData) {
    this.#parts = parts;
    this.data = data;
  }

  async prepare(table: OpenTable): Promise<PreparedCommit<AppendedRows>> {
    const { schema, chunk } = this.data;
    const { rows } = chunk;
    return prepareAppend(this.#parts, table, { schema, rows, outcome: { rows }, toFile: () => chunk.file });
  }

  async startGroup(): Promise<CommitGroup<AppendedRows> | undefined> {
    const { chunk, schema } = this.data;
    return isJoinable(chunk) ? startAppendGroup(this.#parts, schema, chunk) : undefined;
  }
}

/** Groups appends with the same schema message: their batches are copied undecoded into one file, in order. */
function startAppendGroup(parts: EngineParts, schema: Schema, first: JoinableChunk): CommitGroup<AppendedRows> {
  const { limits } = parts;
  const chunks: [JoinableChunk, ...JoinableChunk[]] = [first];
  let bytes = first.file.length;
  let { rows } = first;
  return {
    membersMax: limits.insertGroupMax,
    add(plan) {
      const chunk = plan instanceof AppendPlan ? plan.data.chunk : undefined;
      if (chunk === undefined || !isJoinable(chunk) || !hasSameSchema(first, chunk)) return false;
      if (bytes + chunk.file.length > limits.insertGroupBytesMax) return false;
      if (rows + chunk.rows > limits.insertGroupRowsMax) return false;
      bytes += chunk.file.length;
      rows += chunk.rows;
      chunks.push(chunk);
      return true;
    },
    async prepare(table) {
      const outcome = chunks.map((chunk) => ({ rows: chunk.rows }));
      return prepareAppend(parts, table, { schema, rows, outcome, toFile: () => joinFiles(chunks) });
    },
  };
}

interface Append<Outcome> {
  readonly schema: Schema;
  readonly rows: number;
  readonly outcome: Outcome;
  readonly toFile: () => Buffer;
}

async function prepareAppend<Outcome>(
  parts: EngineParts,
  table: OpenTable,
  { schema, rows, outcome, toFile }: Append<Outcome>,
): Promise<PreparedCommit<Outcome>> {
  const tableSchema = await table.schema();
  const computed = requireRowsFit(parts, schema, tableSchema);
  const isPlain = computed.length === 0 || rows === 0;
  const whole = isPlain ? undefined : await addComputed(parts, table, { schema, file: toFile() }, computed);
  return {
    addedRows: rows,
    storedRows: rows,
    expected: outcome,
    async commit() {
      // Without rows, commit nothing: the engine would refuse, or commit an empty version.
      if (rows === 0) return { version: await table.version(), outcome };
      const { version } = await storeRows(async () => addRows(table.native, whole?.file ?? toFile(), tableSchema));
      table.moved(version);
      return { version, outcome };
    },
  };
}

export interface LongAppendData {
  /** Several if the rows arrived in several streams. */
  readonly schemas: readonly Schema[];
  readonly source: ChunkSource;
  /** Deletes all existing rows first; columns and indexes stay. */
  readonly replacesRows?: boolean;
}

/** Appends a stream of many chunks, one commit each. */
export function planLongAppend(
  parts: EngineParts,
  target: WriteTarget,
  { schemas, source, replacesRows = false }: LongAppendData,
): MultiCommitPlan<AppendedRows> {
  const { tables, limits } = parts;
  let native: NativeTable | undefined;
  let schema: Schema = { fields: [], metadata: new Map() };
  let computed: readonly ComputedColumn[] = [];
  let before = { version: 0, rows: 0 };
  const toWholeFile = async ({ file }: ArrowChunk): Promise<Buffer> => {
    if (computed.length === 0 || native === undefined) return file;
    const rows = { schema: readFileSchema(file), file };
    return (await addComputed(parts, toOpenTable(native, undefined), rows, computed)).file;
  };
  return {
    async prepare() {
      const opened = await tables.openPrivate(target);
      native = opened;
      schema = await readSchema(opened);
      for (const each of schemas) computed = requireRowsFit(parts, each, schema);
      before = await count(opened);
      return { baseVersion: before.version };
    },
    async write() {
      const opened = native;
      if (opened === undefined) throw new Error('The append was not prepared.');
      let { version } = before;
      let commits = 0;
      return storeRows(async () => {
        if (replacesRows && before.rows > 0) {
          const remove = async () => engineCall(async () => opened.delete('true'));
          ({ version } = await retryConflicts(limits.writeAttemptsMax, remove));
          commits += 1;
        }
        const kept = replacesRows ? 0 : before.rows;
        const rows = await writeChunks(source, async (chunk) => {
          if (chunk.rows === 0) return;
          const file = await toWholeFile(chunk);
          const add = async () => addRows(opened, file, schema);
          ({ version } = await retryConflicts(limits.writeAttemptsMax, add));
          commits += 1;
        });
        const after = await count(opened);
        const stored = after.rows - kept;
        // If another process committed in between, the difference proves nothing.
        const isComparable = after.version === before.version + commits;
        if (isComparable && stored !== rows) throw new RowsMissing({ stored, rows, version });
        return { version, outcome: { rows } };
      });
    },
    close: () => native?.close(),
  };
}

async function count(native: NativeTable): Promise<{ readonly version: number; readonly rows: number }> {
  return { version: await readVersion(native), rows: await engineCall(async () => native.countRows()) };
}
