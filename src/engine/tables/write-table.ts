import { needsStorageVersion22 } from '../../arrow/schema/type-rules.ts';
import type { Schema } from '../../model/schema.ts';
import type { TableLocation } from '../../model/table.ts';
import type { Connections } from '../native/connections.ts';
import type { ChunkSource } from '../../arrow/stream/chunk-source.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { engineCall, isPanic } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import { writeChunks } from '../../arrow/stream/chunk-source.ts';

/** The data of a table, or of a new version of it. */
export interface TableData {
  readonly location: TableLocation;
  readonly schema: Schema;
  readonly source: ChunkSource;
  readonly storageOptions: Readonly<Record<string, string>>;
}

/** The location is fresh: nobody reads it before the last chunk is in, and what a failure leaves there is removed. */
export async function createTable(connections: Connections, data: TableData): Promise<WriteOutcome> {
  const { location, source } = data;
  const options = { mode: 'create', storageOptions: withStorageVersion(data) } as const;
  try {
    return await writeStream(source, async (file) => connections.writeTable(location, file, options));
  } catch (error) {
    // The caller hears why the create failed, not that tidying up did, too; the sweep finds what is left.
    await connections.dropTable(location).catch(() => {});
    throw error;
  }
}

/** Some types need a newer storage format than the one that the engine takes by itself. */
export function withStorageVersion({ schema, storageOptions }: TableData): Readonly<Record<string, string>> {
  if (!needsStorageVersion22(schema)) return storageOptions;
  return { ...storageOptions, new_table_data_storage_version: '2.2' };
}

export interface WriteOutcome {
  readonly version: number;
  readonly rows: number;
}

/** Makes the table, or a new version of it, from the first chunk. */
export type BeginTable = (file: Buffer) => Promise<NativeTable>;

/** Writes a whole stream, one version for each chunk, and makes sure that every row of it arrived. */
export async function writeStream(source: ChunkSource, begin: BeginTable): Promise<WriteOutcome> {
  let native: NativeTable | undefined;
  try {
    const rows = await writeChunks(source, async ({ file, batches }) => {
      native = await storeChunk(native, { file, batches }, begin);
    });
    return await requireAllRows(native, rows);
  } catch (error) {
    // Nothing but the bytes of a batch makes the engine panic here.
    throw isPanic(error) ? malformedBatch(error) : error;
  } finally {
    native?.close();
  }
}

interface StoredChunk {
  readonly file: Buffer;
  readonly batches: number;
}

async function storeChunk(
  native: NativeTable | undefined,
  { file, batches }: StoredChunk,
  begin: BeginTable,
): Promise<NativeTable> {
  if (native === undefined) return begin(file);
  // The engine refuses to add nothing.
  if (batches > 0) await engineCall(async () => native.add(file, 'append'));
  return native;
}

/** A malformed batch can end the engine's reading early without an error; it then has fewer rows than were sent. */
async function requireAllRows(native: NativeTable | undefined, rows: number): Promise<WriteOutcome> {
  if (native === undefined) throw new Error('The stream gave no chunk, not even one for its schema.');
  const stored = await engineCall(async () => native.countRows());
  const version = await engineCall(async () => native.version());
  if (stored !== rows) throw new RowsMissing({ stored, rows, version });
  return { version, rows };
}

/** The commit was made, with fewer rows than were sent. */
export class RowsMissing extends ServiceError {
  readonly version: number;

  constructor({ stored, rows, version }: { readonly stored: number; readonly rows: number; readonly version: number }) {
    super('InvalidInput', MALFORMED, { cause: new Error(`The engine stored ${stored} of ${rows} rows.`) });
    this.version = version;
  }
}

const MALFORMED = 'A record batch of the Arrow stream is malformed.';

export function malformedBatch(cause: unknown): ServiceError {
  return new ServiceError('InvalidInput', MALFORMED, { cause });
}
