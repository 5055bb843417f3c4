import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import type { Connection } from '@lancedb/lancedb';
import { ContractServer } from '../contract/contract-server.ts';
import { ADMIN_KEY } from '../support/server.ts';

/** The unmodified LanceDB client, told nothing but where the service is. */
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

async function open(database = 'default'): Promise<Connection> {
  return connect(`db://${database}`, { apiKey: ADMIN_KEY, hostOverride: server.url });
}

const ROWS = [
  { id: 1, vector: [1, 2] },
  { id: 2, vector: [3, 4] },
];

suite('the LanceDB client and namespaces', () => {
  test('creates, describes, lists and drops them, with its quoted words', async () => {
    await client.createNamespace(['sales'], { properties: { owner: 'ann' } });
    await client.createNamespace(['sales', 'north']);
    await client.createNamespace(['sales'], { mode: 'exist_ok' });
    await assert.rejects(client.createNamespace(['sales']), /already exists/);
    assert.deepEqual((await client.listNamespaces()).namespaces, ['sales']);
    assert.deepEqual((await client.listNamespaces(['sales'])).namespaces, ['north']);
    assert.deepEqual((await client.describeNamespace(['sales'])).properties, { owner: 'ann' });

    await assert.rejects(client.dropNamespace(['sales']), /not empty/);
    await client.dropNamespace(['sales', 'north']);
    await client.dropNamespace(['sales'], { behavior: 'cascade' });
    assert.deepEqual((await client.listNamespaces()).namespaces, []);
    await client.dropNamespace(['sales'], { mode: 'skip' });
    await assert.rejects(client.dropNamespace(['sales']), /404/);
  });

  test('comes to all namespaces page by page', async () => {
    for (const name of ['p1', 'p2', 'p3']) await client.createNamespace([name]);
    const seen: string[] = [];
    let pageToken: string | undefined;
    do {
      const page = await client.listNamespaces([], { limit: 2, ...(pageToken === undefined ? {} : { pageToken }) });
      seen.push(...page.namespaces);
      pageToken = page.pageToken;
    } while (pageToken !== undefined && pageToken !== '');
    assert.deepEqual(seen, ['p1', 'p2', 'p3']);
    for (const name of seen) await client.dropNamespace([name]);
  });

  test('makes, lists, opens and drops tables inside of one, and the others do not see them', async () => {
    await client.createNamespace(['shop']);
    await client.createTable('items', ROWS, ['shop']);
    const connection = await open();
    assert.deepEqual(await connection.tableNames(['shop']), ['items']);
    assert.ok(!(await connection.tableNames()).includes('items'));
    const table = await (await open()).openTable('items', ['shop']);
    assert.equal(await table.version(), 1);
    await assert.rejects((await open()).openTable('items'), /not found/);
    await client.dropTable('items', ['shop']);
    assert.deepEqual(await connection.tableNames(['shop']), []);
    await client.dropNamespace(['shop']);
    connection.close();
  });

  test('lists no table that was only declared, and cannot open one', async () => {
    await server.admin.post('/v1/table/planned/declare', {});
    const connection = await open();
    assert.ok(!(await connection.tableNames()).includes('planned'));
    await assert.rejects(connection.openTable('planned'), /not found/);
    connection.close();
  });
});

suite('the LanceDB client and the life of tables', () => {
  test('drops a table once', async () => {
    const name = server.name();
    await client.createTable(name, ROWS);
    await client.dropTable(name);
    await assert.rejects(client.dropTable(name), /404/);
    await client.createTable(name, ROWS.slice(1));
    assert.equal((await server.embeddedByName(name)).length, 1);
  });

  test('renames a table that it has open, goes on using it, and finds the old name gone', async () => {
    const [name, renamed] = [server.name(), server.name('renamed')];
    const table = await client.createTable(name, ROWS);
    await client.renameTable(name, renamed);
    assert.equal(await table.version(), 1);
    const again = await client.openTable(renamed);
    await again.update({ values: { id: '7' } });
    assert.equal(await again.version(), 2);
    const other = await open();
    assert.equal(await (await other.openTable(renamed)).version(), 2);
    await assert.rejects((await open()).openTable(name), /not found/);
    await assert.rejects(client.dropTable(name), /404/);
    other.close();
  });

  test('moves a table to another namespace', async () => {
    const name = server.name();
    await client.createNamespace(['archive']);
    await client.createTable(name, ROWS);
    await client.renameTable(name, 'moved', { newNamespacePath: ['archive'] });
    assert.deepEqual(await client.tableNames(['archive']), ['moved']);
    await client.dropNamespace(['archive'], { behavior: 'cascade' });
  });

  test('clones a table, at its latest version or an earlier one, and the clone outlives its source', async () => {
    const [name, latest, first] = [server.name(), server.name('clone'), server.name('clone')];
    const source = await client.createTable(name, ROWS);
    await source.update({ where: 'id = 1', values: { id: '5' } });
    const { json } = await server.admin.post(`/v1/table/${name}/describe`, {});
    await client.cloneTable(latest, json.location);
    await client.cloneTable(first, json.location, { sourceVersion: 1 });
    await client.dropTable(name);
    assert.deepEqual(
      (await server.embeddedByName(latest)).map((row) => row['id']),
      [2, 5],
    );
    assert.deepEqual(
      (await server.embeddedByName(first)).map((row) => row['id']),
      [1, 2],
    );
    await assert.rejects(client.cloneTable(server.name(), json.location), /404/);
    await assert.rejects(client.cloneTable(server.name(), '/etc'), /404/);
  });
});

suite('the LanceDB client whose address goes on with a path', () => {
  test('works in that namespace as in a database of its own', async () => {
    await client.createNamespace(['team']);
    await client.createNamespace(['team', 'blue']);
    const inner = await open('default/team/blue');
    await inner.createTable('t', ROWS);
    await inner.createNamespace(['deep']);
    await inner.createTable('u', ROWS, ['deep']);
    assert.deepEqual(await inner.tableNames(), ['t']);
    assert.deepEqual(await inner.tableNames(['deep']), ['u']);
    assert.deepEqual((await inner.listNamespaces()).namespaces, ['deep']);
    assert.deepEqual(await client.tableNames(['team', 'blue']), ['t']);
    await inner.renameTable('t', 'w', { newNamespacePath: ['deep'] });
    assert.deepEqual(await client.tableNames(['team', 'blue', 'deep']), ['u', 'w']);
    await client.dropNamespace(['team'], { behavior: 'cascade' });
    assert.deepEqual(await (await open()).tableNames(), await client.tableNames());
    inner.close();
  });
});
