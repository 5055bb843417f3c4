import type { RecordBatch } from 'apache-arrow';
import { toStreamBytes } from './arrow-stream.ts';
import type { Reader } from './open-reader.ts';

/** What one request can carry: a whole Arrow stream. */
export interface Part {
  readonly bytes: Uint8Array;
  readonly rows: number;
  /** Bytes of the input that were read up to its end. */
  readonly endByte: number;
}

export interface PartBounds {
  readonly rows: number;
  readonly bytes: number;
}

/** The rows in parts of a bounded size, cut in the same way whenever they are read. A file without rows is one part. */
export async function* readParts(reader: Reader, bounds: PartBounds): AsyncGenerator<Part> {
  let batches: RecordBatch[] = [];
  let [rows, bytes, endByte, parts] = [0, 0, 0, 0];
  const close = (): Part => {
    const part = { bytes: toStreamBytes(reader.schema, batches), rows, endByte };
    batches = [];
    rows = 0;
    bytes = 0;
    parts += 1;
    return part;
  };
  for await (const next of reader.batches()) {
    if (rows > 0 && rows + next.rows > bounds.rows) yield close();
    batches.push(next.batch);
    rows += next.rows;
    bytes += next.batch.data.byteLength;
    endByte = next.endByte;
    if (bytes >= bounds.bytes) yield close();
  }
  if (rows > 0 || parts === 0) yield close();
}
