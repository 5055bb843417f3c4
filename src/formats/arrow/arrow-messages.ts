import type { Input } from '../input.ts';
import { ServiceError } from '../../errors/service-error.ts';

/** One message of an Arrow file or stream, with the bytes that it has there. */
export interface ArrowMessage {
  readonly kind: 'schema' | 'dictionary' | 'batch' | 'other';
  /** Of a batch. */
  readonly rows: number;
  readonly bytes: Uint8Array;
  readonly endByte: number;
}

const MAGIC = 'ARROW1';
/** The magic of a file, and two bytes that align what follows. */
const FILE_HEAD_BYTES = 8;
/** The length of the footer, and the magic again. */
export const FOOTER_TAIL_BYTES = 10;
const CONTINUATION = 0xffffffff;
const PREFIX_BYTES = 8;
/** Those of old writers begin with the length alone. */
const OLD_PREFIX_BYTES = 4;
const MESSAGE_BYTES_MAX = 2 ** 30;

export async function isArrowFile(input: Input): Promise<boolean> {
  const head = new Uint8Array(await input.slice(0, Math.min(MAGIC.length, input.size)));
  return String.fromCharCode(...head) === MAGIC;
}

/** The messages in their order, their contents unread: of a file, those in front of its footer. */
export async function* readMessages(input: Input): AsyncGenerator<ArrowMessage> {
  const isFile = await isArrowFile(input);
  const end = isFile ? input.size - FOOTER_TAIL_BYTES - (await footerLength(input)) : input.size;
  for (let at = isFile ? FILE_HEAD_BYTES : 0; at < end;) {
    const message = await readMessage(input, at, end);
    if (message === undefined) return;
    yield message;
    at = message.endByte;
  }
}

/** Some writers of files leave the schema out in front, and have it in the footer alone. */
export async function startsWithSchema(input: Input): Promise<boolean> {
  try {
    for await (const { kind } of readMessages(input)) return kind === 'schema';
  } catch {
    // What is wrong with it, whoever reads the whole will say.
  }
  return false;
}

/** Bytes of the footer of a file. */
export async function footerLength(input: Input): Promise<number> {
  const end = input.size - FOOTER_TAIL_BYTES;
  const tail = new DataView(await input.slice(Math.max(end, 0), input.size));
  const length = tail.byteLength < FOOTER_TAIL_BYTES ? -1 : tail.getInt32(0, true);
  if (length <= 0 || length > end) throw new Error('no footer');
  return length;
}

/** `undefined` at the mark that ends a stream. */
async function readMessage(input: Input, at: number, end: number): Promise<ArrowMessage | undefined> {
  const prefix = new DataView(await input.slice(at, Math.min(at + PREFIX_BYTES, end)));
  const isOld = prefix.getUint32(0, true) !== CONTINUATION;
  const prefixBytes = isOld ? OLD_PREFIX_BYTES : PREFIX_BYTES;
  const headBytes = prefix.getUint32(prefixBytes - OLD_PREFIX_BYTES, true);
  if (headBytes === 0) return undefined;
  const bodyAt = at + prefixBytes + headBytes;
  if (bodyAt > end) throw new Error('cut off');
  const head = readHead(new DataView(await input.slice(at + prefixBytes, bodyAt)));
  const endByte = bodyAt + head.bodyBytes;
  if (endByte > end) throw new Error('cut off');
  if (endByte - at > MESSAGE_BYTES_MAX) throw new Error('message too large');
  return { kind: head.kind, rows: head.rows, bytes: new Uint8Array(await input.slice(at, endByte)), endByte };
}

/** Numbers of `MessageHeader`, `Message` and `RecordBatch` in Arrow's Message.fbs. */
const KINDS: Readonly<Record<number, ArrowMessage['kind']>> = { 1: 'schema', 2: 'dictionary', 3: 'batch' };
const HEADER_TYPE = 1;
const HEADER = 2;
const BODY_LENGTH = 3;
const BATCH_LENGTH = 0;

function readHead(view: DataView) {
  const table = view.getUint32(0, true);
  const [typeAt, headerAt, bodyAt] = [HEADER_TYPE, HEADER, BODY_LENGTH].map((field) => placeOf(view, table, field));
  const kind = KINDS[typeAt === undefined ? 0 : view.getUint8(typeAt)] ?? 'other';
  const header = headerAt === undefined ? undefined : headerAt + view.getUint32(headerAt, true);
  const rowsAt = kind === 'batch' && header !== undefined ? placeOf(view, header, BATCH_LENGTH) : undefined;
  return { kind, rows: longAt(view, rowsAt), bodyBytes: longAt(view, bodyAt) };
}

/** Where a FlatBuffers table keeps a field; `undefined` when it has its default. */
function placeOf(view: DataView, table: number, field: number): number | undefined {
  const offsets = table - view.getInt32(table, true);
  const entry = 4 + 2 * field;
  if (entry >= view.getUint16(offsets, true)) return undefined;
  const offset = view.getUint16(offsets + entry, true);
  return offset === 0 ? undefined : table + offset;
}

function longAt(view: DataView, place: number | undefined): number {
  const value = place === undefined ? 0 : Number(view.getBigInt64(place, true));
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error('a length that cannot be');
}

/** What is wrong with an Arrow file, in plain words. */
export function unreadableArrow(error: unknown): ServiceError {
  const text = error instanceof Error ? error.message : '';
  if (text.includes('compression')) {
    return new ServiceError('InvalidInput', 'The buffers of the Arrow file are compressed.', {
      hint: 'With its columns as they are, "tiltyard import" loads it; to change them, write it without compression.',
      cause: error,
    });
  }
  if (text.includes('Unrecognized type')) {
    return new ServiceError('InvalidInput', 'The Arrow file has a column of a type that is not read here.', {
      hint: 'Lists of 64-bit offsets, views, unions and run-end encoding cannot be changed on the way; with its columns as they are, "tiltyard import" loads the file if the server takes them.',
      cause: error,
    });
  }
  if (text === 'message too large') {
    return new ServiceError('InvalidInput', 'The Arrow file has a batch of more than 1 GiB.', {
      hint: 'Write it with smaller batches.',
      cause: error,
    });
  }
  return new ServiceError('InvalidInput', 'The input is not an Arrow IPC file or stream, or it is cut off.', {
    hint: 'Give a whole file, or the format that it has.',
    cause: error,
  });
}
