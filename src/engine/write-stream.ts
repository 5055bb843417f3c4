import { ServiceError } from '../errors/service-error.ts';
import { engineCall, isPanic } from './engine-errors.ts';
import type { NativeTable } from './native.ts';
import { writeChunks } from '../arrow/chunk-source.ts';
import type { ChunkSource } from '../arrow/chunk-source.ts';

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
  if (stored !== rows) throw new RowsMissing(stored, rows);
  return { version: await engineCall(async () => native.version()), rows };
}

/** The commit was made, with fewer rows than were sent. */
export class RowsMissing extends ServiceError {
  constructor(stored: number, rows: number) {
    super('InvalidInput', MALFORMED, { cause: new Error(`The engine stored ${stored} of ${rows} rows.`) });
  }
}

const MALFORMED = 'A record batch of the Arrow stream is malformed.';

export function malformedBatch(cause: unknown): ServiceError {
  return new ServiceError('InvalidInput', MALFORMED, { cause });
}
