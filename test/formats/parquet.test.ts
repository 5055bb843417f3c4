import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field, Float32, List, Schema, Table, tableFromIPC, tableToIPC } from 'apache-arrow';
import fc from 'fast-check';
import * as parquet from 'parquet-wasm';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { Source } from '../../src/formats/format.ts';
import { toSchemaBytes } from '../../src/formats/arrow/arrow-stream.ts';
import { blobInput } from '../../src/formats/input.ts';
import type { Input } from '../../src/formats/input.ts';
import { openReader } from '../../src/formats/open-reader.ts';
import type { Reader } from '../../src/formats/open-reader.ts';
import { readFooter } from '../../src/formats/parquet/parquet-footer.ts';
import { ParquetLayout } from '../../src/formats/parquet/parquet-layout.ts';
import { openParquet } from '../../src/formats/parquet/parquet-source.ts';
import { integerField, joinBytes, structField, writeStruct } from '../../src/formats/parquet/thrift.ts';
import { makeBatch } from '../../src/formats/row-batches.ts';
import { buildData } from '../../src/formats/types/build-data.ts';
import { parseType } from '../../src/formats/types/type-text.ts';
import { valuesOf } from '../../src/formats/types/values-of.ts';
import { writeRows } from '../../src/formats/write-rows.ts';
import { fixtureStream } from '../support/arrow-fixtures.ts';

const input = (bytes: Uint8Array): Input => blobInput(new Blob([bytes]));

/** As another writer of the Arrow family writes it, with its Arrow schema. */
function toParquet(stream: Uint8Array, codec = parquet.Compression.SNAPPY): Uint8Array {
  const properties = new parquet.WriterPropertiesBuilder().setCompression(codec).build();
  return parquet.writeParquet(parquet.Table.fromIPCStream(stream), properties);
}

async function readAll(reader: Reader): Promise<readonly unknown[]> {
  const rows: unknown[] = [];
  for await (const { batch } of reader.batches()) rows.push(...new Table([batch]).toArray().map((row) => `${row}`));
  return rows;
}

test('every codec of Parquet is read', async () => {
  const stream = fixtureStream('plain');
  const expected = tableFromIPC(stream).numRows;
  const { UNCOMPRESSED, SNAPPY, GZIP, BROTLI, ZSTD, LZ4_RAW } = parquet.Compression;
  for (const codec of [UNCOMPRESSED, SNAPPY, GZIP, BROTLI, ZSTD, LZ4_RAW]) {
    const reader = await openReader(input(toParquet(stream, codec)));
    assert.equal(reader.rowCount, expected);
    assert.equal((await readAll(reader)).length, expected, parquet.Compression[codec]);
  }
});

test('lists of 64-bit offsets, views and dictionaries of the writer become plain types', async () => {
  for (const [name, type] of [
    ['large_list', /^list<|\[\d+\]$/],
    ['string_view', /^utf8$/],
    ['dict', /^utf8$/],
  ] as const) {
    const reader = await openReader(input(toParquet(fixtureStream(name))));
    assert.ok(
      reader.columns.some((column) => type.test(column.type)),
      JSON.stringify(reader.columns),
    );
    assert.ok(!reader.columns.some((column) => /dictionary|type/.test(column.type)), JSON.stringify(reader.columns));
    assert.equal((await readAll(reader)).length, reader.rowCount, name);
  }
});

test('columns are read in the chosen order of the file, renamed and left out', async () => {
  const columns = [
    { source: 'vec', skip: true },
    { source: 's', name: 'text' },
    { source: 'id', type: 'utf8' },
  ];
  const reader = await openReader(input(toParquet(fixtureStream('plain'))), { columns, batchRows: 3 });
  assert.deepEqual(
    reader.columns.map(({ name, type }) => `${name} ${type}`),
    ['id utf8', 'text utf8'],
  );
  for await (const { batch } of reader.batches()) assert.ok(batch.numRows <= 3);
});

test('a Parquet file that is cut off anywhere is refused', async () => {
  const whole = toParquet(fixtureStream('plain'));
  for (let cut = 0; cut < whole.length; cut += 97) {
    await assert.rejects(
      async () => openReader(input(whole.slice(0, cut)), { format: 'parquet' }),
      /not a Parquet file/,
    );
  }
});

test('a damaged Parquet file is refused, or read, whatever is wrong with it', async () => {
  const whole = toParquet(fixtureStream('plain'));
  const changes = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(changes, async (changed) => {
      const damaged = whole.slice();
      for (const [at, byte] of changed) damaged[at] = byte;
      try {
        await readAll(await openReader(input(damaged), { format: 'parquet' }));
      } catch (error) {
        assert.ok(error instanceof ServiceError, String(error));
      }
    }),
    { numRuns: 100 },
  );
});

