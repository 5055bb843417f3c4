import { randomBytes } from 'node:crypto';
import { findFixedWidth, hasBit, readInteger } from '../format/column-layout.ts';
import { jsonWriter, writeRows } from './json-rows.ts';
import type { FindDictionary } from './json-rows.ts';
import { bytesReader, isValid, itemStarts } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';

/**
 * 64-bit hashes, each in two halves. Equal rows have equal hashes; unequal ones collide with a probability of 2^-64.
 */
export interface HashedRow {
  key0: number;
  key1: number;
  row0: number;
  row1: number;
  id: bigint;
}

export interface HashedColumns {
  /** The columns of the key, and those of the row. */
  readonly key: readonly string[];
  readonly row: readonly string[];
  /** Columns that are hashed as JSON text, because their type differs between the compared files. */
  readonly asText: ReadonlySet<string>;
}

type Feed = (row: number, hash: Hash) => void;

const ID_COLUMN = '_rowid';

/**
 * Hashes rows by value, independently of batch, dictionary and layout. Values are equal if their JSON is equal; nulls
 * equal each other, and so do all kinds of NaN. Hashes of two hashers are not comparable: their constants are random,
 * because a caller who knew them could choose colliding rows.
 */
export class RowHasher {
  readonly #columns: HashedColumns;
  readonly #key = new Hash();
  readonly #row = new Hash();

  constructor(columns: HashedColumns) {
    this.#columns = columns;
  }

