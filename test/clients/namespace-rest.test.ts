import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { connectNamespace } from '@lancedb/lancedb';
import type { Connection } from '@lancedb/lancedb';
import { ContractServer } from '../contract/contract-server.ts';
import { ADMIN_KEY } from '../support/server.ts';

/** The unmodified client of the REST namespace: names come from the service, data are written where it says. */
let server: ContractServer;
let client: Connection;
before(async () => {
  server = await ContractServer.start();
  client = await open();
});
after(async () => {
  client.close();
  await server.close();
});

async function open(key = ADMIN_KEY, uri = server.url): Promise<Connection> {
  return connectNamespace('rest', { uri, headers: { 'x-api-key': key } });
}

const ROWS = [
  { id: 1, vector: [1, 2] },
  { id: 2, vector: [3, 4] },
];

const describe = async (id: string) => server.admin.post(`/v1/table/${encodeURIComponent(id)}/describe`, {});

suite('the REST namespace client', () => {
  test('creates a table where the service says, which the service then serves as its own', async () => {
    const name = server.name();
    const table = await client.createTable(name, ROWS);
    assert.equal(await table.countRows(), 2);
    const { status, json } = await describe(name);
    assert.equal(status, 200);
    assert.equal(json.version, 1);
    assert.deepEqual(
      json.schema.fields.map((field: { name: string }) => field.name),
      ['id', 'vector'],
    );
    const updated = await server.admin.post(`/v1/table/${name}/update`, { updates: [['id', 'id + 10']] });
    assert.equal(updated.json.version, 2);
    const again = await (await open()).openTable(name);
    assert.deepEqual((await again.query().toArray()).map((row) => Number(row.id)).toSorted(), [11, 12]);
  });

  test('writes behind the back of the service, which sees every version at once', async () => {
    const name = server.name();
    const table = await client.createTable(name, ROWS);
    for (let version = 2; version <= 6; version += 1) {
      await table.add([{ id: version, vector: [0, 0] }]);
      assert.equal((await describe(name)).json.version, version);
    }
    await table.addColumns([{ name: 'twice', valueSql: 'id * 2' }]);
    const { json } = await describe(name);
    assert.equal(json.version, 7);
    assert.equal(json.schema.fields.length, 3);
  });

  test('does not create what exists, keeps it with exist_ok, and overwrites it', async () => {
    const name = server.name();
    await client.createTable(name, ROWS);
    await assert.rejects(client.createTable(name, ROWS), /already exists/);
    assert.equal(await (await client.createTable(name, ROWS.slice(1), { existOk: true })).countRows(), 2);
    await client.createTable(name, ROWS.slice(1), { mode: 'overwrite' });
    assert.equal((await server.embeddedByName(name)).length, 1);
    await assert.rejects((await open()).createTable(name, ROWS), /already exists/);
  });

  test('creates a table that was declared and never written', async () => {
    const name = server.name();
    const { json } = await server.admin.post(`/v1/table/${name}/declare`, {});
    await client.createTable(name, ROWS);
    assert.ok(existsSync(json.location));
    assert.equal((await describe(name)).json.is_only_declared, false);
  });

  test('works with namespaces, and with names that need escaping', async () => {
    await client.createNamespace(['sales'], { properties: { owner: 'ann' } });
    await client.createNamespace(['sales', 'north east']);
    await client.createNamespace(['sales', 'a+b']);
    assert.deepEqual((await client.listNamespaces(['sales'])).namespaces, ['a+b', 'north east']);
    assert.deepEqual((await client.describeNamespace(['sales'])).properties, { owner: 'ann' });
    await client.createTable('my orders', ROWS, ['sales', 'north east']);
    assert.deepEqual(await client.tableNames(['sales', 'north east']), ['my orders']);
    assert.equal(await (await (await open()).openTable('my orders', ['sales', 'north east'])).countRows(), 2);
    await assert.rejects(client.dropNamespace(['sales']), /not empty/);
    await client.dropNamespace(['sales'], { behavior: 'cascade' });
    await client.dropNamespace(['sales'], { mode: 'skip' });
    assert.deepEqual((await client.listNamespaces()).namespaces, []);
  });

  test('renames and drops a table, whose data the service removes', async () => {
    const [name, renamed] = [server.name(), server.name('renamed')];
    await client.createTable(name, ROWS);
    const { location } = (await describe(name)).json;
    await client.renameTable(name, renamed);
    const names = await client.tableNames();
    assert.ok(names.includes(renamed) && !names.includes(name));
    assert.equal(await (await client.openTable(renamed)).countRows(), 2);
    await assert.rejects((await open()).openTable(name), /not found/);
    await client.dropTable(renamed);
    assert.equal(existsSync(location), false);
    await assert.rejects((await open()).openTable(renamed), /not found/);
  });

  test('is refused without a credential, and without the right', async () => {
    const name = server.name();
    await assert.rejects((await open('not-a-key')).createTable(name, ROWS), /Unauthenticated|credential/i);
    await client.createTable(name, ROWS);
    const reader = await open(await server.key([{ role: 'reader', database: 'default', path: [name] }]));
    assert.equal(await (await reader.openTable(name)).countRows(), 2);
    await assert.rejects(reader.dropTable(name), /permission/i);
    await assert.rejects(reader.createTable(server.name(), ROWS), /permission/i);
    assert.deepEqual(await reader.tableNames(), [name]);
  });

  test('finds the service behind an address with a slash at its end', async () => {
    const name = server.name();
    await client.createTable(name, ROWS);
    const slashed = await open(ADMIN_KEY, `${server.url}/`);
    assert.equal(await (await slashed.openTable(name)).countRows(), 2);
    slashed.close();
  });
});