/** Small pages, and a row group that is read one page after the other. */
const CUT = { wholeBytes: 0, windowBytes: 1 };

async function readColumn(source: Source): Promise<unknown[]> {
  const [first] = source.columns;
  assert.ok(first !== undefined);
  const plan = { columns: [{ source: first, field: first, convert: undefined, reason: '' }], batchRows: 1000 };
  const values: unknown[] = [];
  for await (const { batch } of source.batches({ ...plan, schema: new Schema([first]) })) {
    values.push(...batch.data.children.flatMap((data) => valuesOf(data)));
  }
  return values;
}

test('a row group that is read a page at a time has the same values', async () => {
  const text = fc.string({ maxLength: 6 });
  const float = fc.float({ noNaN: true }).map(Math.fround);
  const cases: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    int64: fc.bigInt({ min: -5n, max: 5n }),
    utf8: text,
    'list<float32>': fc.array(fc.option(float), { maxLength: 9 }),
    'list<utf8>': fc.array(text, { maxLength: 5 }),
    'float32[3]': fc.array(float, { minLength: 3, maxLength: 3 }),
    'list<list<int32>>': fc.array(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 3 }), { maxLength: 3 }),
    'struct<a: int32, b: utf8>': fc.record({ a: fc.integer({ min: 0, max: 9 }), b: text }),
  };
  for (const [type, value] of Object.entries(cases)) {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(value), { minLength: 1, maxLength: 60 }),
        fc.boolean(),
        async (values, isV2) => {
          const schema = new Schema([new Field('v', parseType(type), true)]);
          const batch = makeBatch(schema, [buildData(parseType(type), values)], values.length);
          const properties = new parquet.WriterPropertiesBuilder()
            .setDataPageSizeLimit(16)
            .setWriteBatchSize(4)
            .setWriterVersion(isV2 ? parquet.WriterVersion.V2 : parquet.WriterVersion.V1)
            .build();
          const table = parquet.Table.fromIPCStream(tableToIPC(new Table([batch]), 'stream'));
          const bytes = parquet.writeParquet(table, properties);
          const expected = await readColumn(await openParquet(input(bytes)));
          assert.equal(expected.length, values.length);
          assert.deepEqual(await readColumn(await openParquet(input(bytes), CUT)), expected);
        },
      ),
      { numRuns: 15 },
    );
  }
});

/** A page as older writers have it: a list may continue in the next one. */
function oldPage(levels: readonly (readonly [repetition: number, value: number])[]): Uint8Array {
  // Each level is a run of one: 1 << 1, and the level.
  const runs = (of: (level: readonly [number, number]) => number) => {
    const bytes = Uint8Array.from(levels.flatMap((level) => [2, of(level)]));
    return joinBytes([new Uint8Array(Uint32Array.of(bytes.length).buffer), bytes]);
  };
  const values = new Uint8Array(Float32Array.from(levels, ([, value]) => value).buffer);
  const body = joinBytes([runs(([repetition]) => repetition), runs(() => 3), values]);
  const integer = (value: number) => integerField(value, 5);
  const header = new Map([1, 2, 3, 4].map((id) => [id, integer(id === 1 ? levels.length : id === 2 ? 0 : 3)] as const));
  const page = new Map([
    [1, integer(0)],
    [2, integer(body.length)],
    [3, integer(body.length)],
    [5, structField(header)],
  ]);
  return joinBytes([writeStruct(page), body]);
}

test('lists that continue in later pages are read whole, wherever the pages end', async () => {
  const lists = fc.array(fc.array(fc.integer({ min: 1, max: 99 }), { minLength: 1, maxLength: 7 }), { minLength: 1 });
  const type = parseType('list<float32>');
  const schema = new Schema([new Field('v', type, true)]);
  const batch = makeBatch(schema, [buildData(type, [[1]])], 1);
  const model = toParquet(tableToIPC(new Table([batch]), 'stream'), parquet.Compression.UNCOMPRESSED);
  const layout = new ParquetLayout((await readFooter(input(model))).bytes);
  const group = layout.group(0);
  const arrowSchema = toSchemaBytes(schema);
  const [leaf] = layout.leaves;
  assert.ok(leaf !== undefined);
  await fc.assert(
    fc.asyncProperty(lists, fc.integer({ min: 1, max: 9 }), async (values, pageLevels) => {
      const levels = values.flatMap((list) => list.map((value, at) => [at === 0 ? 0 : 1, value] as const));
      const pages: Uint8Array[] = [];
      for (let at = 0; at < levels.length; at += pageLevels) pages.push(oldPage(levels.slice(at, at + pageLevels)));
      const piece = { parts: pages, values: levels.length, dictionaryAt: undefined, dataAt: 0 };
      const file = layout.file({ rows: values.length, group, pieces: new Map([[leaf, piece]]), arrowSchema });
      assert.deepEqual(await readColumn(await openParquet(input(file))), values);
      assert.deepEqual(await readColumn(await openParquet(input(file), CUT)), values);
    }),
    { numRuns: 40 },
  );
});

