import type { ArrowChunk } from '../../arrow/stream/checked-stream.ts';
import { hasSameSchema, isJoinable, joinFiles } from '../../arrow/stream/chunk-buffer.ts';
import type { JoinableChunk } from '../../arrow/stream/chunk-buffer.ts';
import { writeChunks } from '../../arrow/stream/chunk-source.ts';
import type { ChunkSource } from '../../arrow/stream/chunk-source.ts';
import type { EngineLimits } from '../../model/limits.ts';
import type { Schema } from '../../model/schema.ts';
import { RowsMissing, engineCall, retryConflicts, storeRows } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import type { EngineParts } from '../parts.ts';
import { readSchema, readVersion } from '../tables/table-handle.ts';
import type { OpenTable, WriteTarget } from '../tables/table-handle.ts';
import type { CommitGroup, CommitPlan, Committed, MultiCommitPlan, PreparedCommit } from './commit-plan.ts';
import { requireFit } from './schema-fit.ts';

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
  readonly #limits: EngineLimits;

  constructor(limits: EngineLimits, data: AppendData) {
    this.#limits = limits;
    this.data = data;
  }

  async prepare(table: OpenTable): Promise<PreparedCommit<AppendedRows>> {
    const { schema, chunk } = this.data;
    requireFit(schema, await table.schema());
    const { rows } = chunk;
    return {
      addedRows: rows,
      storedRows: rows,
      expected: { rows },
      commit: async () => ({ version: await append(table, () => chunk.file, rows), outcome: { rows } }),
    };
  }

  async startGroup(): Promise<CommitGroup<AppendedRows> | undefined> {
    const { chunk, schema } = this.data;
    if (!isJoinable(chunk)) return undefined;
    return new AppendGroup(this.#limits, schema, chunk);
  }
}

/** Appends with the same schema message: their batches are copied into one file, undecoded, in order. */
class AppendGroup implements CommitGroup<AppendedRows> {
  readonly membersMax: number;
  readonly #limits: EngineLimits;
  readonly #schema: Schema;
  readonly #chunks: [JoinableChunk, ...JoinableChunk[]];
  #bytes: number;
  #rows: number;

  constructor(limits: EngineLimits, schema: Schema, first: JoinableChunk) {
    this.membersMax = limits.insertGroupMax;
    this.#limits = limits;
    this.#schema = schema;
    this.#chunks = [first];
    this.#bytes = first.file.length;
    this.#rows = first.rows;
  }

  add(plan: CommitPlan<unknown>): boolean {
    if (!(plan instanceof AppendPlan)) return false;
    const { chunk } = plan.data;
    if (!isJoinable(chunk) || !hasSameSchema(this.#chunks[0], chunk)) return false;
    const { insertGroupBytesMax, insertGroupRowsMax } = this.#limits;
    const [bytes, rows] = [this.#bytes + chunk.file.length, this.#rows + chunk.rows];
    if (bytes > insertGroupBytesMax || rows > insertGroupRowsMax) return false;
    this.#bytes = bytes;
    this.#rows = rows;
    this.#chunks.push(chunk);
    return true;
  }

  async prepare(table: OpenTable): Promise<PreparedCommit<readonly AppendedRows[]>> {
    requireFit(this.#schema, await table.schema());
    const outcome = this.#chunks.map(({ rows }) => ({ rows }));
    return {
      addedRows: this.#rows,
      storedRows: this.#rows,
      expected: outcome,
      commit: async () => ({ version: await append(table, () => joinFiles(this.#chunks), this.#rows), outcome }),
    };
  }
}

/** Nothing to add is no commit: the engine would refuse it, or commit a version. */
async function append(table: OpenTable, toFile: () => Buffer, rows: number): Promise<number> {
  if (rows === 0) return table.version();
  const { version } = await storeRows(async () => engineCall(async () => table.native.add(toFile(), 'append')));
  table.moved(version);
  return version;
}

export interface LongAppendData {
  /** More than one when the rows came in several streams. */
  readonly schemas: readonly Schema[];
  readonly source: ChunkSource;
}

interface Counted {
  readonly version: number;
  readonly rows: number;
}

/** Adds the rows of a stream of many chunks, one commit for each. */
export class LongAppendPlan implements MultiCommitPlan<AppendedRows> {
  readonly #parts: EngineParts;
  readonly #target: WriteTarget;
  readonly #data: LongAppendData;
  #native: NativeTable | undefined;
  #before: Counted = { version: 0, rows: 0 };

  constructor(parts: EngineParts, target: WriteTarget, data: LongAppendData) {
    this.#parts = parts;
    this.#target = target;
    this.#data = data;
  }

  async prepare(): Promise<{ readonly baseVersion: number }> {
    const native = await this.#parts.tables.openPrivate(this.#target);
    this.#native = native;
    const schema = await readSchema(native);
    for (const each of this.#data.schemas) requireFit(each, schema);
    this.#before = await count(native);
    return { baseVersion: this.#before.version };
  }

  async write(): Promise<Committed<AppendedRows>> {
    const native = this.#native;
    if (native === undefined) throw new Error('The append was not prepared.');
    return storeRows(async () => this.#append(native));
  }

  close(): void {
    this.#native?.close();
  }

  async #append(native: NativeTable): Promise<Committed<AppendedRows>> {
    const { writeAttemptsMax } = this.#parts.limits;
    let { version } = this.#before;
    let commits = 0;
    const rows = await writeChunks(this.#data.source, async ({ file, rows: chunkRows }) => {
      if (chunkRows === 0) return;
      ({ version } = await retryConflicts(writeAttemptsMax, async () =>
        engineCall(async () => native.add(file, 'append')),
      ));
      commits += 1;
    });
    const after = await count(native);
    const stored = after.rows - this.#before.rows;
    // With a commit of another process in between, the difference proves nothing.
    const isComparable = after.version === this.#before.version + commits;
    if (isComparable && stored !== rows) throw new RowsMissing({ stored, rows, version });
    return { version, outcome: { rows } };
  }
}

async function count(native: NativeTable): Promise<Counted> {
  return { version: await readVersion(native), rows: await engineCall(async () => native.countRows()) };
}
