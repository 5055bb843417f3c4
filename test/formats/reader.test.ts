import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { blobInput } from '../../src/formats/input.ts';
import type { Input } from '../../src/formats/input.ts';
import { toStreamBytes } from '../../src/formats/arrow/arrow-stream.ts';
import { openReader } from '../../src/formats/open-reader.ts';
import type { ReadOptions } from '../../src/formats/open-reader.ts';
import { fixtureStream } from '../support/arrow-fixtures.ts';

const bytesInput = (bytes: Uint8Array): Input => blobInput(new Blob([bytes]));
const text = (source: string): Input => blobInput(new Blob([source]));

async function read(input: Input, options: ReadOptions): Promise<any> {
  const reader = await openReader(input, options);
  const types = Object.fromEntries(reader.columns.map(({ name, type }) => [name, type]));
  return { types, rows: await reader.preview(1000), reader };
}

async function refusal(input: Input, options: ReadOptions): Promise<string> {
  try {
    const reader = await openReader(input, options);
    for await (const { batch } of reader.batches()) assert.ok(batch.numRows > 0);
  } catch (error) {
    assert.ok(error instanceof Error && 'detail' in error, String(error));
    return String(error.detail);
  }
  throw new Error('it was read');
}

const CSV = `id,price,ok,day,at,utc,code,note,vec
1,9.5,true,2024-05-06,2024-05-06T07:08:09,2024-05-06T07:08:09.5Z,007,"a, ""b""
c","[1, 2.5]"
2,,false,2024-02-29,2024-05-06 07:08,2024-05-06T09:08:09+02:00,010,"","[3,4]"
3,-1e3,TRUE,1999-12-31,1970-01-01T00:00:00.000001,1970-01-01T00:00:00Z,x,,
`;

test('the types of a CSV file are guessed from its rows, and a preview shows the values', async () => {
  const { types, rows } = await read(text(CSV), { name: 'a.csv' });
  assert.deepEqual(types, {
    id: 'int64',
    price: 'float64',
    ok: 'bool',
    day: 'date32',
    at: 'timestamp[us]',
    utc: 'timestamp[us, UTC]',
    code: 'utf8',
    note: 'utf8',
    vec: 'float32[2]',
  });
  assert.deepEqual(rows[0], {
    id: 1,
    price: 9.5,
    ok: true,
    day: '2024-05-06',
    at: '2024-05-06T07:08:09.000000',
    utc: '2024-05-06T07:08:09.500000Z',
    code: '007',
    note: 'a, "b"\nc',
    vec: [1, 2.5],
  });
  assert.equal(rows[1].note, '', 'an empty text stands in quotes');
  assert.equal(rows[1].price, null);
  assert.equal(rows[1].utc, '2024-05-06T07:08:09.000000Z');
  assert.equal(rows[2].note, null);
  assert.equal(rows[2].at, '1970-01-01T00:00:00.000001');
  assert.equal(rows[2].vec, null);
});

test('CSV with other delimiters, line ends, a byte-order mark and no header is read', async () => {
  assert.deepEqual((await read(text('\uFEFFa;b\r\n1;2,5\r\n3;x'), { name: 'a.csv' })).rows, [
    { a: 1, b: '2,5' },
    { a: 3, b: 'x' },
  ]);
  assert.deepEqual((await read(text('a\tb\n1\t\n'), { name: 'a.tsv' })).rows, [{ a: 1, b: null }]);
  assert.deepEqual((await read(text('1,2\n'), { format: 'csv', csv: { header: false } })).rows, [
    { column1: 1, column2: 2 },
  ]);
  assert.deepEqual((await read(text('a\n1\n\n3\n'), { format: 'csv' })).rows, [{ a: 1 }, { a: null }, { a: 3 }]);
  assert.deepEqual((await read(text('a,b\n'), { format: 'csv' })).rows, []);
});

test('a CSV file that cannot be right is refused with its line', async () => {
  const csv = { format: 'csv' } as const;
  assert.match(await refusal(text('a,b\n1,2\n\n3\n'), csv), /line 4 has 1 cells; the first row has 2/);
  assert.match(await refusal(text('a,b\n"x\ny",2\n1,2,3\n'), csv), /line 4 has 3 cells/);
  assert.match(await refusal(text('a,b\n1,"2\n'), csv), /line 2 has a quote that is not closed/);
  assert.match(await refusal(text('a,b\n"1"x,2\n'), csv), /line 2 has text after a closing quote/);
  assert.match(await refusal(text('a,a\n1,2\n'), csv), /"a" twice/);
  assert.match(await refusal(text(''), csv), /empty/);
  assert.match(await refusal(bytesInput(Uint8Array.of(0x61, 0x0a, 0xff, 0xfe, 0x0a)), csv), /not valid UTF-8/);
  const late = `n,m\n${'1,2\n'.repeat(1500)}1,many\n`;
  assert.match(await refusal(text(late), csv), /Line 1502: the value of "m" is "many"; expected an integer/);
});

