import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DenseUnion, Field, Interval, IntervalUnit, Schema, Table, tableFromIPC, tableToIPC } from 'apache-arrow';
import type { DataType } from 'apache-arrow';
import fc from 'fast-check';
import { buildData } from '../../src/formats/types/build-data.ts';
import type { Format } from '../../src/formats/format.ts';
import { columnsToStream } from '../../src/formats/arrow/arrow-stream.ts';
import { blobInput } from '../../src/formats/input.ts';
import { openReader } from '../../src/formats/open-reader.ts';
import { makeBatch } from '../../src/formats/row-batches.ts';
import { parseType, formatType } from '../../src/formats/types/type-text.ts';
import { valuesOf } from '../../src/formats/types/values-of.ts';
import { writeRows } from '../../src/formats/write-rows.ts';

const RUNS = 12;

const integer = (bits: number, signed: boolean) =>
  signed
    ? fc.bigInt({ min: -(2n ** BigInt(bits - 1)), max: 2n ** BigInt(bits - 1) - 1n })
    : fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n });
const small = (bits: number, signed: boolean) => integer(bits, signed).map(Number);
const float32 = fc.float({ noDefaultInfinity: false }).map(Math.fround);
const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const micros = fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n });
const bytes = fc.uint8Array({ maxLength: 9 }).map((value) => new Uint8Array(value));

/** A type by its name, and values of it. */
const TYPES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  bool: fc.boolean(),
  int8: small(8, true),
  int16: small(16, true),
  int32: small(32, true),
  int64: integer(64, true),
  uint8: small(8, false),
  uint16: small(16, false),
  uint32: small(32, false),
  uint64: integer(64, false),
  float32,
  float64: fc.double(),
  utf8: text,
  large_utf8: text,
  binary: bytes,
  'binary[3]': fc.uint8Array({ minLength: 3, maxLength: 3 }).map((value) => new Uint8Array(value)),
  date32: fc.integer({ min: -700_000, max: 2_900_000 }),
  'timestamp[ms, UTC]': micros.map((value) => value / 1000n),
  'timestamp[us]': micros,
  'timestamp[ns]': fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  'time32[ms]': fc.integer({ min: 0, max: 86_399_999 }),
  'time64[us]': fc.bigInt({ min: 0n, max: 86_399_999_999n }),
  'duration[us]': integer(64, true),
  'decimal128(20, 4)': fc.bigInt({ min: -(10n ** 20n) + 1n, max: 10n ** 20n - 1n }),
  'decimal256(60, 0)': fc.bigInt({ min: -(10n ** 60n) + 1n, max: 10n ** 60n - 1n }),
  'float32[3]': fc.array(float32, { minLength: 3, maxLength: 3 }),
  'list<int64>': fc.array(fc.option(integer(64, true)), { maxLength: 4 }),
  'list<list<utf8>>': fc.array(fc.array(text, { maxLength: 2 }), { maxLength: 3 }),
  'struct<a: int32, b: utf8>': fc.record({ a: fc.option(small(32, true)), b: fc.option(text) }),
  'list<struct<x: float64>>': fc.array(fc.record({ x: fc.double() }), { maxLength: 3 }),
  'map<utf8, int32>': fc
    .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z_]{1,5}$/), small(32, true)), {
      selector: ([key]) => key,
      maxLength: 3,
    })
    .map((entries) => entries.map(([key, value]) => ({ key, value }))),
};

for (const format of ['arrow', 'parquet', 'csv', 'ndjson'] as const) {
  for (const [name, values] of Object.entries(TYPES)) {
    test(`${name} is read from ${format} as it was written`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.option(values, { freq: 4 }), { minLength: 1, maxLength: 40 }), async (column) => {
          const read = await roundTrip(format, parseType(name), column);
          assert.deepEqual(read, column.map(canonical));
        }),
        { numRuns: RUNS },
      );
    });
  }
}

