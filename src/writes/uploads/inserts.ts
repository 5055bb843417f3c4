import { releaseChunks, pullChunks } from '../../arrow/stream/chunk-source.ts';
import type { ChunkSource } from '../../arrow/stream/chunk-source.ts';
import type { CheckedStream } from '../../arrow/stream/checked-stream.ts';
import type { AppendedRows, Engine, WriteTarget } from '../../engine/engine.ts';
import type { Schema } from '../../model/schema.ts';
import type { MultiCommitPipeline } from '../multi-commit.ts';
import type { Spool } from './spool.ts';
import type { InsertMode, UploadData, UploadPart } from './uploads.ts';
import type { JournaledWrite, WriteResult } from '../write.ts';
import type { WritePipeline } from '../write-pipeline.ts';

/** Rows for an existing table: appended, or replacing all that it has. */
export interface RowsWrite extends JournaledWrite {
  readonly mode: InsertMode;
  /** Of an overwrite. */
  readonly storageOptions?: Readonly<Record<string, string>>;
  toFields(outcome: AppendedRows): Readonly<Record<string, unknown>>;
}

export interface InsertParts {
  readonly engine: Engine;
  readonly pipeline: WritePipeline;
  readonly multiCommit: MultiCommitPipeline;
  readonly spool: Spool;
}

/** Streams of rows. One that fits into a chunk is one commit; a longer one waits on disk until all of it has arrived. */
export class Inserts {
  readonly #parts: InsertParts;

  constructor(parts: InsertParts) {
    this.#parts = parts;
  }

  async insert(write: RowsWrite, stream: CheckedStream): Promise<WriteResult> {
    const source = await pullChunks(stream, 2);
    try {
      if (!source.isLong) return await this.#insertChunk(write, stream.schema, source);
      // Before a long stream is taken in only to be refused.
      await this.#requireFit(write, write.mode, stream.schema);
      const chunks = await this.#parts.spool.take(source);
      try {
        return await this.#insertLong(write, [stream.schema], await this.#parts.spool.read(chunks));
      } finally {
        await this.#parts.spool.remove(chunks);
      }
    } finally {
      releaseChunks(source);
    }
  }

  /** A part of an upload waits on disk for the others. */
  async receivePart(target: WriteTarget, stream: CheckedStream, mode: InsertMode): Promise<UploadPart> {
    if (mode === 'append') await this.#parts.engine.requireFit(target, stream.schema);
    return { schema: stream.schema, chunks: await this.#parts.spool.take(await pullChunks(stream, 0)) };
  }

  async insertParts(write: Omit<RowsWrite, 'mode'>, { mode = 'append', parts }: UploadData): Promise<WriteResult> {
    const source = await this.#parts.spool.read(parts.flatMap(({ chunks }) => chunks));
    return this.#insertLong(
      { ...write, mode },
      parts.map(({ schema }) => schema),
      source,
    );
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
    return pipeline.run({ ...write, plan, rule: { from: 'nothing' } });
  }

  async #insertLong(write: RowsWrite, schemas: readonly Schema[], source: ChunkSource): Promise<WriteResult> {
    const { engine, multiCommit } = this.#parts;
    const { table, branch, mode, storageOptions = {} } = write;
    const { location } = table;
    const [schema] = schemas;
    const plan =
      mode === 'append' || schema === undefined
        ? engine.commits.longAppend({ location, branch }, { schemas, source })
        : engine.commits.longOverwrite({ location, branch, schema, source, storageOptions });
    return multiCommit.run({ ...write, plan });
  }

  async #requireFit({ table, branch }: JournaledWrite, mode: InsertMode, schema: Schema): Promise<void> {
    if (mode === 'append') await this.#parts.engine.requireFit({ location: table.location, branch }, schema);
  }
}
