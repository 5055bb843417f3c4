import type { RecordBatch } from 'apache-arrow';
import { END_OF_STREAM, readMessages, unreadableArrow } from './arrow/arrow-messages.ts';
import type { ArrowMessage } from './arrow/arrow-messages.ts';
import { toStreamBytes } from './arrow/arrow-stream.ts';
import type { Input } from './input.ts';
import type { Reader } from './open-reader.ts';

/** The body of one request: a complete Arrow stream. */
export interface Part {
  readonly bytes: Uint8Array;
  readonly rows: number;
  /** The same stream without its rows. */
  readonly toEmpty: () => Uint8Array;
  /** How many bytes of the input had been read at its end. */
  readonly endByte: number;
}

export interface PartBounds {
  readonly rows: number;
  readonly bytes: number;
}

/** The rows in parts of bounded size, always cut at the same rows. A file without rows is one part. */
export async function* readParts(reader: Reader, bounds: PartBounds): AsyncGenerator<Part> {
  let batches: RecordBatch[] = [];
  let [rows, bytes, endByte, parts] = [0, 0, 0, 0];
  const close = (): Part => {
    const toEmpty = (): Uint8Array => toStreamBytes(reader.schema, []);
    const part = { bytes: toStreamBytes(reader.schema, batches), rows, toEmpty, endByte };
    batches = [];
    rows = 0;
    bytes = 0;
    parts += 1;
    return part;
  };
  for await (const next of reader.batches()) {
    const { batch } = next;
    if (rows > 0 && rows + batch.numRows > bounds.rows) yield close();
    batches.push(batch);
    rows += batch.numRows;
    bytes += batch.data.byteLength;
    endByte = next.endByte;
    if (bytes >= bounds.bytes) yield close();
  }
  if (rows > 0 || parts === 0) yield close();
}

/**
 * Splits an Arrow file or stream into streams of about `bytes`, each with the schema, the dictionaries so far and some
 * of the batches. Nothing is decoded, so compressed buffers and all Arrow types are supported.
 */
export async function* splitArrow(input: Input, bounds: Pick<PartBounds, 'bytes'>): AsyncGenerator<Part> {
  let schema: ArrowMessage | undefined;
  const dictionaries: ArrowMessage[] = [];
  let batches: ArrowMessage[] = [];
  let parts = 0;
  const close = (head: ArrowMessage): Part => {
    const part = toPart([head, ...dictionaries], batches);
    batches = [];
    parts += 1;
    return part;
  };
  for await (const message of readMessages(input)) {
    if (message.kind === 'schema') schema ??= message;
    if (schema === undefined) break;
    if (message.kind === 'dictionary') {
      // Earlier batches belong to the dictionaries before this one.
      if (batches.length > 0) yield close(schema);
      dictionaries.push(message);
    }
    if (message.kind === 'batch') batches.push(message);
    if (batches.length > 0 && sizeOf(batches) >= bounds.bytes) yield close(schema);
  }
  if (schema === undefined) throw unreadableArrow(new Error('no schema'));
  if (batches.length > 0 || parts === 0) yield close(schema);
}

function toPart(head: readonly ArrowMessage[], batches: readonly ArrowMessage[]): Part {
  const messages = [...head, ...batches];
  const rows = messages.reduce((sum, message) => sum + message.rows, 0);
  const endByte = Math.max(...messages.map((message) => message.endByte));
  return { bytes: joinMessages(messages), rows, toEmpty: () => joinMessages(head), endByte };
}

function joinMessages(messages: readonly ArrowMessage[]): Uint8Array {
  const bytes = new Uint8Array(sizeOf(messages) + END_OF_STREAM.length);
  let at = 0;
  for (const message of messages) {
    bytes.set(message.bytes, at);
    at += message.bytes.length;
  }
  bytes.set(END_OF_STREAM, at);
  return bytes;
}

function sizeOf(messages: readonly ArrowMessage[]): number {
  return messages.reduce((sum, { bytes }) => sum + bytes.length, 0);
}