test('names and types of columns can be chosen, and columns skipped', async () => {
  const columns = [
    { source: 'a', name: 'id', type: 'int32' },
    { source: 'b', skip: true },
    { source: 'c', type: 'decimal128(6, 2)' },
  ];
  const { types, rows } = await read(text('a,b,c\n1,2,3.5\n'), { format: 'csv', columns });
  assert.deepEqual(types, { id: 'int32', c: 'decimal128(6, 2)' });
  assert.deepEqual(rows, [{ id: 1, c: '3.50' }]);
  const csv = text('a,b\n1,2\n');
  assert.match(await refusal(csv, { format: 'csv', columns: [{ source: 'z' }] }), /no column "z".*"a", "b"/);
  assert.match(
    await refusal(text('name\nx\n'), { format: 'csv', columns: [{ source: 'nmae' }] }),
    /no column "nmae"\. Did you mean "name"\?/,
  );
  assert.match(await refusal(csv, { format: 'csv', columns: [{ source: 'a', name: 'b' }] }), /named "b"/);
  assert.match(await refusal(csv, { format: 'csv', columns: [{ source: 'a', type: 'number' }] }), /not a type.*int64/);
});

test('the types of NDJSON are guessed, with structs, lists, vectors and long numbers', async () => {
  const lines = [
    '{"id": 9007199254740993, "v": [1, 2], "tags": ["a"], "who": {"name": "x", "age": 3}, "f": 1, "n": null}',
    '',
    '{"id": -9223372036854775808, "v": [0.5, 3], "tags": [], "who": {"name": null}, "f": 2.5, "late": "2024-05-06"}',
    '{"id": 3, "f": "NaN", "mixed": 1}',
    '{"id": 4, "mixed": {"a": 1}}',
  ].join('\n');
  const { types, rows } = await read(text(lines), { name: 'a.ndjson' });
  assert.deepEqual(types, {
    id: 'int64',
    v: 'float32[2]',
    tags: 'list<utf8>',
    who: 'struct<name: utf8, age: int64>',
    f: 'float64',
    n: 'utf8',
    late: 'date32',
    mixed: 'utf8',
  });
  assert.equal(rows.length, 4);
  assert.equal(rows[0].id, '9007199254740993');
  assert.equal(rows[1].id, '-9223372036854775808');
  assert.deepEqual(rows[1].who, { name: null, age: null });
  assert.deepEqual(rows[2].v, null);
  assert.equal(rows[2].f, 'NaN');
  assert.equal(rows[3].mixed, '{"a":1}');
});

test('NDJSON that cannot be right is refused with its line', async () => {
  const ndjson = { format: 'ndjson' } as const;
  assert.match(await refusal(text('{"a": 1}\n{"a": \n'), ndjson), /Line 2 is not valid JSON/);
  assert.match(await refusal(text('{"a": 1}\n3\n'), ndjson), /Line 2 is not a JSON object/);
  const late = `${'{"v": [1, 2]}\n'.repeat(1500)}{"v": [1]}\n`;
  assert.match(await refusal(text(late), ndjson), /Line 1501: the value of "v" has 1 values instead of 2/);
  const stranger = `${'{"a": 1}\n'.repeat(1500)}{"b": 1}\n`;
  assert.match(await refusal(text(stranger), ndjson), /Line 1501 has a column "b"/);
  const { reader } = await read(text(stranger), { ...ndjson, columns: [{ source: 'b', type: 'int8' }] });
  assert.deepEqual(
    reader.columns.map(({ name }: { name: string }) => name),
    ['a', 'b'],
  );
});

test('a column that a JSON file has nowhere cannot be chosen, unless other files may have it', async () => {
  const ndjson = { format: 'ndjson' } as const;
  const lines = (count: number, last: string): string => `${'{"price": 1}\n'.repeat(count)}${last}\n`;
  for (const count of [1, 1500]) {
    const file = (): Input => text(lines(count, '{"price": 2}'));
    for (const choice of [{ type: 'int8' }, { skip: true }, { vector: true }]) {
      const columns = [{ source: 'prise', ...choice }];
      const said = await refusal(file(), { ...ndjson, columns });
      assert.match(said, /The file has no column "prise"\. Did you mean "price"\?/);
    }
    const columns = [{ source: 'note', type: 'utf8' }];
    assert.match(await refusal(file(), { ...ndjson, columns }), /has no column "note"\. Its columns are "price"\./);
    const { types } = await read(file(), { ...ndjson, columns, mayLackColumns: true });
    assert.deepEqual(types, { price: 'int64', note: 'utf8' });
  }
});

