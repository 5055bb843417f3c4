import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import {
  Bool,
  Field,
  Float64,
  Int32,
  Int64,
  List,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Table,
  Utf8,
  tableFromIPC,
  vectorFromArray,
} from 'apache-arrow';
import fc from 'fast-check';
import { openArrowStream } from '../../../src/arrow/stream/checked-stream.ts';
import type { CheckedStream } from '../../../src/arrow/stream/checked-stream.ts';
import { hasSameSchema, isJoinable, joinFiles } from '../../../src/arrow/stream/chunk-buffer.ts';
import type { JoinableChunk } from '../../../src/arrow/stream/chunk-buffer.ts';
import { ARROW_LIMITS, openFixture, pieces, toChunk, toStream } from '../../engine/test-engine.ts';
import { toItems, toTable } from '../../engine/sample-tables.ts';
import { NativeEngine } from '../support/native-engine.ts';
import { plainRows } from '../support/plain-rows.ts';
import type { PlainRow } from '../support/plain-rows.ts';

const POINT = new Struct([new Field('x', new Int32(), true), new Field('label', new Utf8(), true)]);

/** One column of each kind of layout: fixed width, bits, offsets, lists and structs. */
const TYPES = {
  id: new Int64(),
  flag: new Bool(),
  value: new Float64(),
  text: new Utf8(),
  list: new List(new Field('item', new Int32(), true)),
  point: POINT,
};
const SCHEMA = new Schema(Object.entries(TYPES).map(([name, type]) => new Field(name, type, true)));

const row = fc.record({
  id: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  // Of a column of nulls only the Arrow project's own writer leaves out the bits.
  flag: fc.boolean(),
  value: fc.option(fc.double({ noNaN: true })),
  text: fc.option(fc.string({ unit: 'grapheme', maxLength: 20 })),
  list: fc.option(fc.array(fc.option(fc.integer()), { maxLength: 5 })),
  point: fc.option(fc.record({ x: fc.option(fc.integer()), label: fc.option(fc.string({ maxLength: 5 })) })),
});

type SampleRow = typeof row extends fc.Arbitrary<infer Value> ? Value : never;

/** Streams, each of one or more batches; a batch may be empty. */
const streams = fc.array(fc.array(fc.array(row, { maxLength: 12 }), { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 6,
});

async function openBatches(batches: readonly (readonly SampleRow[])[]): Promise<CheckedStream> {
  const writer = new RecordBatchStreamWriter();
  for (const rows of batches) {
    const columns = Object.entries(TYPES).map(([name, type]) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The columns are the fields of a row.
      return [
        name,
        vectorFromArray(
          rows.map((each) => each[name as keyof SampleRow]),
          type,
        ),
      ] as const;
    });
    for (const batch of new Table(SCHEMA, Object.fromEntries(columns)).batches) writer.write(batch);
  }
  writer.finish();
  return openArrowStream(pieces(await writer.toUint8Array()), ARROW_LIMITS);
}

/** Compressed, sliced, nested and empty batches, and layouts that the Arrow project's own writer does not write. */
const FIXTURES = [
  'lz4',
  'multi',
  'sliced',
  'emptybatch',
  'string_view',
  'large_string',
  'list_struct',
  'nullcol',
  'v4',
];

function requireJoinable(chunk: Parameters<typeof isJoinable>[0]): JoinableChunk {
  assert.ok(isJoinable(chunk));
  return chunk;
}

function join([first, ...others]: readonly JoinableChunk[]): Buffer {
  assert.ok(first !== undefined);
  assert.ok(others.every((other) => hasSameSchema(first, other)));
  return joinFiles([first, ...others]);
}

/** A function that gives the rows that the engine reads from a file. */
async function openReader(t: TestContext): Promise<(file: Buffer) => Promise<readonly PlainRow[]>> {
  const engine = await NativeEngine.open();
  t.after(async () => engine.close());
  return async (file) => plainRows(await engine.create(file));
}

function shown(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each));
}

suite('joined files', () => {
  test('hold the rows of all streams, in order, for any reader', async (t) => {
    const read = await openReader(t);
    const property = fc.asyncProperty(streams, async (sample) => {
      const chunks = [];
      for (const batches of sample) chunks.push(requireJoinable(await toChunk(await openBatches(batches))));
      const file = join(chunks);
      const rows = sample.flat(2);
      const own = tableFromIPC(file);
      assert.equal(
        own.batches.length,
        chunks.reduce((sum, { batches }) => sum + batches, 0),
      );
      assert.deepEqual(
        own.toArray().map(shown),
        chunks.flatMap((chunk) => tableFromIPC(chunk.file).toArray().map(shown)),
      );
      assert.equal(own.numRows, rows.length);
      const byEngine = await read(file);
      const apart: PlainRow[] = [];
      for (const chunk of chunks) apart.push(...(await read(chunk.file)));
      assert.deepEqual(byEngine, apart);
      assert.deepEqual(
        byEngine.map(({ text }) => text),
        rows.map(({ text }) => text),
      );
    });
    await fc.assert(property, { numRuns: 40, endOnFailure: true });
  });

  for (const name of FIXTURES) {
    test(`of ${name} are read as its streams are`, async (t) => {
      const read = await openReader(t);
      const chunk = requireJoinable(await toChunk(await openFixture(name)));
      const once = await read(chunk.file);
      assert.deepEqual(await read(join([chunk, chunk, chunk])), [...once, ...once, ...once]);
    });
  }
});

suite('what can be joined', () => {
  test('no file with dictionaries: a file holds each dictionary once', async () => {
    for (const name of ['dict', 'dict_i8', 'dict_nested', 'dict_delta']) {
      assert.equal(isJoinable(await toChunk(await openFixture(name))), false, name);
    }
  });

  test('no file without a batch, and none that was read back from disk', async () => {
    const chunk = await toChunk(await toStream(toItems(3)));
    assert.equal(isJoinable(chunk), true);
    assert.equal(isJoinable({ ...chunk, batches: 0 }), false);
    const { layout, ...spooled } = chunk;
    assert.ok(layout !== undefined);
    assert.equal(isJoinable(spooled), false);
  });

  test('only files with the same schema message, byte for byte', async () => {
    const toJoinable = async (table: Table) => requireJoinable(await toChunk(await toStream(table)));
    const one = await toJoinable(toTable({ id: [new Int32(), [1]], n: [new Int32(), [1]] }));
    const same = await toJoinable(toTable({ id: [new Int32(), [2, null]], n: [new Int32(), [3, 4]] }));
    assert.equal(hasSameSchema(one, same), true);
    const described = new Schema(
      [new Field('id', new Int32(), true), new Field('n', new Int32(), true)],
      new Map([['a', 'b']]),
    );
    const columns = { id: vectorFromArray([1], new Int32()), n: vectorFromArray([1], new Int32()) };
    for (const other of [
      toTable({ n: [new Int32(), [1]], id: [new Int32(), [1]] }),
      toTable({ id: [new Int64(), [1n]], n: [new Int32(), [1]] }),
      toTable({ id: [new Int32(), [1]] }),
      new Table(described, columns),
      new Table(new Schema([new Field('id', new Int32(), false), new Field('n', new Int32(), true)]), columns),
    ]) {
      assert.equal(hasSameSchema(one, await toJoinable(other)), false);
    }
  });
});
