import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { tableFromIPC, tableToIPC } from 'apache-arrow';
import { readEngineRelease } from '../../src/engine/native/engine-release.ts';
import { ContractServer, plainRows } from '../contract/contract-server.ts';
import type { MadeTable } from '../contract/contract-server.ts';
import { connectApart } from '../engine/test-engine.ts';
import { NO_OBJECT_STORES } from '../storage/object/test-stores.ts';
import { sampleStream } from '../support/arrow-tables.ts';
import { S3Emulator } from '../support/s3/s3-emulator.ts';
import { stageVersion } from '../support/staged-version.ts';

const NAMES = ['Café', '漢字', '100% [~#*^]'];

/** A folder with nothing in it but the folder to serve. */
async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-names-'));
  t.after(async () => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function start(t: TestContext, folder: string): Promise<ContractServer> {
  const flags = ['--maintenance-retention-seconds=0', '--maintenance-reader-seconds=0', '--maintenance-versions-min=1'];
  const server = await ContractServer.start({ folder, flags });
  t.after(async () => server.close());
  return server;
}

async function done(server: ContractServer, table: MadeTable, operation: string, body: object = {}) {
  const { status, text, json } = await server.admin.post(`${table.at}/${operation}`, body);
  assert.equal(status, 200, `${operation}: ${text}`);
  return json;
}

for (const name of NAMES) {
  test(`the data folder may be named ${name}: nothing is written beside it`, async (t) => {
    const folder = await newFolder(t);
    const server = await start(t, join(folder, name));
    const table = await server.table({
      stream: sampleStream(4),
      query: { properties: '{"managed_versioning":"true"}' },
    });
    const insert = async (query = '') =>
      assert.equal((await server.admin.arrow(`${table.at}/insert${query}`, sampleStream(2))).status, 200);
    await insert();
    await done(server, table, 'tags/create', { tag: 'first', version: 1 });
    await done(server, table, 'tags/update', { tag: 'first', version: 2 });
    await done(server, table, 'branches/create', { name: 'trial' });
    await insert('?branch=trial');
    for (const branch of [undefined, 'trial']) {
      const staged = await stageVersion(table.location, async (each) => each.delete('id = 0'), branch);
      await done(server, table, 'version/create', branch === undefined ? staged : { ...staged, branch });
    }
    await done(server, table, 'create_scalar_index', { column: 'id', index_type: 'BTREE' });
    await done(server, table, 'restore', { version: 1 });
    await done(server, table, 'tags/delete', { tag: 'first' });
    await done(server, table, 'delete', { predicate: 'id >= 0' });
    // Only the branch needs the first rows now.
    assert.ok((await done(server, table, 'maintenance/run')).result.versions_removed > 0);
    const copy = { id: 'copy', at: '/v1/table/copy', location: '', version: 1 };
    await done(server, copy, 'clone', { source_location: table.location, source_branch: 'trial' });
    assert.equal(await done(server, table, 'count_rows'), 0);
    assert.equal(await done(server, table, 'count_rows', { branch: 'trial' }), 5);
    assert.equal(await done(server, copy, 'count_rows'), 5);
    const embedded = await (await server.embedded(table)).branches();
    assert.equal((await plainRows(await embedded.checkout('trial'))).length, 5);
    await done(server, table, 'branches/delete', { name: 'trial' });
    await done(server, table, 'drop');
    assert.deepEqual(await readdir(folder), [name]);
  });
}

test('a branch that the engine cannot create is refused and leaves nothing; tags need nothing beside the folder', async (t) => {
  if (readEngineRelease().isFallback) return t.skip('the fallback uses the folder itself');
  const folder = await newFolder(t);
  const server = await start(t, join(folder, 'Café'));
  const table = await server.table({ stream: sampleStream(4) });
  const inTheWay = join(folder, 'Caf%C3%A9');
  await writeFile(inTheWay, '');
  const { status, json } = await server.admin.post(`${table.at}/branches/create`, { name: 'trial' });
  assert.equal(status, 406);
  assert.match(json.detail, /Branches cannot be created in this folder: .* only ASCII letters/);
  assert.ok(!(await readdir(table.location)).includes('tree'));
  await done(server, table, 'tags/create', { tag: 'first', version: 1 });
  await done(server, table, 'tags/update', { tag: 'first', version: 1 });
  assert.deepEqual((await readdir(folder)).toSorted(), ['Caf%C3%A9', 'Café']);
  await rm(inTheWay);
  await done(server, table, 'branches/create', { name: 'trial' });
  assert.deepEqual(await readdir(folder), ['Café']);
});

test('the engine itself writes beside such a folder', async (t) => {
  const folder = await newFolder(t);
  await mkdir(join(folder, 'Café'));
  const connection = await connectApart(t, join(folder, 'Café'));
  const file = Buffer.from(tableToIPC(tableFromIPC(sampleStream(1)), 'file'));
  const table = await connection.createTable('a', file, 'create', [], {});
  await (await table.tags()).create('first', 1);
  table.close();
  const beside = readEngineRelease().isFallback ? [] : ['Caf%C3%A9'];
  assert.deepEqual(await readdir(folder), [...beside, 'Café']);
});

test('a folder whose path the engine would cut off is refused before anything is created', async (t) => {
  const folder = await newFolder(t);
  await assert.rejects(ContractServer.start({ folder: join(folder, 'a?b') }), {
    kind: 'Unsupported',
    message: /storage root of the database must not contain "\?", which ends the path of a URL/,
    hint: 'Choose another path.',
  });
  assert.deepEqual(await readdir(folder), []);
});

test('a database that an earlier release gave such an address is refused', { skip: NO_OBJECT_STORES }, async (t) => {
  const folder = await newFolder(t);
  const { storageOptions, objects } = await S3Emulator.start(t);
  const flags = [`--storage-options=${JSON.stringify(storageOptions)}`];
  const first = await ContractServer.start({ folder, flags });
  await first.catalog.databases.create({ name: 'odd', root: 's3://tables/a#b' });
  await first.close();
  const server = await ContractServer.start({ folder, flags });
  t.after(async () => server.close());
  await server.table();
  const odd = server.client({ headers: { 'x-lancedb-database': 'odd' } });
  const { status, json } = await odd.arrow('/v1/table/a/create', sampleStream(1));
  assert.equal(status, 406);
  assert.match(json.detail, /must not contain "#"/);
  assert.deepEqual(objects.paths('tables/'), []);
});
