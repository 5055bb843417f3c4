import assert from 'node:assert/strict';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import type { Answer } from '../support/client.ts';
import { S3Emulator } from '../support/s3/s3-emulator.ts';
import { ContractServer } from '../contract/contract-server.ts';
import { NO_OBJECT_STORES } from './object/test-stores.ts';

/** Larger than a part of an upload, of 8 MiB. */
const ROWS = 300_000;

let emulator: S3Emulator;
let server: ContractServer;
before(async () => {
  if (NO_OBJECT_STORES !== false) return;
  emulator = await S3Emulator.start({ after: () => {} });
  server = await ContractServer.start({ flags: [`--storage-options=${JSON.stringify(emulator.storageOptions)}`] });
  const folder = join(server.folder, 'disk');
  await mkdir(folder);
  await server.catalog.databases.create({ name: 'disk', root: folder });
  await server.catalog.databases.create({ name: 'cloud', root: 's3://tables/cloud' });
});
after(async () => {
  if (NO_OBJECT_STORES !== false) return;
  await server.close();
  emulator.close();
});

async function call(database: string, path: string, body: object, status = 200): Promise<Answer['json']> {
  const answer = await server.admin.post(`/v1/table/${path}`, body, { 'x-service-database': database });
  assert.equal(answer.status, status, `${path}: ${answer.text}`);
  return answer.json;
}

/** With deleted and updated rows, an index, and a branch where other rows are deleted. */
async function createTable(database: string, rows = 300) {
  const table = await server.table({ stream: sampleStream(rows), headers: { 'x-service-database': database } });
  await call(database, `${table.id}/delete`, { predicate: 'id < 10' });
  await call(database, `${table.id}/create_scalar_index`, { column: 'id', index_type: 'BTREE' });
  await call(database, `${table.id}/branches/create`, { name: 'trial' });
  await call(database, `${table.id}/delete`, { branch: 'trial', predicate: 'id < 30' });
  await call(database, `${table.id}/update`, { updates: [['id', 'id + 1000000']], predicate: 'id < 20' });
  return table;
}

async function rowsOf(database: string, table: string, state: object = {}): Promise<unknown> {
  const body = { k: 1000, filter: 'id < 200 OR id > 1000000', ...state };
  const headers = { accept: 'application/json', 'x-service-database': database };
  const answer = await server.admin.post(`/v1/table/${table}/query`, body, headers);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.rows.toSorted((one: { id: number }, other: { id: number }) => one.id - other.id);
}

async function describe(database: string, table: string) {
  const { version, schema, stats } = await call(database, `${table}/describe`, { load_detailed_metadata: true });
  return { version, schema, stats };
}

suite('a clone into a database on another kind of storage', () => {
  for (const [source, target] of [
    ['disk', 'cloud'],
    ['cloud', 'disk'],
  ] as const) {
    test(`has the rows, the schema and the index of its source (${source} to ${target})`, async (t) => {
      if (NO_OBJECT_STORES !== false) return t.skip(NO_OBJECT_STORES);
      const table = await createTable(source, ROWS);
      const id = server.name('clone');
      const { version } = await call(target, `${id}/clone`, { source_location: table.location });
      const branched = server.name('clone');
      const onBranch = { source_location: table.location, source_branch: 'trial' };
      await call(target, `${branched}/clone`, onBranch);
      const earlier = server.name('clone');
      await call(target, `${earlier}/clone`, { source_location: table.location, source_version: 1 });

      assert.equal(version, 4);
      assert.deepEqual(await describe(target, id), await describe(source, table.id));
      assert.deepEqual(await rowsOf(target, id), await rowsOf(source, table.id));
      assert.deepEqual(await rowsOf(target, branched), await rowsOf(source, table.id, { branch: 'trial' }));
      assert.equal(await call(target, `${branched}/count_rows`, {}), ROWS - 30);
      assert.equal(await call(target, `${earlier}/count_rows`, {}), ROWS);

      const parts = emulator.count(({ path, query }) => path.includes('clone') && query.includes('partNumber='));
      assert.ok(target === 'disk' || parts > 1);
      await call(source, `${table.id}/drop`, {});
      assert.equal(await call(target, `${id}/count_rows`, {}), ROWS - 10);
      await call(target, `${branched}/update`, { updates: [['id', '7']], predicate: 'id < 100' });
      assert.equal(await call(target, `${branched}/count_rows`, { predicate: 'id = 7' }), 70);
      assert.equal((await call(target, `${branched}/index/list`, {})).indexes.length, 1);
      for (const each of [id, branched, earlier]) await call(target, `${each}/drop`, {});
    });
  }

  test('leaves nothing behind when it fails, and the name stays free', async (t) => {
    if (NO_OBJECT_STORES !== false) return t.skip(NO_OBJECT_STORES);
    const onDisk = await createTable('disk');
    const stored = await createTable('cloud');
    const objects = emulator.objects.paths('tables/');
    emulator.faults.add('error-before', { method: 'PUT', path: /failing.*\/data\// }, 1000);
    await call('cloud', 'failing/clone', { source_location: onDisk.location }, 503);
    assert.deepEqual(emulator.objects.paths('tables/'), objects);
    assert.deepEqual(emulator.objects.uploads(), []);
    emulator.faults.clear();

    const folders = await readdir(join(server.folder, 'disk'));
    emulator.faults.add('error-before', { method: 'GET', path: /_deletions/ }, 1000);
    await call('disk', 'failing/clone', { source_location: stored.location }, 503);
    assert.deepEqual(await readdir(join(server.folder, 'disk')), folders);
    emulator.faults.clear();

    await call('cloud', 'failing/clone', { source_location: onDisk.location });
    await call('disk', 'failing/clone', { source_location: stored.location });
    assert.equal((await server.catalog.tables.unfinished()).reservations.length, 0);
  });

  test('is refused when the quota of the target has no room for the branch', async (t) => {
    if (NO_OBJECT_STORES !== false) return t.skip(NO_OBJECT_STORES);
    const table = await createTable('disk');
    await server.catalog.databases.create({ name: 'small', root: 's3://tables/small' });
    await server.setQuota({ database: 'small', rows: 275 });
    await call('small', 'main/clone', { source_location: table.location }, 403);
    assert.deepEqual(emulator.objects.paths('tables/small/'), []);
    await call('small', 'trial/clone', { source_location: table.location, source_branch: 'trial' });
  });
});
