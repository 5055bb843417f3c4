import { needsStorageVersion22 } from '../arrow/storage-version.ts';
import type { Schema } from '../model/schema.ts';
import type { TableLocation } from '../model/table.ts';
import type { Connections } from './connections.ts';
import type { ChunkSource } from '../arrow/chunk-source.ts';
import { writeStream } from './write-stream.ts';
import type { WriteOutcome } from './write-stream.ts';

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