async function roundTrip(format: Format, type: DataType, column: readonly unknown[]): Promise<unknown[]> {
  const schema = new Schema([new Field('id', parseType('int64'), true), new Field('v', type, true)]);
  const ids = buildData(
    parseType('int64'),
    column.map((_, index) => index),
  );
  const batch = makeBatch(schema, [ids, buildData(type, column)], column.length);
  const pieces: Uint8Array[] = [];
  for await (const piece of writeRows(format, schema, [batch])) pieces.push(piece);
  const columns = format === 'csv' || format === 'ndjson' ? [{ source: 'v', type: formatType(type) }] : [];
  const reader = await openReader(blobInput(new Blob(pieces)), { format, columns });
  assert.equal(reader.columns[1]?.type, formatType(type));
  const read: unknown[] = [];
  for await (const found of reader.batches()) {
    const data = found.batch.data.children[1];
    if (data !== undefined) read.push(...valuesOf(data));
  }
  return read.map(canonical);
}

/** Integers of any width alike, so that a number equals its bigint; zero keeps its sign. */
function canonical(value: unknown): unknown {
  if (typeof value === 'number' && Number.isInteger(value) && !Object.is(value, -0)) return BigInt(value);
  if (Array.isArray(value)) return value.map(canonical);
  if (value instanceof Uint8Array) return { bytes: [...value] };
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, canonical(part)]));
}

test('types are read as they are written', () => {
  for (const name of [...Object.keys(TYPES), 'struct<"a b": list<float16[2]>, c: map<utf8, date64>>', 'time32[s]']) {
    assert.equal(formatType(parseType(name)), name);
  }
  for (const [alias, name] of [
    ['text', 'utf8'],
    ['float[4]', 'float32[4]'],
    ['int', 'int64'],
    ['timestamp', 'timestamp[us]'],
    ['list<dictionary<utf8>>', 'list<utf8>'],
  ] as const) {
    assert.equal(formatType(parseType(alias)), name);
  }
  for (const wrong of [
    '',
    'int7',
    'list<',
    'list<int64',
    'struct<>',
    'float32[0]',
    'float32[65537]',
    'float32[9999999]',
    'int64 x',
    'map<utf8>',
    'dictionary<utf8',
    'time32[us]',
  ]) {
    assert.throws(() => parseType(wrong), /is not a type/, wrong);
  }
});

test('types that cannot be written here have names too, not numbers', () => {
  const child = new Field('a', parseType('int64'));
  assert.equal(formatType(new Interval(IntervalUnit.DAY_TIME)), 'interval[day-time]');
  assert.equal(formatType(new DenseUnion([0], [child])), 'union<a: int64>');
});

test('a file of several batches, and an Arrow file, are read whole', async () => {
  const type = parseType('utf8');
  const schema = new Schema([new Field('v', type, true)]);
  const batches = Array.from({ length: 3 }, (_, part) => {
    const values = Array.from({ length: 30_000 }, (_each, row) => `${part}:${row}`);
    return makeBatch(schema, [buildData(type, values)], values.length);
  });
  const whole = tableToIPC(new Table(batches), 'file');
  for (const format of ['arrow', 'parquet', 'csv', 'ndjson', 'file'] as const) {
    const pieces: Uint8Array[] = [];
    if (format === 'file') pieces.push(whole);
    else for await (const piece of writeRows(format, schema, batches)) pieces.push(piece);
    const reader = await openReader(blobInput(new Blob(pieces)), { batchRows: 7000, name: `x.${format}` });
    let rows = 0;
    let last: unknown;
    for await (const found of reader.batches()) {
      assert.ok(found.batch.numRows <= 7000);
      rows += found.batch.numRows;
      const [data] = found.batch.data.children;
      last = data === undefined ? undefined : valuesOf(data).at(-1);
    }
    assert.deepEqual([format, rows, last], [format, 90_000, '2:29999']);
  }
});

test('booleans that are all null are written with values, at any depth', () => {
  const types = ['bool', 'struct<a: bool>', 'list<bool>'];
  const values = [null, { a: null }, [null, null]];
  const columns = types.map((type, index) => {
    return { name: type, type, values: Array.from({ length: 20 }, () => values[index]) };
  });
  const [batch] = tableFromIPC(columnsToStream(columns)).batches;
  const [plain, inStruct, inList] = batch?.data.children ?? [];
  assert.ok((plain?.values.length ?? 0) >= 3);
  assert.ok((inStruct?.children[0]?.values.length ?? 0) >= 3);
  assert.ok((inList?.children[0]?.values.length ?? 0) >= 5);
  assert.deepEqual(
    [plain, inStruct, inList].map((data) => (data === undefined ? undefined : valuesOf(data)[19])),
    values,
  );
});
