import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  Dictionary,
  Field,
  Int16,
  Int32,
  List,
  RecordBatch,
  Schema,
  Struct,
  Table,
  Utf8,
  makeData,
  tableFromIPC,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';
import type { Data } from 'apache-arrow';
import fc from 'fast-check';
import { dropUnusedValues } from '../../../src/arrow/results/used-values.ts';

const VALUES = Array.from({ length: 500 }, (_unused, index) => `value ${index}`);
const START = Buffer.from('ARROW1\0\0');
const DICTIONARY = vectorFromArray(VALUES, new Utf8());

/** Rows with words of a large dictionary: alone, in a struct and in a list, with a separate dictionary each. */
function toFile(rows: readonly (number | null)[]): Buffer {
  const inStruct = new Struct([new Field('inner', new Dictionary(new Utf8(), new Int32(), 8), true)]);
  const item = new Field('item', new Dictionary(new Utf8(), new Int16(), 9), true);
  const schema = new Schema<any>([
    new Field('word', new Dictionary(new Utf8(), new Int16(), 7, true), true),
    new Field('deep', inStruct, true),
    new Field('words', new List(item), true),
  ]);
  const items = rows.flatMap((row) => [row, row]);
  const children = [
    dictionaryData(new Dictionary(new Utf8(), new Int16(), 7, true), rows),
    makeData({
      type: inStruct,
      length: rows.length,
      nullCount: 0,
      children: [dictionaryData(new Dictionary(new Utf8(), new Int32(), 8), rows)],
    }),
    makeData({
      type: new List(item),
      length: rows.length,
      nullCount: 0,
      valueOffsets: Int32Array.from({ length: rows.length + 1 }, (_unused, row) => 2 * row),
      child: dictionaryData(new Dictionary(new Utf8(), new Int16(), 9), items),
    }),
  ];
  const data = makeData({ type: new Struct(schema.fields), length: rows.length, nullCount: 0, children });
  // The Arrow project's own files lack the schema at their head, which the engine's have; the footer is not read.
  return Buffer.concat([START, tableToIPC(new Table(new RecordBatch(schema, data)), 'stream')]);
}

function dictionaryData<Index extends Int16 | Int32>(
  type: Dictionary<Utf8, Index>,
  rows: readonly (number | null)[],
): Data<Dictionary<Utf8, Index>> {
  const bitmap = new Uint8Array(Math.ceil(rows.length / 64) * 8);
  for (const [row, value] of rows.entries()) {
    if (value !== null) bitmap[row >> 3] = (bitmap[row >> 3] ?? 0) | (1 << (row & 7));
  }
  const indices = rows.map((row) => row ?? 499);
  return makeData({
    type,
    length: rows.length,
    nullCount: rows.filter((row) => row === null).length,
    nullBitmap: bitmap,
    data: type.indices instanceof Int32 ? Int32Array.from(indices) : Int16Array.from(indices),
    dictionary: DICTIONARY,
  });
}

function toText(file: Uint8Array): string {
  return JSON.stringify(tableFromIPC(file).toArray());
}

suite('the dictionaries of a result', () => {
  const index = fc.option(fc.integer({ min: 0, max: VALUES.length - 1 }));

  test('lose the values that no row uses, and the rows stay the same', () => {
    fc.assert(
      fc.property(fc.array(index, { minLength: 1, maxLength: 60 }), (rows) => {
        const wanted = toText(toFile(rows).subarray(START.length));
        const file = dropUnusedValues(toFile(rows));
        assert.equal(toText(file), wanted);
        const used = new Set(rows.filter((row) => row !== null)).size;
        const word = tableFromIPC(file).getChild('word')?.data[0]?.dictionary;
        assert.deepEqual(word?.length ?? 0, used);
      }),
      { numRuns: 60 },
    );
  });

  test('keep the order of their values', () => {
    const dictionary = tableFromIPC(dropUnusedValues(toFile([400, 3, null, 77, 3]))).getChild('word')?.data[0]
      ?.dictionary;
    assert.deepEqual([...(dictionary ?? [])], ['value 3', 'value 77', 'value 400']);
  });

  test('stay as they are when most of their values are used', () => {
    const file = toFile(VALUES.map((_unused, row) => row).slice(0, 200));
    assert.equal(dropUnusedValues(file), file);
  });
});
