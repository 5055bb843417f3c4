import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import type { Input } from '../input.ts';

/** One message of an Arrow file or stream, with its bytes. */
export interface ArrowMessage {
  readonly kind: 'schema' | 'dictionary' | 'batch' | 'other';
  /** Of a batch. */
  readonly rows: number;
  readonly bytes: Uint8Array;
  readonly endByte: number;
}

export const MAGIC = 'ARROW1';
/**
 * The magic of a file is followed by zeros that align the first message to 8 bytes, or, with the storage engine, to 64.
 */
const FILE_HEAD_BYTES_MAX = 64;
const ALIGNMENT = 8;
/** The length of the footer, then the magic again. */
const FOOTER_TAIL_BYTES = 10;
export const CONTINUATION = 0xffffffff;
const PREFIX_BYTES = 8;
/** Old writers wrote only the length as a prefix. */
const OLD_PREFIX_BYTES = 4;
const MESSAGE_BYTES_MAX = 2 ** 30;
export const END_OF_STREAM = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

export async function isArrowFile(input: Input): Promise<boolean> {
  const head = new Uint8Array(await input.slice(0, Math.min(MAGIC.length, input.size)));
  return String.fromCharCode(...head) === MAGIC;
}

/** The messages in order, without reading their contents; of a file, those before its footer. */
export async function* readMessages(input: Input): AsyncGenerator<ArrowMessage> {
  try {
    const isFile = await isArrowFile(input);
    const end = isFile ? (await footerRange(input)).start : input.size;
    for (let at = isFile ? await firstMessageAt(input) : 0; at < end;) {
      const message = await readMessage(input, at, end);
      if (message === undefined) return;
      yield message;
      at = message.endByte;
    }
  } catch (error) {
    throw unreadableArrow(error);
  }
}

async function firstMessageAt(input: Input): Promise<number> {
  const head = new Uint8Array(await input.slice(0, Math.min(FILE_HEAD_BYTES_MAX + ALIGNMENT, input.size)));
  const start = head.findIndex((byte, at) => at >= MAGIC.length && byte !== 0);
  return start - (start % ALIGNMENT);
}

/** Some writers of files write the schema only to the footer. */
export async function startsWithSchema(input: Input): Promise<boolean> {
  try {
    for await (const { kind } of readMessages(input)) return kind === 'schema';
  } catch {
    // The reader of the whole file reports errors.
  }
  return false;
}

export async function footerRange(input: Input): Promise<{ readonly start: number; readonly end: number }> {
  const end = input.size - FOOTER_TAIL_BYTES;
  const tail = new DataView(await input.slice(Math.max(end, 0), input.size));
  const length = tail.byteLength < FOOTER_TAIL_BYTES ? -1 : tail.getInt32(0, true);
  if (length <= 0 || length > end) throw new Error('no footer');
  return { start: end - length, end };
}

/** `undefined` at the marker that ends a stream. */
async function readMessage(input: Input, at: number, end: number): Promise<ArrowMessage | undefined> {
  const prefix = new DataView(await input.slice(at, Math.min(at + PREFIX_BYTES, end)));
  const isOld = prefix.getUint32(0, true) !== CONTINUATION;
  const prefixBytes = isOld ? OLD_PREFIX_BYTES : PREFIX_BYTES;
  const headBytes = prefix.getUint32(prefixBytes - OLD_PREFIX_BYTES, true);
  if (headBytes === 0) return undefined;
  const bodyAt = at + prefixBytes + headBytes;
  if (bodyAt > end) throw new Error('cut off');
  const { kind, rows, bodyBytes } = readHead(new DataView(await input.slice(at + prefixBytes, bodyAt)));
  const endByte = bodyAt + bodyBytes;
  if (endByte > end) throw new Error('cut off');
  if (endByte - at > MESSAGE_BYTES_MAX) throw new Error('message too large');
  return { kind, rows, bytes: new Uint8Array(await input.slice(at, endByte)), endByte };
}

/** Numbers of `MessageHeader`, `Message` and `RecordBatch` in Arrow's Message.fbs. */
const KINDS: Readonly<Record<number, ArrowMessage['kind']>> = { 1: 'schema', 2: 'dictionary', 3: 'batch' };
const HEADER_TYPE = 1;
const HEADER = 2;
const BODY_LENGTH = 3;
const BATCH_LENGTH = 0;

function readHead(view: DataView) {
  const table = view.getUint32(0, true);
  const typeAt = findField(view, table, HEADER_TYPE);
  const headerAt = findField(view, table, HEADER);
  const kind = KINDS[typeAt === undefined ? 0 : view.getUint8(typeAt)] ?? 'other';
  const header = headerAt === undefined ? undefined : headerAt + view.getUint32(headerAt, true);
  const rowsAt = kind === 'batch' && header !== undefined ? findField(view, header, BATCH_LENGTH) : undefined;
  return { kind, rows: lengthAt(view, rowsAt), bodyBytes: lengthAt(view, findField(view, table, BODY_LENGTH)) };
}

/** The position of a field in a FlatBuffers table; `undefined` if it has its default value. */
export function findField(view: DataView, table: number, field: number): number | undefined {
  const offsets = table - view.getInt32(table, true);
  const entry = 4 + 2 * field;
  if (entry >= view.getUint16(offsets, true)) return undefined;
  const offset = view.getUint16(offsets + entry, true);
  return offset === 0 ? undefined : table + offset;
}

function lengthAt(view: DataView, at: number | undefined): number {
  const value = at === undefined ? 0 : Number(view.getBigInt64(at, true));
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error('a length that cannot be');
}

export function unreadableArrow(cause: unknown): ServiceError {
  // The error of the byte source is more specific.
  if (cause instanceof ServiceError) return cause;
  const text = cause instanceof Error ? cause.message : '';
  if (text.includes('compression')) {
    const hint =
      '"tiltyard import" can load it without changing columns; to change them, write the file without compression.';
    return invalidInput('The buffers of the Arrow file are compressed.', hint, cause);
  }
  if (text.includes('Unrecognized type')) {
    const hint =
      'Large lists, views, unions and run-end encoding stay as they are only from Arrow to Arrow: import an Arrow file with "tiltyard import" without changing columns, or export to Arrow or NDJSON.';
    return invalidInput('A column has a type of Arrow that cannot be converted here.', hint, cause);
  }
  if (text === 'message too large') {
    return invalidInput('The Arrow file has a batch of more than 1 GiB.', 'Write it with smaller batches.', cause);
  }
  const hint = 'Give a complete file, or choose its actual format.';
  return invalidInput('The input is not an Arrow IPC file or stream, or it is truncated.', hint, cause);
}
