import { releaseChunks, pullChunks } from '../../arrow/stream/chunk-source.ts';
import type { ChunkSource } from '../../arrow/stream/chunk-source.ts';
import type { CheckedStream } from '../../arrow/stream/checked-stream.ts';
import type { AppendedRows, Engine, WriteTarget } from '../../engine/engine.ts';
import type { Schema } from '../../model/schema.ts';
import type { MultiCommitPipeline } from '../multi-commit.ts';
import type { Spool, SpooledChunk } from './spool.ts';
import type { Fields, Growth, JournaledWrite, MultiCommitWrite, WriteResult } from '../write.ts';
import type { WritePipeline } from '../write-pipeline.ts';

/** `replace` replaces all rows, but keeps columns and indexes. */
export type InsertMode = 'append' | 'overwrite' | 'replace';

/** Rows for an existing table: appended, or replacing all of its rows. */
export interface RowsWrite extends JournaledWrite {
  readonly mode: InsertMode;
  /** For an overwrite. */
  readonly storageOptions?: Readonly<Record<string, string>>;
  toFields(outcome: AppendedRows): Fields;
}

/** Rows that are written in several commits, however few they are. */
export interface WholeWrite extends RowsWrite, Pick<MultiCommitWrite<AppendedRows>, 'confirm'> {}

/** One stream of an upload. */
export interface UploadPart {
  readonly schema: Schema;
  readonly chunks: readonly SpooledChunk[];
}

export interface InsertParts {
  readonly engine: Engine;
  readonly pipeline: WritePipeline;
  readonly multiCommit: MultiCommitPipeline;
  readonly spool: Spool;
}

/**
 * Inserts streams of rows. A stream that fits into a chunk is one commit; a longer one is spooled to disk until it is
 * complete.
 */
export class Inserts {
  readonly #parts: InsertParts;

  constructor(parts: InsertParts) {
    this.#parts = parts;
  }

  async insert(write: RowsWrite, stream: CheckedStream): Promise<WriteResult> {
    const { engine, spool } = this.#parts;
    const { table, branch, mode } = write;
    const { schema } = stream;
    const source = await pullChunks(stream, 2);
    try {
      if (!source.isLong) return await this.#insertChunk(write, schema, source);
      // Check before a long stream is received, only to be refused.
      if (mode === 'append') await engine.requireFit({ location: table.location, branch }, schema);
      const chunks = await spool.take(source, write.request.caller);
      try {
        return await this.insertParts(write, [{ schema, chunks }]);
      } finally {
        await spool.remove(chunks);
      }
    } finally {
      releaseChunks(source);
    }
  }

  /** Takes the path of several commits however few rows there are: any failure restores the version before it. */
  async insertWhole(write: WholeWrite, stream: CheckedStream): Promise<WriteResult> {
    const { spool } = this.#parts;
    const { schema } = stream;
    const chunks = await spool.take(await pullChunks(stream, 0), write.request.caller);
    try {
      return await this.insertParts(write, [{ schema, chunks }]);
    } finally {
      await spool.remove(chunks);
    }
  }

  /** Spools a part of an upload until the other parts have arrived. */
  async receivePart(
    { target, caller }: { readonly target: WriteTarget; readonly caller: string },
    stream: CheckedStream,
    mode: InsertMode,
  ): Promise<UploadPart> {
    if (mode === 'append') await this.#parts.engine.requireFit(target, stream.schema);
    return { schema: stream.schema, chunks: await this.#parts.spool.take(await pullChunks(stream, 0), caller) };
  }

  async insertParts(write: WholeWrite, parts: readonly UploadPart[]): Promise<WriteResult> {
    const { engine, multiCommit, spool } = this.#parts;
    const { table, branch, mode, storageOptions = {} } = write;
    const { location } = table;
    const source = await spool.read(parts.flatMap(({ chunks }) => chunks));
    const schemas = parts.map(({ schema }) => schema);
    // An overwrite takes its columns from the first part with rows.
    const filled = parts.filter(({ chunks }) => chunks.some(({ rows }) => rows > 0)).map((part) => part.schema);
    const [schema = schemas[0], ...laterSchemas] = filled;
    const plan =
      mode !== 'overwrite' || schema === undefined
        ? engine.commits.longAppend({ location, branch }, { schemas, source, replacesRows: mode === 'replace' })
        : engine.commits.longOverwrite({ location, branch, schema, laterSchemas, source, storageOptions });
    const growth = measureChunks(
      parts.flatMap(({ chunks }) => chunks),
      mode,
    );
    return multiCommit.run({ ...write, plan, growth });
  }

  async #insertChunk(write: RowsWrite, schema: Schema, source: ChunkSource): Promise<WriteResult> {
    const { engine, pipeline } = this.#parts;
    const { table, branch, mode, storageOptions = {} } = write;
    const [chunk] = source.pulled;
    if (chunk === undefined) throw new Error('The stream gave no chunk, not even one for its schema.');
    const plan =
      mode === 'append'
        ? engine.commits.append({ schema, chunk })
        : engine.commits.overwrite({ location: table.location, branch, schema, source, storageOptions });
    const growth = { rows: chunk.rows, bytes: chunk.file.length, replacesAll: mode === 'overwrite' };
    return pipeline.run({ ...write, plan, growth, rule: { from: 'nothing' } });
  }
}

function measureChunks(chunks: readonly Pick<SpooledChunk, 'rows' | 'bytes'>[], mode: InsertMode): Growth {
  const sum = (field: 'rows' | 'bytes'): number => chunks.reduce((total, chunk) => total + chunk[field], 0);
  return { rows: sum('rows'), bytes: sum('bytes'), replacesAll: mode !== 'append' };
}
