import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  Bool,
  DateMillisecond,
  Decimal,
  Dictionary,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float32,
  Int32,
  Int64,
  LargeUtf8,
  List,
  Map_,
  Null,
  Schema,
  Struct,
  Table,
  Utf8,
  tableFromIPC,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';
import type { DataType } from 'apache-arrow';
import fc from 'fast-check';
import { FILE_START } from '../../../src/arrow/format/footer.ts';
import { RowPicker, readFixedColumn } from '../../../src/arrow/results/row-picker.ts';

const field = (name: string, type: DataType): Field => new Field(name, type, true);
const PAIR = new Struct([field('x', new Int32()), field('words', new List(field('item', new Utf8())))]);
const ENTRIES = new Field(
  'entries',
  new Struct([new Field('key', new Utf8(), false), field('value', new Int32())]),
  false,
);

/** A type and its value in a row. */
const COLUMNS: Readonly<Record<string, readonly [type: DataType, value: (row: number) => unknown]>> = {
  id: [new Int32(), (row) => row],
  long: [new Int64(), (row) => BigInt(row) * 2n ** 40n],
  flag: [new Bool(), (row) => row % 3 === 0],
  text: [new Utf8(), (row) => 'é'.repeat(row % 5)],
  large: [new LargeUtf8(), (row) => `large ${row}`],
  bytes: [new FixedSizeBinary(3), (row) => Uint8Array.of(row, row + 1, row + 2)],
  day: [new DateMillisecond(), (row) => new Date(row * 86_400_000)],
  money: [new Decimal(2, 20, 128), (row) => Uint32Array.of(row, 1, 2, 3)],
  vector: [new FixedSizeList(4, field('item', new Float32())), (row) => [row, row / 2, 0, -row]],
  flags: [new FixedSizeList(3, field('item', new Bool())), (row) => [row % 2 === 0, null, true]],
  lists: [
    new List(field('item', new List(field('item', new Int32())))),
    (row) => Array.from({ length: row % 4 }, (_, index) => Array.from({ length: index }, () => row)),
  ],
  pair: [PAIR, (row) => ({ x: row, words: row % 2 === 0 ? null : [`w${row}`, 'and'] })],
  pairs: [
    new List(field('item', PAIR)),
    (row) => [
      { x: row, words: ['a'] },
      { x: null, words: [] },
    ],
  ],
  map: [
    new Map_(ENTRIES),
    (row) =>
      new Map([
        [`k${row}`, row],
        ['other', 1],
      ]),
  ],
  nothing: [new Null(), () => null],
  word: [new Dictionary(new Utf8(), new Int32(), 1), (row) => `word ${row % 3}`],
  _score: [new Float32(), () => null],
};

function toFile(names: readonly string[], rows: readonly number[], nullEvery: number): Buffer {
  const chosen = names.map((name) => [name, COLUMNS[name] ?? assert.fail()] as const);
  const schema = new Schema(chosen.map(([name, [type]]) => field(name, type)));
  const vectors = chosen.map(([name, [type, value]], index) => {
    const values = rows.map((row) => (name !== 'id' && (row + index) % nullEvery === 0 ? null : value(row)));
    return [name, vectorFromArray(values, type)] as const;
  });
  return Buffer.concat([FILE_START, tableToIPC(new Table(schema, Object.fromEntries(vectors)), 'stream')]);
}

/** Without its start, a file is read as a stream. */
function asStream(file: Buffer): Buffer {
  return file.subarray(FILE_START.length);
}

function toTexts(files: readonly Buffer[]): readonly string[] {
  const toText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}n` : value);
  return files.flatMap((file) =>
    tableFromIPC(asStream(file))
      .toArray()
      .map((row) => JSON.stringify(row, toText)),
  );
}

const PLACES = fc.array(fc.tuple(fc.nat(2), fc.nat(29)), { minLength: 1, maxLength: 60 });

suite('picked rows', () => {
  const names = Object.keys(COLUMNS);
  const sources = [0, 1, 2].map((source) => Array.from({ length: 30 }, (_, row) => 30 * source + row));

  for (const name of names.filter((each) => each !== 'word')) {
    test(`are equal to those of their sources: ${name}`, () => {
      const chosen = [...new Set(['id', name])];
      fc.assert(
        fc.property(PLACES, fc.integer({ min: 2, max: 200 }), (places, nullEvery) => {
          const files = sources.map((rows) => toFile(chosen, rows, nullEvery));
          const texts = files.map((file) => toTexts([file]));
          const ranges = places.map(([source, start]) => ({
            source,
            start,
            count: Math.min(1 + (start % 3), 30 - start),
          }));
          const picked = new RowPicker(files).pick(ranges, new Map());
          const expected = ranges.flatMap(
            ({ source, start, count }) => texts[source]?.slice(start, start + count) ?? [],
          );
          assert.deepEqual(toTexts([picked]), expected);
        }),
        { numRuns: 40 },
      );
    });
  }

  test('of one source keep its dictionary', () => {
    const files = sources.map((rows) => toFile(['id', 'word'], rows, 7));
    const picker = new RowPicker(files);
    assert.ok(picker.hasDictionaries);
    const picked = picker.pick(
      [29, 0, 5].map((start) => ({ source: 1, start, count: 1 })),
      new Map(),
    );
    const texts = toTexts(files.slice(1, 2));
    assert.deepEqual(toTexts([picked]), [texts[29], texts[0], texts[5]]);
  });

  test('have other numbers where those are given', () => {
    const files = sources.map((rows) => toFile(['id', '_score', 'text'], rows, 200));
    const ranges = [40, 3, 71].map((row) => ({ source: Math.floor(row / 30), start: row % 30, count: 1 }));
    const picked = tableFromIPC(new RowPicker(files).pick(ranges, new Map([['_score', [1.5, undefined, 0]]])));
    assert.deepEqual([...(picked.getChild('id') ?? [])], [40, 3, 71]);
    assert.deepEqual([...(picked.getChild('_score') ?? [])], [1.5, null, 0]);
    assert.equal(picked.getChild('_score')?.nullCount, 1);
  });

  test('are found by a column of fixed width', () => {
    const { rows, values } = readFixedColumn(toFile(['text', 'long'], [4, 5], 200), 'long');
    assert.equal(rows, 2);
    assert.equal(values.readBigUInt64LE(8), 5n * 2n ** 40n);
  });
});
