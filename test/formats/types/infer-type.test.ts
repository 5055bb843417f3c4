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

const rowsOf = async (reader: Reader) => (await reader.preview(10)).map((row) => Object.values(row));

test('whole numbers of JSON keep all their digits, in lists and structs too', async () => {
  const line = (number: string): string =>
    `{"n": ${number}, "l": [${number}], "s": {"n": ${number}}, "o": [[${number}]]}`;
  const nested = (type: string) => [type, `list<${type}>`, `struct<n: ${type}>`, `list<list<${type}>>`];
  for (const { numbers, type } of [
    { numbers: ['9007199254740993', '9223372036854775807'], type: 'int64' },
    { numbers: ['9007199254740993', '18446744073709551615', '0'], type: 'uint64' },
    { numbers: ['9223372036854775809', '-1'], type: 'utf8' },
    { numbers: ['18446744073709551617', '9007199254740993'], type: 'utf8' },
    { numbers: ['1.5', '9007199254740993'], type: 'utf8' },
    { numbers: ['18446744073709551615', '"NaN"'], type: 'utf8' },
  ]) {
    for (const text of [numbers.map(line).join('\n'), `[${numbers.map(line).join()}]`]) {
      const reader = await open('ndjson', text, [{ source: 'l', vector: false }]);
      assert.deepEqual(typesOf(reader), nested(type), numbers.join());
      const rows = await rowsOf(reader);
      for (const [index, number] of numbers.entries()) {
        const n = String(rows[index]?.[0]);
        assert.equal(n, number.replaceAll('"', ''));
        assert.equal(JSON.stringify(rows[index]).replaceAll('"', ''), `[${n},[${n}],{n:${n}},[[${n}]]]`);
      }
    }
  }
});

test('numbers are floats only if these keep the digits of the whole ones', async () => {
  assert.deepEqual(typesOf(await open('csv', 'n,m\n1.5,1.5\n9007199254740993,9007199254740992\n')), [
    'utf8',
    'float64',
  ]);
  assert.deepEqual(typesOf(await open('ndjson', '{"n": 0.5}\n{"n": 100000000000000000000}\n{"n": -3}\n')), ['float64']);
  const [column] = (await open('ndjson', '{"n": 0.5}\n{"n": 9007199254740993}\n')).columns;
  assert.equal(column?.reason, 'numbers that float64 would round');
});

test('a whole number behind the first rows that a detected float would round is refused with its line', async () => {
  const read = async (format: 'csv' | 'ndjson', text: string, columns: readonly ColumnChoice[] = []): Promise<void> => {
    for await (const { batch } of (await open(format, text, columns)).batches()) assert.ok(batch.numRows > 0);
  };
  const csv = `n,m\n${'0.5,x\n'.repeat(1500)}9007199254740993,y\n`;
  const refused = /Line 150\d: the value of "n" is "9007199254740993"; expected a number that float64 does not round/;
  await assert.rejects(async () => read('csv', csv), refused);
  await read('csv', csv, [{ source: 'n', type: 'float64' }]);
  await read('csv', csv, [{ source: 'n', type: 'utf8' }]);
  for (const value of ['0.5', '[[0.5]]', '{"a": [0.5]}']) {
    const lines = `{"n": ${value}}\n`.repeat(1500) + `{"n": ${value.replace('0.5', '9007199254740993')}}\n`;
    await assert.rejects(async () => read('ndjson', lines), refused);
    await assert.rejects(async () => read('ndjson', lines, [{ source: 'n', vector: false }]), refused);
  }
});
