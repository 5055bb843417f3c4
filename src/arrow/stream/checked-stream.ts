import { invalidInput } from '../../errors/service-error.ts';
import type { ArrowLimits } from '../../model/limits.ts';
import type { Schema } from '../../model/schema.ts';
import { HEADER_KIND } from '../format/message-header.ts';
import { readSchema } from '../schema/schema-reader.ts';
import type { ReadSchema } from '../schema/schema-reader.ts';
import { checkSchemaRules } from '../schema/schema-rules.ts';
import { BufferPool } from './buffer-pool.ts';
import type { ChunkMemory } from './buffer-pool.ts';
import { ByteSource } from './byte-source.ts';
import type { ArrowChunk } from './chunk-buffer.ts';
import { ChunkReader } from './chunk-reader.ts';
import { readMessage } from './message-reader.ts';
import type { FramedMessage } from './message-reader.ts';

export type { ArrowChunk } from './chunk-buffer.ts';

/** An Arrow IPC stream whose schema has been read, and whose batches are checked as they arrive. */
export interface CheckedStream {
  readonly schema: Schema;
  /**
   * Can be read once. Contains at least one chunk, even without batches; the last chunk follows only after the stream
   * ended properly.
   */
  readonly chunks: AsyncIterable<ArrowChunk>;
}

/** `V4` and `V5` of the enum `MetadataVersion` in the format's Schema.fbs. */
const VERSIONS: readonly number[] = [3, 4];

/**
 * Resolves when the schema has been read and checked. From then on `chunks` owns the source and closes it. No reference
 * to a piece of `bytes` is kept once the next piece is requested.
 */
export async function openArrowStream(
  bytes: AsyncIterable<Uint8Array>,
  limits: ArrowLimits,
  memory: ChunkMemory = new BufferPool(limits),
): Promise<CheckedStream> {
  const source = new ByteSource(bytes, limits.streamBytesMax);
  try {
    const message = await readMessage(source, limits, 0);
    if (message === undefined) throw invalidInput('The Arrow stream ends before its schema.');
    const read = readSchemaMessage(message, limits);
    const reader = new ChunkReader({ ...read, source, limits, memory, message });
    return { schema: read.schema, chunks: reader.read() };
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** Resolves when the first chunk has been read, so a short stream is checked to its end before anything uses it. */
export async function pullFirst({ schema, chunks }: CheckedStream): Promise<CheckedStream> {
  const rest = chunks[Symbol.asyncIterator]();
  return { schema, chunks: rejoin(await rest.next(), rest) };
}

async function* rejoin(
  first: IteratorResult<ArrowChunk>,
  rest: AsyncIterator<ArrowChunk>,
): AsyncGenerator<ArrowChunk, void, void> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

function readSchemaMessage({ header, context }: FramedMessage, limits: ArrowLimits): ReadSchema {
  if (header.kind !== HEADER_KIND.schema) context.refuse('is not a schema', 'A stream must start with its schema.');
  context.name = 'The schema';
  if (!VERSIONS.includes(header.version)) {
    context.refuse(`has the metadata version V${header.version + 1}`, 'Use version V4 or V5.');
  }
  if (header.bodyBytes !== 0) context.refuse(`has a body of ${header.bodyBytes} bytes`, 'A schema must have none.');
  const read = readSchema(header.flatbuffer, header.table, limits);
  checkSchemaRules(read.schema);
  return read;
}
