import { StringDecoder } from 'node:string_decoder';
import { VIEW_BYTES, readInteger, readOffset, offsetBytes } from '../format/column-layout.ts';
import { jsonWriter, structWriter, toKey, writeRows } from './json-rows.ts';
import type { FindDictionary } from './json-rows.ts';
import { bytesReader, isValid, itemStarts } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';
import type { Framing } from './result-framing.ts';

/** Text is sent in pieces of about this many characters. */
const PIECE_CHARACTERS = 65_536;

/** One JSON object per line. */
export function jsonLines(): Framing {
  return { begin: () => [], add: (file) => writePieces(file, { before: () => '', after: '\n' }), end: () => [] };
}

/** One JSON document: `{"rows": […]}`. */
export function jsonDocument(): Framing {
  let separator = '{"rows":[';
  const before = (): string => {
    const text = separator;
    separator = ',';
    return text;
  };
  return {
    begin: () => [],
    add: (file) => writePieces(file, { before, after: '' }),
    end: () => [Buffer.from(separator === ',' ? ']}' : '{"rows":[]}')],
  };
}

interface RowFormat {
  readonly before: () => string;
  readonly after: string;
}

function* writePieces(file: Buffer, format: RowFormat): Generator<Uint8Array> {
  let parts: string[] = [];
  let characters = 0;
  for (const row of writeRows(file, (columns, dictionaryOf) => rowTexts(columns, dictionaryOf, format))) {
    for (const text of row) {
      parts.push(text);
      characters += text.length;
      if (characters < PIECE_CHARACTERS) continue;
      yield Buffer.from(parts.join(''));
      parts = [];
      characters = 0;
    }
  }
  if (characters > 0) yield Buffer.from(parts.join(''));
}

/** Writing a longer value at once would block other requests. */
const LONG_CHARACTERS = 4 * PIECE_CHARACTERS;
/** Several rows or items are measured at once, which is almost free if they are short. */
const MEASURED_AT_ONCE = 64;

function rowTexts(columns: readonly ResultColumn[], dictionaryOf: FindDictionary, { before, after }: RowFormat) {
  const write = structWriter(columns, dictionaryOf);
  const rows = columns[0]?.length ?? 0;
  let shortUntil = 0;
  const isShort = (row: number): boolean => {
    if (row < shortUntil) return true;
    const end = Math.min(row + MEASURED_AT_ONCE, rows);
    if (measureAll(columns, dictionaryOf, row, end) > LONG_CHARACTERS) {
      return measureAll(columns, dictionaryOf, row, row + 1) <= LONG_CHARACTERS;
    }
    shortUntil = end;
    return true;
  };
  function* writeLong(row: number): Generator<string> {
    yield before();
    yield* structPieces(columns, dictionaryOf, row);
    yield after;
  }
  return (row: number): Iterable<string> => (isShort(row) ? [before() + write(row) + after] : writeLong(row));
}

/** Produces the same text as `jsonWriter`. */
function* valuePieces(column: ResultColumn, dictionaryOf: FindDictionary, row: number): Generator<string> {
  if (!isValid(column, row) || measure(column, dictionaryOf, row, row + 1) <= LONG_CHARACTERS) {
    yield jsonWriter(column, dictionaryOf)(row);
    return;
  }
  const { type } = column;
  const [first = Buffer.alloc(0)] = column.buffers;
  switch (type.kind) {
    case 'utf8':
      return yield* textPieces(bytesReader(column)(row));
    case 'binary':
    case 'fixed-size-binary':
      return yield* base64Pieces(bytesReader(column)(row));
    case 'dictionary':
      return yield* valuePieces(dictionaryOf(column), dictionaryOf, Number(readInteger(first, row, type.index)));
    case 'struct':
      return yield* structPieces(column.children, dictionaryOf, row);
    default:
      return yield* itemPieces(column, dictionaryOf, row);
  }
}

function* structPieces(
  children: readonly ResultColumn[],
  dictionaryOf: FindDictionary,
  row: number,
): Generator<string> {
  let separator = '{';
  for (const child of children) {
    yield separator + toKey(child);
    yield* valuePieces(child, dictionaryOf, row);
    separator = ',';
  }
  yield '}';
}

function* itemPieces(column: ResultColumn, dictionaryOf: FindDictionary, row: number): Generator<string> {
  const [item] = column.children;
  if (item === undefined) return;
  const startOf = itemStarts(column);
  const [start, end] = [startOf(row), startOf(row + 1)];
  const write = jsonWriter(item, dictionaryOf);
  let separator = '[';
  for (let from = start; from < end; from += MEASURED_AT_ONCE) {
    const items = Array.from({ length: Math.min(MEASURED_AT_ONCE, end - from) }, (_, index) => from + index);
    if (measure(item, dictionaryOf, from, from + items.length) <= LONG_CHARACTERS) {
      yield separator + items.map(write).join(',');
    } else {
      for (const at of items) {
        yield at === from ? separator : ',';
        yield* valuePieces(item, dictionaryOf, at);
      }
    }
    separator = ',';
  }
  yield ']';
}

/** A multiple of three, so that the base64 of the slices can be concatenated. */
const SLICE_BYTES = 49_152;

function* textPieces(bytes: Buffer): Generator<string> {
  // Keeps the first bytes of a character until the rest follows.
  const decoder = new StringDecoder('utf8');
  yield '"';
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    yield JSON.stringify(decoder.write(bytes.subarray(at, at + SLICE_BYTES))).slice(1, -1);
  }
  yield `${decoder.end()}"`;
}

function* base64Pieces(bytes: Buffer): Generator<string> {
  yield '"';
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.toString('base64', at, at + SLICE_BYTES);
  yield '"';
}

/** The approximate length of a number with its comma. */
const VALUE_CHARACTERS = 16;

/** The approximate text length of these rows; not exact above `LONG_CHARACTERS`. */
function measure(column: ResultColumn, dictionaryOf: FindDictionary, start: number, end: number): number {
  const { type, buffers, children } = column;
  const least = VALUE_CHARACTERS * (end - start);
  if (least === 0 || least > LONG_CHARACTERS) return least;
  const [first = Buffer.alloc(0)] = buffers;
  switch (type.kind) {
    case 'utf8':
    case 'binary':
      if (type.layout !== 'view') {
        const width = offsetBytes(type);
        return least + readOffset(first, end, width) - readOffset(first, start, width);
      }
      return least + sumRows(start, end, (row) => first.readUInt32LE(VIEW_BYTES * row));
    case 'fixed-size-binary':
      return least + type.bytes * (end - start);
    case 'dictionary': {
      const values = dictionaryOf(column);
      return sumRows(start, end, (row) => {
        if (!isValid(column, row)) return VALUE_CHARACTERS;
        const at = Number(readInteger(first, row, type.index));
        return measure(values, dictionaryOf, at, at + 1);
      });
    }
    case 'struct':
      return least + measureAll(children, dictionaryOf, start, end);
    case 'list':
    case 'map':
    case 'fixed-size-list': {
      const startOf = itemStarts(column);
      return least + measureAll(children, dictionaryOf, startOf(start), startOf(end));
    }
    default:
      return least;
  }
}

function measureAll(
  columns: readonly ResultColumn[],
  dictionaryOf: FindDictionary,
  start: number,
  end: number,
): number {
  return columns.reduce((sum, column) => sum + measure(column, dictionaryOf, start, end), 0);
}

function sumRows(start: number, end: number, sizeOf: (row: number) => number): number {
  let sum = 0;
  for (let row = start; row < end; row += 1) sum += sizeOf(row);
  return sum;
}
