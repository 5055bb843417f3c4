import { unreadableArrow, readMessages } from './arrow/arrow-messages.ts';
import type { ArrowMessage } from './arrow/arrow-messages.ts';
import type { Input } from './input.ts';
import type { RecordBatch } from 'apache-arrow';
import { toStreamBytes } from './arrow/arrow-stream.ts';
import type { Reader } from './open-reader.ts';

/**
 * An Arrow file or stream as it is, in streams of about `bytes`: each with the schema, the dictionaries so far and some
 * of the batches. Nothing is decoded, so that compressed buffers and all types of Arrow pass.
 */
export async function* splitArrow(input: Input, bounds: { readonly bytes: number }): AsyncGenerator<Part> {
  let schema: ArrowMessage | undefined;
  const dictionaries: ArrowMessage[] = [];
  let batches: ArrowMessage[] = [];
  let parts = 0;
  const close = (head: ArrowMessage): Part => {
    const part = toPart([head, ...dictionaries, ...batches]);
    batches = [];
    parts += 1;
    return part;
  };
  for await (const message of checkedMessages(input)) {
    if (message.kind === 'schema') schema ??= message;
    else if (schema === undefined) throw unreadableArrow(new Error('no schema'));
    // Batches that came before a dictionary was changed are of the one before.
    if (message.kind === 'dictionary' && batches.length > 0 && schema !== undefined) yield close(schema);
    if (message.kind === 'dictionary') dictionaries.push(message);
    if (message.kind === 'batch') batches.push(message);
    if (schema !== undefined && batches.length > 0 && sizeOf(batches) >= bounds.bytes) yield close(schema);
  }
  if (schema === undefined) throw unreadableArrow(new Error('no schema'));
  if (batches.length > 0 || parts === 0) yield close(schema);
}

async function* checkedMessages(input: Input): AsyncGenerator<ArrowMessage> {
  try {
    yield* readMessages(input);
  } catch (error) {
    throw unreadableArrow(error);
  }
}

const END_OF_STREAM = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

function toPart(messages: readonly ArrowMessage[]): Part {
  const bytes = new Uint8Array(sizeOf(messages) + END_OF_STREAM.length);
  let at = 0;
  for (const message of messages) {
    bytes.set(message.bytes, at);
    at += message.bytes.length;
  }
  bytes.set(END_OF_STREAM, at);
  const rows = messages.reduce((sum, message) => sum + message.rows, 0);
  return { bytes, rows, endByte: Math.max(...messages.map(({ endByte }) => endByte)) };
}

function sizeOf(messages: readonly ArrowMessage[]): number {
  return messages.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

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
