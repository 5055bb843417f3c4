import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Dictionary, Field, Schema, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import type { Terminal } from '../../../src/cli/command.ts';
import { runCliOn } from '../../support/run-cli.ts';
import type { Outcome } from '../../support/run-cli.ts';
import { Int32, Utf8, toStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
let folder: string;
before(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-cli-upsert-'));
  await writeFile(join(folder, 'stock.csv'), 'id,item,count\n1,lamp,5\n2,chair,7\n3,desk,9\n');
  await writeFile(join(folder, 'changes.csv'), 'id,item,count\n2,chair,70\n4,sofa,1\n');
  await writeFile(
    join(folder, 'changes.ndjson'),
    '{"id":1,"item":"lamp","count":50}\n{"id":5,"item":"rug","count":2}\n',
  );
});
after(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function run(argv: readonly string[], terminal: Partial<Terminal> = {}): Promise<Outcome> {
  return runCliOn(server.url, argv, terminal);
}

async function fresh(table: string): Promise<void> {
  const { code, err } = await run(['import', join(folder, 'stock.csv'), table]);
  assert.equal(code, 0, err);
}

async function counts(table: string): Promise<Readonly<Record<string, number>>> {
  const { out } = await run(['query', table, '--limit', 'all', '--json']);
  const { rows } = JSON.parse(out) as { rows: readonly { item: string; count: number }[] };
  return Object.fromEntries(rows.map(({ item, count }) => [item, count]));
}

test('updates rows that match, inserts the others, and keeps the rest', async () => {
  await fresh('a');
  const { code, out, err } = await run(['upsert', 'a', join(folder, 'changes.csv'), '--on', 'id']);
  assert.equal(code, 0, err);
  assert.match(out, /^Merged 1 file \(\d+ B\) into a in \d+\.\d s: 1 row inserted, 1 row updated\.\n$/);
  assert.deepEqual(await counts('a'), { lamp: 5, chair: 70, desk: 9, sofa: 1 });
});

test('reads several files of several formats, and can be run again', async () => {
  await fresh('b');
  const files = [join(folder, 'changes.csv'), join(folder, 'changes.ndjson')];
  for (const inserted of [2, 0]) {
    const { code, out, err } = await run(['upsert', 'b', ...files, '--on', 'id', '--json']);
    assert.equal(code, 0, err);
    assert.equal(JSON.parse(out).inserted, inserted);
  }
  assert.deepEqual(await counts('b'), { lamp: 50, chair: 70, desk: 9, sofa: 1, rug: 2 });
});

test('skips rows as asked, and updates only where a condition is true', async () => {
  await fresh('c');
  const changes = join(folder, 'changes.csv');
  await run(['upsert', 'c', changes, '--on', 'id', '--when-matched', 'skip']);
  assert.deepEqual(await counts('c'), { lamp: 5, chair: 7, desk: 9, sofa: 1 });
  await run([
    'upsert',
    'c',
    changes,
    '--on',
    'id',
    '--when-not-matched=skip',
    '--update-where',
    'source.count < target.count',
  ]);
  assert.deepEqual(await counts('c'), { lamp: 5, chair: 7, desk: 9, sofa: 1 });
  await run(['upsert', 'c', changes, '--on', 'id,item', '--when-not-matched=skip']);
  assert.deepEqual(await counts('c'), { lamp: 5, chair: 70, desk: 9, sofa: 1 });
});

test('encodes text as the table does', async () => {
  const item = new Dictionary(new Utf8(), new Int32());
  const stream = toStream(
    { id: [new Int32(), (row) => row], item: [item, (row) => `item ${row}`], count: [new Int32(), () => 1] },
    2,
  );
  assert.equal((await new Client(server.url).arrow('/v1/table/encoded/create', stream)).status, 200);
  const { code, err } = await run(['upsert', 'encoded', join(folder, 'changes.ndjson'), '--on', 'id']);
  assert.equal(code, 0, err);
  assert.deepEqual(await counts('encoded'), { 'item 0': 1, lamp: 50, rug: 2 });
});

test('writes text to a column of JSON', async () => {
  const doc = new Field('doc', new Utf8(), true, new Map([['ARROW:extension:name', 'arrow.json']]));
  const id = new Field('id', new Int32(), true);
  const rows = { id: vectorFromArray([1], new Int32()), doc: vectorFromArray(['{"a": 1}'], new Utf8()) };
  const stream = tableToIPC(new Table(new Schema([id, doc]), rows), 'stream');
  assert.equal((await new Client(server.url).arrow('/v1/table/docs/create', stream)).status, 200);
  const file = join(folder, 'docs.ndjson');
  await writeFile(file, '{"id":1,"doc":"{\\"a\\":2}"}\n{"id":2,"doc":"[3]"}\n');
  const { code, err } = await run(['upsert', 'docs', file, '--on', 'id']);
  assert.equal(code, 0, err);
  const { out } = await run(['export', 'docs', '-', '--format', 'ndjson', '--order-by', 'id']);
  assert.equal(out, '{"id":1,"doc":"{\\"a\\":2}"}\n{"id":2,"doc":"[3]"}\n');
});

test('previews without changing the table, and merges when that is agreed to', async () => {
  await fresh('d');
  const argv = ['upsert', 'd', join(folder, 'changes.csv'), '--on', 'id', '--preview'];
  const preview = await run(argv);
  assert.equal(preview.code, 0, preview.err);
  assert.match(
    preview.err,
    /^In d, this would change: 1 row inserted, 1 row updated\.\nNothing was changed: add --yes/,
  );
  assert.deepEqual(JSON.parse((await run([...argv, '--json'])).out).preview.inserted, 1);
  assert.match((await run(argv, { ask: async () => 'n' })).err, /Nothing was changed\.\n$/);
  assert.deepEqual(await counts('d'), { lamp: 5, chair: 7, desk: 9 });
  assert.equal((await run(['branch', 'list', 'd'])).out, '', 'the branch of the preview is deleted');
  assert.match((await run(argv, { ask: async () => 'y' })).out, /1 row inserted/);
  assert.deepEqual(await counts('d'), { lamp: 5, chair: 70, desk: 9, sofa: 1 });
});

test('deletes rows that are not in the file only when asked and confirmed, and only from one part', async () => {
  await fresh('e');
  const argv = ['upsert', 'e', join(folder, 'changes.csv'), '--on', 'id', '--when-not-in-file', 'delete'];
  assert.equal((await run(argv)).code, 2);
  assert.equal((await run(argv, { ask: async () => 'n' })).code, 0);
  assert.deepEqual(await counts('e'), { lamp: 5, chair: 7, desk: 9 });
  const parts = await run([...argv, '--yes', '--batch-rows', '1']);
  assert.equal(parts.code, 2);
  assert.match(parts.err, /needs all rows in one file/);
  assert.deepEqual(await counts('e'), { lamp: 5, chair: 7, desk: 9 });
  await run([...argv, '--delete-where', 'id < 3', '--yes']);
  assert.deepEqual(await counts('e'), { chair: 70, desk: 9, sofa: 1 });
  await run([...argv, '--yes']);
  assert.deepEqual(await counts('e'), { chair: 70, sofa: 1 });
});

test('refuses wrong options, and a table that does not exist', async () => {
  const file = join(folder, 'changes.csv');
  for (const argv of [
    ['x', file],
    [file, 'x', '--on', 'id'],
    ['x', file, '--on', 'id', '--when-matched', 'delete'],
    ['x', file, '--on', 'id', '--when-matched=skip', '--when-not-matched=skip'],
    ['x', file, '--on', 'id', '--delete-where', 'true'],
    ['x', '--on', 'id'],
  ]) {
    assert.equal((await run(['upsert', ...argv])).code, 2, argv.join(' '));
  }
  assert.equal((await run(['upsert', 'nothing', file, '--on', 'id'])).code, 5);
  await fresh('f');
  assert.equal((await run(['upsert', 'f', file, '--on', 'key'])).code, 5);
});
