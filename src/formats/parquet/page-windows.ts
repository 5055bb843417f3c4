import type { Input } from '../input.ts';
import type { Chunk, Leaf, Piece } from './parquet-layout.ts';
import {
  I32,
  boolField,
  integerField,
  joinBytes,
  readInteger,
  readStruct,
  structField,
  writeStruct,
} from './thrift.ts';
import type { ThriftField, ThriftStruct } from './thrift.ts';

/** Numbers of fields, page types and encodings in Parquet's parquet.thrift. */
const PAGE = { type: 1, plainBytes: 2, bytes: 3, data: 5, dictionary: 7, dataV2: 8 } as const;
const VALUES = 1;
const PAGE_TYPE = { data: 0, dictionary: 2, dataV2: 3 } as const;
const V2 = {
  values: 1,
  nulls: 2,
  rows: 3,
  encoding: 4,
  definitionBytes: 5,
  repetitionBytes: 6,
  isCompressed: 7,
} as const;
const PLAIN = 0;

/** The maximum per window, however small the values are. */
const WINDOW_VALUES = 2 * 1024 * 1024;
/** Read at a time to find the header of a page, whose statistics may be long. */
const HEADER_BYTES_MAX = 16 * 1024 * 1024;
const READ_BYTES = 2 * 1024 * 1024;

export interface Window extends Piece {
  /** Whether the first value is a filler that does not belong to the file. */
  readonly hasFiller: boolean;
}

/**
 * Splits a chunk of any size into windows of a few pages, each of about the wanted size. A list may continue on the
 * next page, so all windows except the first begin with a filler: a row with one value. If the first list of a window
 * is longer, it continues the last list of the previous window.
 */
export async function* readWindows(input: Input, chunk: Chunk, windowBytes: number): AsyncGenerator<Window> {
  const isList = chunk.leaf.repetitionMax > 0;
  let dictionary: Uint8Array | undefined;
  let pages: Page[] = [];
  let isFirst = true;
  const close = (): Window => {
    const filler = isList && !isFirst ? makeFiller(chunk.leaf) : undefined;
    const head = [...(dictionary === undefined ? [] : [dictionary]), ...(filler === undefined ? [] : [filler])];
    const window = {
      parts: [...head, ...pages.map(({ bytes }) => bytes)],
      values: sum(pages, ({ values }) => values) + (filler === undefined ? 0 : 1),
      dictionaryAt: dictionary === undefined ? undefined : 0,
      dataAt: dictionary?.length ?? 0,
      hasFiller: filler !== undefined,
    };
    pages = [];
    isFirst = false;
    return window;
  };
  for await (const page of readPages(input, chunk)) {
    if (page.type === PAGE_TYPE.dictionary) dictionary = page.bytes;
    if (page.type !== PAGE_TYPE.data && page.type !== PAGE_TYPE.dataV2) continue;
    pages.push(page);
    const isFull =
      sum(pages, ({ plainBytes }) => plainBytes) >= windowBytes || sum(pages, ({ values }) => values) >= WINDOW_VALUES;
    if (isFull) yield close();
  }
  if (pages.length > 0) yield close();
}

interface Page {
  readonly type: number;
  /** Includes the header. */
  readonly bytes: Uint8Array;
  readonly plainBytes: number;
  readonly values: number;
}

async function* readPages(input: Input, { start, bytes: length }: Chunk): AsyncGenerator<Page> {
  const end = start + length;
  let buffer = new Uint8Array();
  let bufferAt = start;
  /** At least this many bytes from a position on, or all that there are. */
  const load = async (at: number, wanted: number): Promise<Uint8Array> => {
    if (at + wanted > bufferAt + buffer.length) {
      bufferAt = at;
      buffer = new Uint8Array(await input.slice(at, Math.min(end, at + Math.max(wanted, READ_BYTES))));
    }
    return buffer.subarray(at - bufferAt);
  };
  for (let at = start; at < end;) {
    const { fields, end: headBytes } = await readHead(async (wanted) => load(at, wanted), end - at);
    const pageBytes = headBytes + (readInteger(fields.get(PAGE.bytes)) ?? 0);
    const bytes = (await load(at, pageBytes)).subarray(0, pageBytes);
    if (pageBytes <= headBytes - 1 || bytes.length < pageBytes) throw new Error('a page that is cut off');
    const type = readInteger(fields.get(PAGE.type)) ?? 0;
    yield { type, bytes, plainBytes: readInteger(fields.get(PAGE.plainBytes)) ?? 0, values: valuesOf(fields, type) };
    at += pageBytes;
  }
}

async function readHead(load: (wanted: number) => Promise<Uint8Array>, available: number) {
  for (let wanted = 1024; ; wanted *= 8) {
    const bytes = await load(Math.min(wanted, available));
    try {
      return readStruct(bytes);
    } catch (error) {
      if (wanted >= available || wanted >= HEADER_BYTES_MAX) throw error;
    }
  }
}

function valuesOf(fields: ThriftStruct, type: number): number {
  const header = fields.get(type === PAGE_TYPE.dataV2 ? PAGE.dataV2 : PAGE.data);
  return header === undefined ? 0 : (readInteger(readStruct(header.raw).fields.get(VALUES)) ?? 0);
}

/** A page with one row and one value, uncompressed whatever the chunk's codec. */
function makeFiller({ type, typeLength, definitionMax }: Leaf): Uint8Array {
  // Levels are runs of one value: 1 << 1, and the level.
  const levels = Uint8Array.of(2, 0, 2, definitionMax);
  const body = joinBytes([levels, new Uint8Array(BYTES_OF_TYPES[type] ?? typeLength)]);
  const header = new Map([
    [V2.values, integer(1)],
    [V2.nulls, integer(0)],
    [V2.rows, integer(1)],
    [V2.encoding, integer(PLAIN)],
    [V2.definitionBytes, integer(2)],
    [V2.repetitionBytes, integer(2)],
    [V2.isCompressed, boolField(false)],
  ]);
  const page = new Map([
    [PAGE.type, integer(PAGE_TYPE.dataV2)],
    [PAGE.plainBytes, integer(body.length)],
    [PAGE.bytes, integer(body.length)],
    [PAGE.dataV2, structField(header)],
  ]);
  return joinBytes([writeStruct(page), body]);
}

function integer(value: number): ThriftField {
  return integerField(value, I32);
}

/** The size of a plain value, by its type number; for fixed length it is absent, and a text is only its length, 0. */
const BYTES_OF_TYPES: readonly (number | undefined)[] = [1, 4, 8, 12, 4, 8, 4];

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
