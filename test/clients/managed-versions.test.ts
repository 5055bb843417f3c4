import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Index, connectNamespace } from '@lancedb/lancedb';
import type { Connection, Table } from '@lancedb/lancedb';
import { ContractServer } from '../contract/contract-server.ts';
import { ADMIN_KEY } from '../support/server.ts';

/** The unmodified client of the REST namespace, on tables whose versions it commits through the service. */
let server: ContractServer;
let client: Connection;
const variables: string[] = [];
before(async () => {
  server = await ContractServer.start();
  // With tables on an object store, the client finds it as it would anywhere.
  for (const [key, value] of Object.entries(server.config.storage.options)) {
    const name = `AWS_${key.replace(/^aws_/, '')}`.toUpperCase();
    process.env[name] = value;
    variables.push(name);
  }
  client = await open();
});
after(async () => {
  for (const name of variables) delete process.env[name];
  client.close();
  await server.close();
});

async function open(): Promise<Connection> {
  return connectNamespace('rest', { uri: server.url, headers: { 'x-api-key': ADMIN_KEY } });
}

const ROWS = [
  { id: 1, vector: [1, 2] },
  { id: 2, vector: [3, 4] },
];
const ROW = { id: 3, vector: [5, 6] };

interface Managed {
  readonly name: string;
  readonly table: Table;
}

async function create(): Promise<Managed> {
  const name = server.name();
  const declared = await server.admin.post(`/v1/table/${name}/declare`, { properties: { managed_versioning: 'true' } });
  assert.equal(declared.status, 200, declared.text);
  return { name, table: await client.createTable(name, ROWS) };
}

async function count(name: string, body: object = {}): Promise<number> {
  return Number((await server.admin.post(`/v1/table/${name}/count_rows`, body)).text);
}

/** Operation and version of each commit of a table, as the feed has them. */
async function feedOf(name: string): Promise<readonly string[]> {
  const { json } = await server.admin.get('/v1/transaction/list');
  const all: readonly { id: string[]; operation: string; version?: number }[] = json.transactions;
  return all.filter(({ id }) => id[0] === name).map(({ operation, version = 0 }) => `${operation} ${version}`);
}

suite('a table whose versions are managed', () => {
  test('is created, written, and read again by others', async () => {
    const { name, table } = await create();
    await table.add([ROW]);
    await table.delete('id = 1');
    await table.update({ values: { id: 20 }, where: 'id = 2' });
    assert.equal(await table.version(), 4);
    assert.equal(await count(name), 2);
    const again = await (await open()).openTable(name);
    assert.deepEqual((await again.query().toArray()).map((row) => Number(row.id)).toSorted(), [20, 3]);
    assert.deepEqual(await feedOf(name), [
      'declare_table 0',
      ...[1, 2, 3, 4].map((version) => `create_table_version ${version}`),
    ]);
  });

  test('is written by the service and by the client in turn', async () => {
    const { name, table } = await create();
    for (let round = 1; round <= 3; round += 1) {
      const updated = await server.admin.post(`/v1/table/${name}/update`, { updates: [['id', 'id + 1']] });
      assert.equal(updated.json.version, 2 * round, updated.text);
      await table.add([ROW]);
    }
    assert.equal(await table.version(), 7);
    assert.equal(await count(name), 5);
  });

  test('loses nothing to several clients that write at once, beside the service', async () => {
    const { name } = await create();
    const writers = await Promise.all([1, 2, 3].map(async () => (await open()).openTable(name)));
    await Promise.all([
      ...writers.map(async (writer) => {
        for (let round = 0; round < 3; round += 1) await writer.add([ROW]);
      }),
      ...[1, 2, 3].map(async () => {
        const answer = await server.admin.post(`/v1/table/${name}/update`, { updates: [['id', 'id + 1']] });
        assert.equal(answer.status, 200, answer.text);
      }),
    ]);
    assert.equal(await count(name), 2 + 9);
    assert.equal((await server.admin.post(`/v1/table/${name}/describe`, {})).json.version, 1 + 9 + 3);
  });

  test('gets a full-text index, whose files the engine reads to list it', async () => {
    const { name, table } = await create();
    await table.addColumns([{ name: 'words', valueSql: "'red fox'" }]);
    await table.createIndex('words', { config: Index.fts() });
    const { json } = await server.admin.post(`/v1/table/${name}/index/list`, {});
    assert.deepEqual(
      json.indexes.map((index: { index_name: string; index_type: string }) => [index.index_name, index.index_type]),
      [['words_idx', 'FTS']],
    );
  });

  test('can be checked out, restored and tagged', async () => {
    const { name, table } = await create();
    await table.add([ROW]);
    await table.checkout(1);
    assert.equal(await table.countRows(), 2);
    await table.restore();
    assert.deepEqual([await table.version(), await count(name)], [3, 2]);
    await (await table.tags()).create('first', 2);
    assert.equal((await server.admin.post(`/v1/table/${name}/tags/version`, { tag: 'first' })).json.version, 2);
    await table.checkout('first');
    assert.equal(await table.countRows(), 3);
  });

  test('has branches, also of branches, that the service serves', async () => {
    const { name, table } = await create();
    const trial = await (await table.branches()).create('trial');
    await trial.add([ROW]);
    const deep = await (await trial.branches()).create('trial/deep', 'trial');
    await deep.add([ROW]);
    assert.deepEqual([await table.countRows(), await trial.countRows(), await deep.countRows()], [2, 3, 4]);
    const counts = [
      await count(name),
      await count(name, { branch: 'trial' }),
      await count(name, { branch: 'trial/deep' }),
    ];
    assert.deepEqual(counts, [2, 3, 4]);
    const updated = await server.admin.post(`/v1/table/${name}/update`, { updates: [['id', '0']], branch: 'trial' });
    assert.equal(updated.status, 200, updated.text);
  });

  test('can be indexed and compacted by the client', async () => {
    const { name, table } = await create();
    for (let round = 0; round < 3; round += 1) await table.add([ROW]);
    await table.createIndex('id');
    await table.optimize();
    const { json } = await server.admin.post(`/v1/table/${name}/index/list`, {});
    assert.deepEqual(
      json.indexes.map((index: { index_name: string }) => index.index_name),
      ['id_idx'],
    );
    assert.equal(await count(name, { predicate: 'id = 3' }), 3);
  });

  test('is overwritten by the client, and by the service', async () => {
    const { name } = await create();
    await client.createTable(name, [ROW], { mode: 'overwrite' });
    assert.equal(await count(name), 1);
    assert.equal((await server.admin.post(`/v1/table/${name}/describe`, {})).json.managed_versioning, true);
  });
});
