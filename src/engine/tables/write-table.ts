import { needsStorageVersion22 } from '../../arrow/schema/schema-rules.ts';
import type { ArrowChunk } from '../../arrow/stream/checked-stream.ts';
import { writeChunks } from '../../arrow/stream/chunk-source.ts';
import type { ChunkSource } from '../../arrow/stream/chunk-source.ts';
import type { Schema } from '../../model/schema.ts';
import type { TableLocation } from '../../model/table.ts';
import type { Connections } from '../native/connections.ts';
import { RowsMissing, engineCall, storeRows } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';
import { readVersion } from './table-handle.ts';

/** The data of a table, or of a new version of it. */
export interface TableData {
  readonly location: TableLocation;
  readonly schema: Schema;
  readonly source: ChunkSource;
  readonly storageOptions: Readonly<Record<string, string>>;
}

export interface WriteOutcome {
  readonly version: number;
  readonly rows: number;
}

/** The location must be new: it has no reader before the last chunk is written, and a failure removes its files. */
export async function createTable(connections: Connections, data: TableData): Promise<WriteOutcome> {
  const { location, source } = data;
  const options = { mode: 'create', storageOptions: withStorageVersion(data) } as const;
  try {
    return await writeStream(source, async ({ file }) => connections.writeTable(location, file, options));
  } catch (error) {
    // Report the first failure, not that of the removal; the sweep finds what is left.
    await connections.dropTable(location).catch(() => {});
    throw error;
  }
}

/** Some types need a newer storage format than the engine's default. */
export function withStorageVersion({ schema, storageOptions }: TableData): Readonly<Record<string, string>> {
  if (!needsStorageVersion22(schema)) return storageOptions;
  return { ...storageOptions, new_table_data_storage_version: '2.2' };
}

/**
 * Writes a whole stream, one version for each chunk, and verifies that every row was stored. `begin` writes the first
 * chunk.
 */
export async function writeStream(
  source: ChunkSource,
  begin: (chunk: ArrowChunk) => Promise<NativeTable>,
): Promise<WriteOutcome> {
  let native: NativeTable | undefined;
  try {
    return await storeRows(async () => {
      const rows = await writeChunks(source, async (chunk) => {
        const { file, batches } = chunk;
        const opened = native;
        if (opened === undefined) native = await begin(chunk);
        // The engine refuses to add nothing.
        else if (batches > 0) await engineCall(async () => opened.add(file, 'append'));
      });
      return requireAllRows(native, rows);
    });
  } finally {
    native?.close();
  }
}

async function requireAllRows(native: NativeTable | undefined, rows: number): Promise<WriteOutcome> {
  if (native === undefined) throw new Error('The stream gave no chunk, not even one for its schema.');
  const stored = await engineCall(async () => native.countRows());
  const version = await readVersion(native);
  if (stored !== rows) throw new RowsMissing({ stored, rows, version });
  return { version, rows };
}
