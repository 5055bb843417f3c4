import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field, Schema } from 'apache-arrow';
import fc from 'fast-check';
import { blobInput } from '../../src/formats/input.ts';
import { openReader } from '../../src/formats/open-reader.ts';
import type { ReadOptions, Reader } from '../../src/formats/open-reader.ts';
import { makeBatch } from '../../src/formats/row-batches.ts';
import { buildData } from '../../src/formats/types/build-data.ts';
import { parseType } from '../../src/formats/types/type-text.ts';
import { valuesOf } from '../../src/formats/types/values-of.ts';
import { writeRows } from '../../src/formats/write-rows.ts';

/** A file with one column. */
async function fileOf(format: 'arrow' | 'parquet', type: string, values: readonly unknown[]): Promise<Blob> {
  const schema = new Schema([new Field('v', parseType(type), true)]);
  const batch = makeBatch(schema, [buildData(parseType(type), values)], values.length);
  const pieces: Uint8Array[] = [];
  for await (const piece of writeRows(format, schema, [batch])) pieces.push(piece);
  return new Blob(pieces);
}

async function open(file: Blob | string, options: ReadOptions = {}): Promise<Reader> {
  return openReader(blobInput(typeof file === 'string' ? new Blob([file]) : file), options);
}

async function valuesIn(reader: Reader): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const { batch } of reader.batches()) values.push(...batch.data.children.flatMap((data) => valuesOf(data)));
  return values;
}

const typesOf = ({ columns }: Reader) => columns.map(({ type }) => type);
const list = (length: number, start = 0) => Array.from({ length }, (_unused, index) => start + index / 2);

for (const format of ['arrow', 'parquet'] as const) {
  test(`lists of floats of one length are vectors when they are read from ${format}`, async () => {
    for (const item of ['float32', 'float64', 'float16']) {
      const lists = [list(8), null, list(8, 3)];
      const reader = await open(await fileOf(format, `list<${item}>`, lists));
      assert.deepEqual(typesOf(reader), [`${item}[8]`]);
      assert.deepEqual(reader.columns[0]?.reason, `list<${item}> in the file; the first 2 lists have 8 values`);
      assert.equal(reader.sourceColumns[0]?.type, `list<${item}>`);
      assert.deepEqual(await valuesIn(reader), lists);
    }
  });

  test(`other lists stay lists when they are read from ${format}`, async () => {
    for (const [type, values] of [
      ['list<float32>', [list(8), list(9)]],
      ['list<float32>', [list(7), list(7)]],
      ['list<float32>', [null, null]],
      ['list<int64>', [list(8).map(() => 1n)]],
      ['list<utf8>', [['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']]],
    ] as const) {
      const reader = await open(await fileOf(format, type, values));
      assert.deepEqual(typesOf(reader), [type]);
      assert.equal((await valuesIn(reader)).length, values.length);
    }
  });

  test(`a choice decides before what is detected in ${format}`, async () => {
    const file = await fileOf(format, 'list<float64>', [list(8), list(8)]);
    const typeWith = async (choice: object): Promise<string | undefined> => {
      return (await open(file, { columns: [{ source: 'v', ...choice }] })).columns[0]?.type;
    };
    assert.equal(await typeWith({ vector: false }), 'list<float64>');
    assert.equal(await typeWith({ vector: 8 }), 'float64[8]');
    assert.equal(await typeWith({ type: 'vector[8]' }), 'float32[8]');
    const short = await fileOf(format, 'list<int32>', [
      [1, 2],
      [3, 4],
    ]);
    const reader = await open(short, { columns: [{ source: 'v', vector: true }] });
    assert.deepEqual(typesOf(reader), ['float32[2]']);
    assert.deepEqual(await valuesIn(reader), [
      [1, 2],
      [3, 4],
    ]);
    const differing = await fileOf(format, 'list<float32>', [[1], [1, 2, 3]]);
    await assert.rejects(
      async () => open(differing, { columns: [{ source: 'v', vector: true }] }),
      /from 1 to 3 values/,
    );
    const text = await fileOf(format, 'utf8', ['a']);
    await assert.rejects(async () => open(text, { columns: [{ source: 'v', vector: true }] }), /"v" has the type utf8/);
  });

  test(`a list of another length behind the first rows of ${format} is refused with its row`, async () => {
    const lists = [...Array.from({ length: 1500 }, () => list(8)), list(7)];
    const file = await fileOf(format, 'list<float32>', lists);
    const reader = await open(file);
    assert.deepEqual(typesOf(reader), ['float32[8]']);
    await assert.rejects(async () => valuesIn(reader), /Row 1501: the value of "v" has 7 values instead of 8/);
    assert.deepEqual((await valuesIn(await open(file, { columns: [{ source: 'v', vector: false }] }))).length, 1501);
  });
}

test('vectors keep their values, with nulls at any row and in batches of any size', async () => {
  const float32 = fc.float({ noNaN: true }).map(Math.fround);
  const vector = fc.array(float32, { minLength: 8, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.option(vector), { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 1, max: 7 }),
      fc.constantFrom('float32', 'float64'),
      async (lists, batchRows, item) => {
        for (const format of ['arrow', 'parquet'] as const) {
          const file = await fileOf(format, `list<${item}>`, lists);
          const columns = [{ source: 'v', type: 'float32[8]' }];
          assert.deepEqual(await valuesIn(await open(file, { batchRows, columns })), lists);
        }
      },
    ),
    { numRuns: 30 },
  );
});

test('the plan of a text file says why each column has its type', async () => {
  const csv = `id,price,ok,day,at,note,meta,v,empty
1,9.5,true,2024-05-06,2024-05-06T07:08:09Z,x,"{""a"": 1}","[1,2,3]",
2,1,false,2024-05-07,2024-05-06T07:08:10Z,7,"{""b"": []}","[4,5,6]",
`;
  const { columns } = await open(csv, { name: 'a.csv' });
  assert.deepEqual(
    columns.map(({ name, type, reason }) => [name, type, reason]),
    [
      ['id', 'int64', 'whole numbers'],
      ['price', 'float64', 'numbers'],
      ['ok', 'bool', 'true and false'],
      ['day', 'date32', 'ISO dates'],
      ['at', 'timestamp[us, UTC]', 'ISO timestamps with a zone'],
      ['note', 'utf8', 'values of different kinds'],
      ['meta', 'utf8', 'JSON objects, kept as text'],
      ['v', 'float32[3]', 'lists of 3 numbers each'],
      ['empty', 'utf8', 'no values'],
    ],
  );
  const kept = await open(csv, { name: 'a.csv', columns: [{ source: 'v', vector: false }] });
  assert.equal(kept.columns.find(({ name }) => name === 'v')?.type, 'list<int64>');
  const lines = '{"v": [1, 2], "w": [1.5], "n": {"a": 1}}\n{"v": [3], "w": [2]}\n';
  assert.deepEqual(
    (await open(lines, { name: 'a.ndjson' })).columns.map(({ type, reason }) => [type, reason]),
    [
      ['list<int64>', 'lists of different lengths'],
      ['float32[1]', 'lists of 1 number each'],
      ['struct<a: int64>', 'objects'],
    ],
  );
});