test('a table without rows is a Parquet file with its columns', async () => {
  const schema = new Schema([
    new Field('id', parseType('int64'), true),
    new Field('v', new List(new Field('item', new Float32(), true)), true),
  ]);
  const pieces: Uint8Array[] = [];
  for await (const piece of writeRows('parquet', schema, [])) pieces.push(piece);
  const reader = await openReader(blobInput(new Blob(pieces)));
  assert.deepEqual(
    reader.columns.map(({ type }) => type),
    ['int64', 'list<float32>'],
  );
  assert.equal(reader.rowCount, 0);
});

test('seconds and milliseconds of days are written as types that Parquet has', async () => {
  const schema = new Schema([
    new Field('at', parseType('timestamp[s]'), true),
    new Field('day', parseType('date64'), true),
  ]);
  const children = [
    buildData(parseType('timestamp[s]'), [1_700_000_000n, null]),
    buildData(parseType('date64'), [86_400_000n * 3n, null]),
  ];
  const pieces: Uint8Array[] = [];
  for await (const piece of writeRows('parquet', schema, [makeBatch(schema, children, 2)])) pieces.push(piece);
  const reader = await openReader(blobInput(new Blob(pieces)));
  assert.deepEqual(
    reader.columns.map(({ type }) => type),
    ['timestamp[ms]', 'date32'],
  );
  assert.deepEqual(await reader.preview(5), [
    { at: '2023-11-14T22:13:20.000', day: '1970-01-04' },
    { at: null, day: null },
  ]);
});

test('booleans that are all null are written, at the top and inside of others', async () => {
  for (const [type, value] of [
    ['bool', null],
    ['struct<a: bool, b: int64, c: utf8>', { a: null, b: 1, c: 'x' }],
    ['list<bool>', [null, null]],
    ['map<utf8, bool>', [{ key: 'k', value: null }]],
  ] as const) {
    const schema = new Schema([new Field('v', parseType(type), true)]);
    const batch = makeBatch(schema, [buildData(parseType(type), [value, value])], 2);
    const pieces: Uint8Array[] = [];
    for await (const piece of writeRows('parquet', schema, [batch])) pieces.push(piece);
    const reader = await openReader(blobInput(new Blob(pieces)));
    assert.equal(reader.rowCount, 2, type);
    assert.equal((await readAll(reader)).length, 2, type);
  }
});

test('what stops the rows of an export is passed on, and ends no file', async () => {
  const schema = new Schema([new Field('id', parseType('int64'), true)]);
  const batches = async function* () {
    yield makeBatch(schema, [buildData(parseType('int64'), [1n])], 1);
    throw new Error('the connection was closed');
  };
  await assert.rejects(async () => {
    for await (const piece of writeRows('parquet', schema, batches())) assert.ok(piece.length > 0);
  }, /connection was closed/);
});

test('a file larger than 4 GiB is read by its end', async () => {
  const small = toParquet(tableToIPC(tableFromIPC(fixtureStream('plain')), 'stream'));
  // The rows stay where they are; what is in front of the footer is a hole.
  const footerBytes = new DataView(small.buffer, small.byteOffset + small.length - 8).getUint32(0, true) + 8;
  const size = 5 * 1024 ** 3;
  const footerAt = size - footerBytes;
  const slice = async (start: number, end: number): Promise<ArrayBuffer> => {
    const bytes = new Uint8Array(end - start);
    for (const [at, part] of [
      [0, small.subarray(0, small.length - footerBytes)],
      [footerAt, small.subarray(small.length - footerBytes)],
    ] as const) {
      const [from, to] = [Math.max(start, at), Math.min(end, at + part.length)];
      if (from < to) bytes.set(part.subarray(from - at, to - at), from - start);
    }
    return bytes.buffer;
  };
  const reader = await openReader({ size, slice });
  assert.equal((await readAll(reader)).length, reader.rowCount);
});