  /** The file must have the column `_rowid`. The visited object is reused for the next row. */
  visit(file: Buffer, visitor: (row: HashedRow) => void): void {
    const hashed: HashedRow = { key0: 0, key1: 0, row0: 0, row1: 0, id: 0n };
    const rows = writeRows(file, (columns, dictionaryOf) => {
      const key = this.#toFeeds(this.#columns.key, columns, dictionaryOf);
      const row = this.#toFeeds(this.#columns.row, columns, dictionaryOf);
      const ids = columns.find(({ field }) => field.name === ID_COLUMN)?.buffers[0] ?? Buffer.alloc(0);
      return (at) => {
        this.#key.start();
        for (const feed of key) feed(at, this.#key);
        this.#row.start();
        for (const feed of row) feed(at, this.#row);
        [hashed.key0, hashed.key1] = [this.#key.first(), this.#key.second()];
        [hashed.row0, hashed.row1] = [this.#row.first(), this.#row.second()];
        hashed.id = ids.readBigUInt64LE(8 * at);
        visitor(hashed);
      };
    });
    while (rows.next().done !== true);
  }

  #toFeeds(names: readonly string[], columns: readonly ResultColumn[], dictionaryOf: FindDictionary): readonly Feed[] {
    const byName = new Map(columns.map((column) => [column.field.name, column]));
    return names.map((name) => {
      const column = byName.get(name);
      if (column === undefined) throw new Error(`a result has no column ${name}`);
      return this.#columns.asText.has(name) ? textFeed(column, dictionaryOf) : toFeed(column, dictionaryOf);
    });
  }
}

/** Two lanes of 32 bits with secret constants. */
class Hash {
  /** Stands for null: no value is likely to be the same word. */
  readonly nullWord = randomWord();
  readonly #seeds = [randomWord(), randomWord()] as const;
  readonly #factors = [randomWord() | 1, randomWord() | 1] as const;
  #one = 0;
  #other = 0;

  start(): void {
    [this.#one, this.#other] = this.#seeds;
  }

  word(word: number): void {
    const one = Math.imul(this.#one ^ word, this.#factors[0]);
    this.#one = (one << 13) | (one >>> 19);
    const other = Math.imul((this.#other + word) ^ one, this.#factors[1]);
    this.#other = (other << 17) | (other >>> 15);
  }

  first(): number {
    return spread(this.#one ^ Math.imul(this.#other, this.#factors[0]));
  }

  second(): number {
    return spread(this.#other);
  }
}

function randomWord(): number {
  return randomBytes(4).readInt32LE(0);
}

/** Every bit of the input changes about half of the bits of the result. */
function spread(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return mixed ^ (mixed >>> 16);
}

function toFeed(column: ResultColumn, dictionaryOf: FindDictionary): Feed {
  const feed = valueFeed(column, dictionaryOf);
  if (column.validity === undefined) return feed;
  return (row, hash) => (isValid(column, row) ? feed(row, hash) : hash.word(hash.nullWord));
}

function valueFeed(column: ResultColumn, dictionaryOf: FindDictionary): Feed {
  const { type } = column;
  const [values = Buffer.alloc(0)] = column.buffers;
  switch (type.kind) {
    case 'null':
      return (_row, hash) => hash.word(hash.nullWord);
    case 'bool':
      return (row, hash) => hash.word(hasBit(values, row) ? 1 : 0);
    case 'float':
      return floatFeed(values, type.bits);
    case 'utf8':
    case 'binary': {
      const read = bytesReader(column);
      return (row, hash) => feedBytes(read(row), hash);
    }
    case 'dictionary': {
      const feed = toFeed(dictionaryOf(column), dictionaryOf);
      return (row, hash) => feed(Number(readInteger(values, row, type.index)), hash);
    }
    case 'struct': {
      const feeds = column.children.map((child) => toFeed(child, dictionaryOf));
      return (row, hash) => {
        for (const feed of feeds) feed(row, hash);
      };
    }
    case 'list':
    case 'map':
    case 'fixed-size-list':
      return itemsFeed(column, dictionaryOf);
    default:
      return findFixedWidth(type) === undefined ? textFeed(column, dictionaryOf) : fixedFeed(column);
  }
}

function fixedFeed(column: ResultColumn): Feed {
  const width = findFixedWidth(column.type) ?? 0;
  if (width % 4 !== 0) {
    const read = bytesReader(column);
    return (row, hash) => feedBytes(read(row), hash);
  }
  const words = toWords(column.buffers[0]);
  const count = width / 4;
  return (row, hash) => {
    for (let at = count * row; at < count * (row + 1); at += 1) hash.word(words[at] ?? 0);
  };
}

const NAN_WORD = 0x7fc0_0000;

function floatFeed(values: Buffer, bits: 16 | 32 | 64): Feed {
  if (bits === 16) {
    return (row, hash) => {
      const word = values.readUInt16LE(2 * row);
      hash.word((word & 0x7fff) > 0x7c00 ? NAN_WORD : word);
    };
  }
  const words = toWords(values);
  if (bits === 32) return (row, hash) => hash.word(withoutPayload(words[row] ?? 0));
  return (row, hash) => {
    const [low, high] = [words[2 * row] ?? 0, words[2 * row + 1] ?? 0];
    const magnitude = high & 0x7fff_ffff;
    const isNaN = magnitude > 0x7ff0_0000 || (magnitude === 0x7ff0_0000 && low !== 0);
    hash.word(isNaN ? 0 : low);
    hash.word(isNaN ? NAN_WORD : high);
  };
}

/** Maps every NaN to one word. */
function withoutPayload(word: number): number {
  return (word & 0x7fff_ffff) > 0x7f80_0000 ? NAN_WORD : word;
}

function itemsFeed(column: ResultColumn, dictionaryOf: FindDictionary): Feed {
  const [item] = column.children;
  const startOf = itemStarts(column);
  if (item === undefined) return () => {};
  if (item.validity === undefined && item.type.kind === 'float' && item.type.bits === 32) {
    const words = toWords(item.buffers[0]);
    return (row, hash) => {
      const [start, end] = [startOf(row), startOf(row + 1)];
      hash.word(end - start);
      for (let at = start; at < end; at += 1) hash.word(withoutPayload(words[at] ?? 0));
    };
  }
  const feed = toFeed(item, dictionaryOf);
  return (row, hash) => {
    const [start, end] = [startOf(row), startOf(row + 1)];
    hash.word(end - start);
    for (let at = start; at < end; at += 1) feed(at, hash);
  };
}

/** A view if the bytes are aligned, otherwise a copy. */
function toWords(bytes: Buffer = Buffer.alloc(0)): Int32Array {
  const count = Math.floor(bytes.length / 4);
  if (bytes.byteOffset % 4 === 0) return new Int32Array(bytes.buffer, bytes.byteOffset, count);
  return new Int32Array(Uint8Array.prototype.slice.call(bytes, 0, 4 * count).buffer);
}

function feedBytes(bytes: Buffer, hash: Hash): void {
  const { length } = bytes;
  hash.word(length);
  let at = 0;
  for (; at + 4 <= length; at += 4) hash.word(bytes.readInt32LE(at));
  for (let rest = 0; at < length; at += 1) {
    rest = (rest << 8) | (bytes[at] ?? 0);
    if (at === length - 1) hash.word(rest);
  }
}

function textFeed(column: ResultColumn, dictionaryOf: FindDictionary): Feed {
  const write = jsonWriter(column, dictionaryOf);
  return (row, hash) => feedBytes(Buffer.from(write(row)), hash);
}
