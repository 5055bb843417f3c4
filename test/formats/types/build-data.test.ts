import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bool, Dictionary, Field, Int8, Int64, Schema, Uint16, Utf8, tableFromIPC } from 'apache-arrow';
import type { DataType } from 'apache-arrow';
import { toStreamBytes } from '../../../src/formats/arrow/arrow-stream.ts';
import { blobInput } from '../../../src/formats/input.ts';
import { openReader } from '../../../src/formats/open-reader.ts';
import { makeBatch } from '../../../src/formats/row-batches.ts';
import { buildData } from '../../../src/formats/types/build-data.ts';
import { valuesOf } from '../../../src/formats/types/values-of.ts';
import { writeRows } from '../../../src/formats/write-rows.ts';

test('dictionaries are built from their values, for each batch anew', () => {
  for (const [type, ...columns] of [
    [new Dictionary(new Utf8(), new Int8(), 3), ['a', null, 'b', 'a'], ['c'], [null]],
    [new Dictionary(new Int64(), new Uint16(), 4), [10n, 20n, 10n], [30n]],
  ] as const) {
    const schema = new Schema([new Field('v', type, true)]);
    const batches = columns.map((values) => makeBatch(schema, [buildData(type, values)], values.length));
    const read = tableFromIPC(toStreamBytes(schema, batches)).batches;
    assert.deepEqual(
      read.map(({ data }) => data.children.flatMap((child) => valuesOf(child))),
      columns,
    );
  }
});

test('more values than the indices of a dictionary can count are refused', () => {
  const type = new Dictionary(new Utf8(), new Int8());
  const values = Array.from({ length: 129 }, (_unused, index) => String(index));
  assert.equal(valuesOf(buildData(type, values.slice(1))).length, 128);
  assert.throws(() => buildData(type, values), /129 different values; its dictionary holds at most 128/);
});

test('dictionaries are written to Parquet beside booleans that are all null', async () => {
  const types: readonly DataType[] = [new Dictionary(new Utf8(), new Int8()), new Bool()];
  const schema = new Schema(types.map((type, index) => new Field(`c${index}`, type, true)));
  const columns = [
    ['a', 'b', 'a'],
    [null, null, null],
  ];
  const data = types.map((type, index) => buildData(type, columns[index] ?? []));
  const pieces: Uint8Array[] = [];
  for await (const piece of writeRows('parquet', schema, [makeBatch(schema, data, 3)])) pieces.push(piece);
  const reader = await openReader(blobInput(new Blob(pieces)), { format: 'parquet' });
  assert.deepEqual(await reader.preview(3), [
    { c0: 'a', c1: null },
    { c0: 'b', c1: null },
    { c0: 'a', c1: null },
  ]);
});
