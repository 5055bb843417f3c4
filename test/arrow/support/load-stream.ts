import { openArrowStream } from '../../../src/arrow/stream/checked-stream.ts';
import type { ArrowChunk } from '../../../src/arrow/stream/checked-stream.ts';
import { needsStorageVersion22 } from '../../../src/arrow/schema/schema-rules.ts';
import type { ArrowLimits } from '../../../src/model/limits.ts';
import type { Schema } from '../../../src/model/schema.ts';
import { ARROW_LIMITS, whole } from '../../support/arrow-fixtures.ts';
import type { NativeEngine, NativeTable } from './native-engine.ts';

export interface Loaded {
  readonly schema: Schema;
  readonly table: NativeTable;
  readonly rows: number;
  readonly chunks: number;
}

/** Loads a stream as the service does: the first chunk creates the table, the others are added. */
export async function loadStream(
  engine: NativeEngine,
  source: AsyncIterable<Uint8Array>,
  limits: ArrowLimits = ARROW_LIMITS,
): Promise<Loaded> {
  const { schema, chunks } = await openArrowStream(source, limits);
  let table: NativeTable | undefined;
  let rows = 0;
  let count = 0;
  for await (const chunk of chunks) {
    if (table === undefined) table = await engine.create(chunk.file, needsStorageVersion22(schema) ? '2.2' : undefined);
    else await table.add(chunk.file, 'append');
    rows += chunk.rows;
    count += 1;
    chunk.release();
  }
  if (table === undefined) throw new Error('no chunk came');
  return { schema, table, rows, chunks: count };
}

/** The chunks of a stream, copied so that they outlive their buffers. */
export async function collectChunks(
  bytes: Uint8Array,
  limits: ArrowLimits = ARROW_LIMITS,
): Promise<readonly ArrowChunk[]> {
  const { chunks } = await openArrowStream(whole(bytes), limits);
  const collected: ArrowChunk[] = [];
  for await (const chunk of chunks) {
    collected.push({ ...chunk, file: Buffer.from(chunk.file) });
    chunk.release();
  }
  return collected;
}
