import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blobInput } from '../../../src/formats/input.ts';
import { openReader } from '../../../src/formats/open-reader.ts';
import type { ColumnChoice, Reader } from '../../../src/formats/open-reader.ts';

async function open(format: 'csv' | 'ndjson', source: string, columns: readonly ColumnChoice[] = []): Promise<Reader> {
  return openReader(blobInput(new Blob([source])), { format, columns });
}

const typesOf = ({ columns }: Reader) => columns.map(({ type }) => type);

test('lists of whole numbers that 32-bit floats would round stay lists', async () => {
  const lines = '{"ids": [123456789], "wide": [9007199254740993], "small": [16777216], "mixed": [16777217, 0.5]}\n';
  const reader = await open('ndjson', lines);
  assert.deepEqual(typesOf(reader), ['list<int64>', 'list<int64>', 'float32[1]', 'list<float64>']);
  assert.deepEqual(await reader.preview(1), [
    { ids: [123_456_789], wide: ['9007199254740993'], small: [16_777_216], mixed: [16_777_217, 0.5] },
  ]);
  assert.deepEqual(typesOf(await open('csv', 'ids;n\n[123456789];1\n[2];1\n')), ['list<int64>', 'int64']);
});

test('only columns become vectors: lists inside structs and lists stay lists', async () => {
  const lines = '{"a": {"ids": [123456789], "v": [0.5, 1]}, "b": [[1, 2], [3, 4]], "c": [{"ids": [1]}], "v": [0.5]}\n';
  const nested = ['struct<ids: list<int64>, v: list<float64>>', 'list<list<int64>>', 'list<struct<ids: list<int64>>>'];
  assert.deepEqual(typesOf(await open('ndjson', lines)), [...nested, 'float32[1]']);
  assert.deepEqual(typesOf(await open('ndjson', lines, [{ source: 'v', vector: false }])), [
    ...nested,
    'list<float64>',
  ]);
});

test('a whole number behind the first rows that a detected vector would round is refused with its line', async () => {
  const lines = `${'{"ids": [1, 2]}\n'.repeat(1500)}{"ids": [3, 123456789]}\n`;
  const read = async (columns: readonly ColumnChoice[]): Promise<void> => {
    for await (const { batch } of (await open('ndjson', lines, columns)).batches()) assert.ok(batch.numRows > 0);
  };
  await assert.rejects(
    async () => read([]),
    /Line 1501: the value of "ids" has the number 123456789, which a vector would round: .*--no-vector.*--type/,
  );
  await read([{ source: 'ids', vector: false }]);
  await read([{ source: 'ids', vector: true }]);
  await read([{ source: 'ids', type: 'float32[2]' }]);
});
