import type { CheckedStream } from '../arrow/checked-stream.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { GuardedSql } from '../model/query.ts';
import type { Schema } from '../model/schema.ts';
import { appendRows } from './append-rows.ts';
import { deleteRows } from './delete-rows.ts';
import type { DeleteOutcome } from './delete-rows.ts';
import { runHeld } from './held-write.ts';
import type { VersionHold } from './held-write.ts';
import { mergeRows } from './merge-rows.ts';
import type { MergeOutcome, MergeRequest } from './merge-rows.ts';
import { overwriteTable } from './overwrite-table.ts';
import type { EngineParts } from './parts.ts';
import { requireFit } from './schema-fit.ts';
import type { Spool } from './spool.ts';
import type { WriteTarget } from './table-writes.ts';
import { Uploads } from './uploads.ts';
import type { CompletedUpload, InsertMode, PartOptions, UploadData, UploadKey } from './uploads.ts';
import { giveBack, pullChunks } from './write-chunks.ts';
import type { ChunkSource } from './write-chunks.ts';
import type { WriteOutcome } from './write-stream.ts';

export interface InsertOptions extends VersionHold {
  readonly mode: InsertMode;
}

/** Begins to read a stream; not called when it is refused anyway. */
export type OpenStream = () => Promise<CheckedStream>;

export interface CompleteOptions extends VersionHold {
  /** Called once, after the commit; gives the id of the record, if there is one. Does not fail. */
  record(outcome: WriteOutcome): Promise<string | undefined>;
}

/** Writes of rows. Each is visible as a whole or not at all, and does not depend on how slowly its data came. */
export interface WritesEngine {
  insertRows(target: WriteTarget, stream: CheckedStream, options: InsertOptions): Promise<WriteOutcome>;
  /** The stream must come in one chunk. */
  mergeRows(target: WriteTarget, stream: CheckedStream, request: MergeRequest): Promise<MergeOutcome>;
  deleteRows(target: WriteTarget, predicate: GuardedSql): Promise<DeleteOutcome>;
  /** An insert in several requests; gives its id. */
  beginUpload(upload: Omit<UploadKey, 'id'>): Promise<string>;
  /** Gives the rows of the part; nobody sees them before the upload is completed. */
  insertPart(upload: UploadKey, open: OpenStream, options: PartOptions): Promise<number>;
  completeUpload(upload: UploadKey, options: CompleteOptions): Promise<CompletedUpload>;
  abortUpload(upload: UploadKey): Promise<void>;
  close(): Promise<void>;
}

/** How often forgotten uploads are looked for. */
const EXPIRY_MILLISECONDS = 60_000;

export function createWritesEngine(parts: EngineParts, spool: Spool): WritesEngine {
  const uploads = new Uploads({
    limits: parts.limits,
    now: () => performance.now(),
    discard: async (chunks) => spool.remove(chunks),
  });
  const expiry = setInterval(() => {
    uploads.expire().catch(() => {});
  }, EXPIRY_MILLISECONDS).unref();
  const insert = new Inserts(parts, spool);

  return {
    insertRows: async (target, stream, options) => insert.stream(target, stream, options),
    mergeRows: async (target, stream, request) => mergeStream(parts, target, stream, request),
    deleteRows: async (target, predicate) => deleteRows(parts, target, predicate),
    beginUpload: async (upload) => uploads.begin(upload),
    async insertPart(upload, open, options) {
      const part = await uploads.addPart(upload, options, async () =>
        insert.receivePart(upload.target, await open(), options),
      );
      return part.chunks.reduce((rows, chunk) => rows + chunk.rows, 0);
    },
    completeUpload: async (upload, options) =>
      uploads.complete(upload, async (data) => {
        const outcome = await insert.parts(upload.target, data, options);
        return { ...outcome, transactionId: await options.record(outcome) };
      }),
    abortUpload: async (upload) => uploads.abort(upload),
    async close() {
      clearInterval(expiry);
      await spool.close();
    },
  };
}

class Inserts {
  readonly #parts: EngineParts;
  readonly #spool: Spool;

  constructor(parts: EngineParts, spool: Spool) {
    this.#parts = parts;
    this.#spool = spool;
  }

  async stream(target: WriteTarget, stream: CheckedStream, options: InsertOptions): Promise<WriteOutcome> {
    const { schema } = stream;
    // Before a long stream is taken in only to be refused.
    if (options.mode === 'append') await this.#requireFit(target, schema);
    const source = await pullChunks(stream, 2);
    try {
      if (!source.isLong) return await this.#commit(target, { schemas: [schema], source }, options.mode, options);
      const chunks = await this.#spool.take(source);
      try {
        const spooled = await this.#spool.read(chunks);
        return await this.#commit(target, { schemas: [schema], source: spooled }, options.mode, options);
      } finally {
        await this.#spool.remove(chunks);
      }
    } finally {
      giveBack(source);
    }
  }

  async receivePart(target: WriteTarget, stream: CheckedStream, { mode }: PartOptions) {
    const { schema } = stream;
    if (mode === 'append') await this.#requireFit(target, schema);
    return { schema, chunks: await this.#spool.take(await pullChunks(stream, 0)) };
  }

  async parts(
    target: WriteTarget,
    { mode = 'append', parts }: UploadData,
    readers: VersionHold,
  ): Promise<WriteOutcome> {
    const source = await this.#spool.read(parts.flatMap(({ chunks }) => chunks));
    const data = { schemas: parts.map(({ schema }) => schema), source };
    return this.#commit(target, data, mode, readers);
  }

  async #commit(target: WriteTarget, data: CommitData, mode: InsertMode, readers: VersionHold): Promise<WriteOutcome> {
    const { lanes, connections, tables, limits, bulk } = this.#parts;
    const { schemas, source } = data;
    const [schema] = schemas;
    if (mode === 'append' || schema === undefined) return appendRows(this.#parts, target, data, readers);
    const context = { connections, tables, writeAttemptsMax: limits.writeAttemptsMax };
    const overwrite = { ...target, schema, source, storageOptions: {} };
    return runHeld(lanes, target.place, async (onFailed) =>
      bulk.run(async () => overwriteTable(context, overwrite, { ...readers, onFailed })),
    );
  }

  async #requireFit(target: WriteTarget, schema: Schema): Promise<void> {
    const { schema: tableSchema } = await this.#parts.tables.describe({ ...target, version: undefined });
    requireFit(schema, tableSchema);
  }
}

interface CommitData {
  readonly schemas: readonly Schema[];
  readonly source: ChunkSource;
}

async function mergeStream(
  parts: EngineParts,
  target: WriteTarget,
  stream: CheckedStream,
  request: MergeRequest,
): Promise<MergeOutcome> {
  const source = await pullChunks(stream, 2);
  try {
    const [chunk, second] = source.pulled;
    if (chunk === undefined) throw new Error('The stream gave no chunk, not even one for its schema.');
    if (second !== undefined) {
      await source.rest.return?.();
      throw mergeTooLarge(parts.limits.mergeBytesMax);
    }
    return await mergeRows(parts, target, { schema: stream.schema, chunk }, request);
  } finally {
    giveBack(source);
  }
}

function mergeTooLarge(bytesMax: number): ServiceError {
  return new ServiceError('PayloadTooLarge', `The rows of a merge take at most ${bytesMax} bytes, sent in one piece.`, {
    hint: 'Split them by key into several merges, with each dictionary sent once; or ask for a higher engine.mergeBytesMax.',
  });
}