test('a column that only later lines of a JSON file have can be skipped', async () => {
  const late = text(`${'{"a": 1}\n'.repeat(1500)}{"a": 2, "b": 3}\n`);
  const reader = await openReader(late, { format: 'ndjson', columns: [{ source: 'b', skip: true }] });
  let rows = 0;
  for await (const { batch } of reader.batches()) rows += batch.numRows;
  assert.deepEqual([rows, reader.columns.map(({ name }) => name)], [1501, ['a']]);
});

test('a JSON array of objects is read like lines, with the line where each object begins', async () => {
  const rows = [{ a: 1, s: 'x ]},{ "\\ y', l: [[1], [2, 3]] }, { a: 2, s: null, l: [] }, { a: 9007199254740993n }];
  const source = `\ufeff [\n  {"a": 1, "s": "x ]},{ \\"\\\\ y",\n "l": [[1], [2, 3]]},\n{"a":2,"s":null,"l":[]} ,{"a": 9007199254740993}]\n`;
  for (const input of [text(source), text(source.slice(1))]) {
    const { types, rows: found } = await read(input, { name: 'a.json' });
    assert.deepEqual(types, { a: 'int64', s: 'utf8', l: 'list<list<int64>>' });
    assert.deepEqual(
      found.map(({ a, s }: { a: unknown; s: unknown }) => [String(a), s]),
      rows.map(({ a, s = null }) => [String(a), s]),
    );
  }
  const long = `[${'{"v": [1, 2]},\n'.repeat(1500)}{"v": [1]}]`;
  assert.match(await refusal(text(long), { name: 'a.json' }), /Line 1501: the value of "v" has 1 values/);
});

test('a JSON array that cannot be right is refused with its line', async () => {
  for (const [source, reason] of [
    ['[{"a": 1},\n{"a": 2}', /Line 2 ends the file inside a JSON array/],
    ['[{"a": 1},\n{"a": "2}]', /Line 2 ends the file inside a JSON array/],
    ['[{"a": 1},\n3]', /Line 2 is not part of an array of objects/],
    ['[{"a": 1}\n{"a": 2}]', /Line 2 is not part of an array of objects/],
    ['[{"a": 1},\n]', /Line 2 is not part of an array of objects/],
    ['[{"a": 1}]\n{"a": 2}', /Line 2 is not part of an array of objects/],
    ['[{"a": 1},\n{"a": 2 3}]', /Line 2 is not valid JSON/],
    ['[]', /The JSON file has no columns/],
  ] as const) {
    assert.match(await refusal(text(source), { name: 'a.json' }), reason, source);
  }
});

test('the format is known by the contents first, then by the name', async () => {
  const plain = fixtureStream('plain');
  assert.equal((await openReader(bytesInput(plain), { name: 'a.csv' })).format, 'arrow');
  assert.equal((await openReader(text('{"a": 1}'), {})).format, 'ndjson');
  assert.equal((await openReader(text('[{"a": 1}]'), {})).format, 'ndjson');
  assert.equal((await openReader(text('{"a": 1}'), { name: 'x.JSONL' })).format, 'ndjson');
  assert.equal((await openReader(text('a,b\n1,2'), {})).format, 'csv');
  assert.match(
    await refusal(bytesInput(Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7, 8)), {}),
    /unknown format.*arrow, parquet/,
  );
  assert.match(
    await refusal(bytesInput(gzipSync('a,b\n1,2')), { name: 'a.csv' }),
    /^The file is compressed\. Decompress/,
  );
  assert.match(await refusal(text('x'.repeat(64)), { format: 'parquet' }), /not a Parquet file/);
  assert.match(await refusal(text('PAR1'.repeat(2)), { format: 'parquet' }), /not a Parquet file/);
  assert.match(await refusal(text('x'.repeat(64)), { format: 'arrow' }), /not an Arrow/);
  assert.match(await refusal(bytesInput(plain.subarray(0, plain.length / 2)), {}), /not an Arrow/);
});

test('an Arrow stream is read in batches of the wanted size, and comes out as it went in', async () => {
  const plain = fixtureStream('plain');
  const whole = tableFromIPC(plain);
  const reader = await openReader(bytesInput(plain), { batchRows: 7 });
  const batches = [];
  for await (const { batch } of reader.batches()) {
    assert.ok(batch.numRows <= 7);
    batches.push(batch);
  }
  const again = tableFromIPC(toStreamBytes(reader.schema, batches));
  assert.deepEqual(again.toArray().map(String), whole.toArray().map(String));
  const chosen = [
    { source: 'id', name: 'key', type: 'utf8' },
    { source: 'vec', skip: true },
  ];
  const { types, rows } = await read(bytesInput(plain), { columns: chosen });
  assert.deepEqual(types, { key: 'utf8', s: 'utf8' });
  assert.equal(rows[0].key, String(whole.get(0)?.id));
});
