import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Index } from '@lancedb/lancedb';
import type { Answer } from '../../support/client.ts';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, count, streamOf } from '../contract-tables.ts';
import { CODE, assertRefused, badRequest } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ flags: ['--metadata-entries-max=4', '--metadata-value-bytes-max=1024'] });
});
after(async () => server.close());

async function described(metadata: Readonly<Record<string, string>> = {}): Promise<MadeTable> {
  return server.table({ stream: streamOf({ id: { type: new Int32(), values: count(8) } }, metadata) });
}

async function replace(table: MadeTable, body: unknown, query = ''): Promise<Answer> {
  return server.admin.post(`${table.at}/schema_metadata/update${query}`, body);
}

/** As the embedded engine reads it. */
async function stored(table: MadeTable): Promise<Record<string, string>> {
  return Object.fromEntries((await (await server.embedded(table)).schema()).metadata);
}

test('the pairs of the body become the metadata of the schema, and the reply is what it then is', async () => {
  const table = await described({ owner: 'sales' });
  const wanted = { owner: 'sales', note: 'ünï "quoted"\n', empty: '' };
  const answer = await replace(table, wanted);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.json, wanted);
  assert.deepEqual(await stored(table), wanted);
  const { schema, version } = (await server.admin.post(`${table.at}/describe/`, {})).json;
  assert.deepEqual([schema.metadata, version], [wanted, 2]);
});

test('the pairs may stand in metadata, beside who asks and about what', async () => {
  const table = await described();
  const body = { id: [table.id], metadata: { owner: 'sales' }, context: {} };
  assert.deepEqual((await replace(table, body)).json, { owner: 'sales' });
  assert.deepEqual((await replace(table, { metadata: 'text', owner: 'sales' })).json, {
    metadata: 'text',
    owner: 'sales',
  });
  assertRefused(await replace(table, { ...body, id: ['other'] }), badRequest(/id/));
});

test('values are changed, and keys that are not given are removed', async () => {
  const table = await described({ owner: 'import', source: 'file' });
  assert.deepEqual((await replace(table, { owner: 'sales' })).json, { owner: 'sales' });
  assert.deepEqual(await stored(table), { owner: 'sales' });
  assert.deepEqual((await replace(table, {})).json, {});
  assert.deepEqual(await stored(table), {});
  assert.equal((await server.admin.post(`${table.at}/describe`, {})).json.version, 3);
  const restored = await server.admin.post(`${table.at}/restore`, { version: 1 });
  assert.equal(restored.status, 200, restored.text);
  assert.deepEqual(await stored(table), { owner: 'import', source: 'file' });
});

test('a writer beside the service goes on from it, and keeps the metadata', async () => {
  const table = await described({ owner: 'import' });
  const embedded = await server.embedded(table);
  assert.equal(await embedded.version(), 1);
  assert.equal((await replace(table, { owner: 'sales' })).status, 200);
  await embedded.add([{ id: 100 }]);
  await embedded.optimize();
  assert.deepEqual(await stored(table), { owner: 'sales' });
  assert.equal((await server.rows(table)).length, 9);
});

test('rows, indexes and other branches stay as they are', async () => {
  const table = await described();
  const embedded = await server.embedded(table);
  await embedded.createIndex('id', { config: Index.btree() });
  await updated(server.admin, table, { updates: [['id', 'id + 100']], predicate: 'id = 3' });
  await server.admin.post(`${table.at}/branches/create`, { name: 'trial' });
  const before = [await server.rows(table), await embedded.indexStats('id_idx')];
  assert.equal((await replace(table, { owner: 'sales' })).status, 200);
  assert.deepEqual([await server.rows(table), await embedded.indexStats('id_idx')], before);
  const onBranch = { owner: 'trial', more: 'yes' };
  assert.deepEqual((await replace(table, onBranch, '?branch=trial')).json, onBranch);
  assert.deepEqual((await replace(table, { metadata: onBranch, branch: 'trial' })).json, onBranch);
  assert.deepEqual(await stored(table), { owner: 'sales' });
});

test('many updates do not make the manifest longer, and indexes are still used', async () => {
  const table = await described();
  const embedded = await server.embedded(table);
  await embedded.createIndex('id', { config: Index.btree() });
  const stats = await embedded.indexStats('id_idx');
  const sizes = [];
  for (let round = 0; round < 10; round += 1) {
    const answer = await replace(table, { note: String(round).repeat(1000) });
    assert.equal(answer.status, 200, answer.text);
    const { json } = await server.admin.post(`${table.at}/version/list?descending=true&limit=1`, {});
    sizes.push(json.versions[0].manifest_size);
  }
  assert.ok(Math.max(...sizes) - Math.min(...sizes) < 100, `sizes of the manifests: ${sizes.join()}`);
  assert.deepEqual(await embedded.indexStats('id_idx'), stats);
  assert.match(await embedded.query().where('id = 3').explainPlan(), /ScalarIndexQuery/);
  await embedded.add([{ id: 100 }]);
  await embedded.optimize();
  assert.equal((await embedded.indexStats('id_idx'))?.numIndexedRows, 9);
  assert.deepEqual(await stored(table), { note: '9'.repeat(1000) });
});

test('many at once are applied one after another', async () => {
  const table = await described();
  const turn = (index: number) => ({ turn: String(index) });
  const answers = await Promise.all(count(6).map(async (each) => replace(table, turn(each))));
  for (const [index, answer] of answers.entries()) assert.deepEqual(answer.json, turn(index));
  assert.equal((await server.admin.post(`${table.at}/describe`, {})).json.version, 7);
});

test('keys of the storage format are refused, and so is what is too much', async () => {
  const table = await described();
  for (const key of ['lance-encoding:blob', 'lance:x', 'packed', 'ARROW:extension:name']) {
    assertRefused(await replace(table, { [key]: 'x' }), badRequest(/storage format/));
  }
  assertRefused(await replace(table, { a: '1', b: '2', c: '3', d: '4', e: '5' }), badRequest(/entries/));
  assertRefused(await replace(table, { a: 'x'.repeat(1025) }), badRequest(/1 KiB/));
  for (const body of [{ a: 1 }, { a: { b: 'c' } }, { metadata: { a: 1 } }, { metadata: {}, other: 1 }, [], '"text"']) {
    assertRefused(await replace(table, body), badRequest());
  }
  assertRefused(await replace(table, { a: 'b' }, '?branch=nowhere'), { status: 404, code: CODE.branchNotFound });
  assert.deepEqual(await stored(table), {});
});
