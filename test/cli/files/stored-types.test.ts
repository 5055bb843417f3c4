import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Field, FixedSizeBinary, Schema, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { expectedTables, fixtureStream } from '../../support/arrow-fixtures.ts';
import { Client } from '../../support/client.ts';
import { readOn, runCliOn } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
let folder: string;

before(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-types-'));
});
after(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function cli(...argv: readonly string[]): Promise<string> {
  return readOn(server.url, argv);
}

for (const [name, row] of [
  ['dict', { id: 50, d: 'new' }],
  ['dict_nested', { st: { d: 'new' } }],
  ['dict_int_values', { id: 50, d: 70 }],
  ['large_list', { x: [7, 8, 9] }],
] as const) {
  test(`rows of a JSON file are added to a table with columns such as ${name}`, async () => {
    const client = new Client(server.url);
    const { rows } = expectedTables()[name] ?? assert.fail();
    await client.arrow(`/v1/table/${name}/create`, fixtureStream(name));
    const file = join(folder, `${name}.ndjson`);
    await writeFile(file, `${JSON.stringify(row)}\n`);
    await cli('import', file, name, '--mode', 'append');
    const exported = (await cli('export', name, '-', '--format', 'ndjson')).trim().split('\n');
    assert.equal(exported.length, rows + 1);
    assert.deepEqual(JSON.parse(exported.at(-1) ?? ''), row);
  });
}

test('an Arrow stream with lists of 64-bit offsets is added to a table as it is', async () => {
  const file = join(folder, 'lists.arrows');
  await writeFile(file, fixtureStream('large_list'));
  await cli('import', file, 'lists');
  await cli('import', file, 'lists', '--mode', 'append');
  assert.equal((await cli('export', 'lists', '-', '--format', 'ndjson')).trim().split('\n').length, 30);
});

for (const name of ['large_list', 'dict_delta', 'dict_nested', 'plain']) {
  test(`an Arrow file that was exported from a table like ${name} is imported again`, async () => {
    const client = new Client(server.url);
    const source = `of_${name}`;
    const send = async (operation: string) => client.arrow(`/v1/table/${source}/${operation}`, fixtureStream(name));
    const comeBack = async (copy: string, condition = 'true'): Promise<void> => {
      const file = join(folder, `${copy}.arrow`);
      await cli('export', source, file, '--where', condition);
      await cli('import', file, copy);
      const exported = await cli('export', source, '-', '--format', 'ndjson', '--where', condition);
      assert.equal(await cli('export', copy, '-', '--format', 'ndjson'), exported);
      const [had, has] = await Promise.all(
        [source, copy].map(async (table) => client.post(`/v1/table/${table}/describe`, {})),
      );
      assert.deepEqual(has?.json.schema, had?.json.schema);
    };
    await send('create');
    await comeBack(`one_${name}`);
    await comeBack(`none_${name}`, 'false');
    await send('insert');
    await comeBack(`two_${name}`);
  });
}

test('types that CSV and Parquet cannot have are refused, with the formats that can', async () => {
  await new Client(server.url).arrow('/v1/table/long/create', fixtureStream('large_list'));
  for (const format of ['csv', 'parquet']) {
    const { code, err } = await runCliOn(server.url, ['export', 'long', join(folder, `long.${format}`)]);
    assert.equal(code, 1);
    assert.match(err, /Large lists, .*export to Arrow or NDJSON/);
  }
});

test('UUIDs come back from every format that they are exported to', async () => {
  const client = new Client(server.url);
  const uuid = Uint8Array.from({ length: 16 }, (_unused, index) => 17 * index);
  const field = new Field('x', new FixedSizeBinary(16), true, new Map([['ARROW:extension:name', 'arrow.uuid']]));
  const table = new Table(new Schema([field]), { x: vectorFromArray([uuid, null], new FixedSizeBinary(16)) });
  const { status, text } = await client.arrow('/v1/table/uuids/create', tableToIPC(table, 'stream'));
  assert.equal(status, 200, text);
  const row = '{"x":"00112233-4455-6677-8899-aabbccddeeff"}\n{"x":null}\n';
  for (const [index, extension] of ['ndjson', 'csv', 'arrow', 'parquet'].entries()) {
    const file = join(folder, `uuids.${extension}`);
    await cli('export', 'uuids', file, '--limit', '2');
    await cli('import', file, 'uuids', '--mode', 'append');
    assert.equal(await cli('export', 'uuids', '-', '--format', 'ndjson'), row.repeat(index + 2));
  }
});
