import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { WhoamiReply } from '../../../src/wire/access.ts';
import type { Client } from '../../support/client.ts';
import { makeClient, requireToken } from '../../support/own-clients.ts';
import { ContractServer } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, tableNotFound, unauthenticated } from '../refusal.ts';

const WHOAMI = '/v1/whoami';
const NO_NAMESPACE = { status: 404, code: CODE.namespaceNotFound } as const;

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
  for (const path of [['sales'], ['sales', 'north'], ['hr']]) await server.namespace(path);
  for (const id of ['root', 'sales$orders', 'sales$north$orders', 'hr$people']) await server.table({ id });
});
after(async () => server.close());

async function ask(client: Client, query: Readonly<Record<string, string>> = {}): Promise<WhoamiReply> {
  const { status, text, json } = await client.get(`${WHOAMI}?${new URLSearchParams(query).toString()}`);
  assert.equal(status, 200, text);
  return json;
}

suite('whoami', () => {
  test('names a key, its roles, and what it may do with the database', async () => {
    const reply = await ask(await server.caller('writer'));
    assert.match(reply.name, /^key\d+$/);
    assert.match(reply.id, /^key:/);
    assert.equal(reply.kind, 'key');
    assert.equal(reply.is_admin, false);
    assert.equal(reply.database, 'default');
    assert.deepEqual(reply.roles, [{ role: 'writer', on: { kind: 'database', name: 'default' } }]);
    assert.deepEqual(reply.permissions, ['see', 'read', 'write']);
  });

  test('names an administrator of the server, whose role holds on all databases', async () => {
    const reply = await ask(server.admin);
    assert.equal(reply.is_admin, true);
    assert.deepEqual(reply.roles, [{ role: 'admin', on: { kind: 'database', name: '*', all_databases: true } }]);
    assert.deepEqual(reply.permissions, ['see', 'read', 'write', 'manage', 'administer']);
    const ofDatabase = await ask(await server.caller('admin'));
    assert.equal(ofDatabase.is_admin, false);
    assert.deepEqual(ofDatabase.permissions, reply.permissions);
  });

  test('names a client by its token', async () => {
    const made = await makeClient(server.catalog);
    const token = await requireToken(server.url, made);
    const caller = server.client({ key: undefined, headers: { authorization: `Bearer ${token}` } });
    const reply = await ask(caller);
    assert.equal(reply.kind, 'client');
    assert.equal(reply.id, `client:${made.id}`);
    assert.equal(reply.name, 'loader');
    assert.equal(reply.is_admin, true);
  });

  test('distinguishes tables from namespaces in the list of roles', async () => {
    const on = (role: 'reader' | 'owner', path: readonly string[]) => ({ role, database: 'default', path });
    const key = await server.key([on('owner', ['sales', 'orders']), on('reader', ['sales', 'north'])]);
    const { roles } = await ask(server.client({ key }));
    const found = roles.toSorted((one, other) => one.role.localeCompare(other.role));
    assert.deepEqual(found, [
      { role: 'owner', on: { kind: 'table', name: 'sales$orders', database: 'default' } },
      { role: 'reader', on: { kind: 'namespace', name: 'sales$north', database: 'default' } },
    ]);
    const dotted = await ask(server.client({ key }), { delimiter: '.' });
    assert.deepEqual(dotted.roles.map(({ on: { name } }) => name).toSorted(), ['sales.north', 'sales.orders']);
  });

  test('looks for each table of a role in its own database', async () => {
    const database = await server.database();
    await server.table({ id: 'there', headers: { 'x-service-database': database } });
    const on = (name: string, path: readonly string[]) => ({ role: 'reader', database: name, path }) as const;
    const grants = [on('default', ['root']), on('default', ['there']), on(database, ['root']), on(database, ['there'])];
    const { roles } = await ask(server.client({ key: await server.key(grants) }));
    assert.deepEqual(roles.map((role) => [role.on.kind, role.on.name, role.on.database === database]).toSorted(), [
      ['namespace', 'root', true],
      ['namespace', 'there', false],
      ['table', 'root', false],
      ['table', 'there', true],
    ]);
  });

  test('gives the permissions on a table or a namespace that is named', async () => {
    const key = await server.key([
      { role: 'reader', database: 'default', path: ['sales'] },
      { role: 'owner', database: 'default', path: ['sales', 'orders'] },
    ]);
    const caller = server.client({ key });
    const permissions = async (query: Readonly<Record<string, string>>) => (await ask(caller, query)).permissions;
    assert.deepEqual(await permissions({ table: 'sales$orders' }), ['see', 'read', 'write', 'manage']);
    assert.deepEqual(await permissions({ table: 'sales/north/orders', delimiter: '/' }), ['see', 'read']);
    assert.deepEqual(await permissions({ namespace: 'sales' }), ['see', 'read']);
    assert.deepEqual(await permissions({ namespace: '$' }), ['see']);
    assert.deepEqual(await permissions({}), ['see']);
  });

  test('agrees with what the operations then permit', async () => {
    const caller = await server.caller('reader', ['sales']);
    const { permissions } = await ask(caller, { table: 'sales$orders' });
    assert.equal((await caller.post('/v1/table/sales$orders/count_rows', {})).status, 200);
    assert.ok(permissions.includes('read'));
    assert.equal((await caller.post('/v1/table/sales$orders/drop', {})).status, 403);
    assert.ok(!permissions.includes('manage'));
  });

  test('answers for a table or a namespace that the caller may not see as for one that is missing', async () => {
    const caller = await server.caller('admin', ['sales']);
    for (const table of ['root', 'absent', 'sales$absent'])
      assertRefused(await caller.get(`${WHOAMI}?table=${table}`), tableNotFound);
    for (const query of ['table=hr$people', 'table=none$people', 'namespace=hr', 'namespace=none']) {
      assertRefused(await caller.get(`${WHOAMI}?${query}`), NO_NAMESPACE);
    }
    const below = await server.caller('reader', ['root', 'deep']);
    assertRefused(await below.get(`${WHOAMI}?table=root`), tableNotFound);
  });

  test('answers a caller without a role in the default database, and hides other databases', async () => {
    const tenant = await server.database();
    for (const [key, roles] of [
      [await server.key([]), 0],
      [await server.key([{ role: 'owner', database: tenant, path: [] }]), 1],
    ] as const) {
      const reply = await ask(server.client({ key }));
      assert.deepEqual([reply.database, reply.permissions, reply.roles.length], ['default', [], roles]);
    }
    const stranger = await server.key([]);
    for (const name of [tenant, 'no-such-database']) {
      const caller = server.client({ key: stranger, headers: { 'x-service-database': name } });
      assertRefused(await caller.get(WHOAMI), NO_NAMESPACE);
    }
    const owner = await server.key([{ role: 'owner', database: tenant, path: [] }]);
    const reply = await ask(server.client({ key: owner, headers: { 'x-service-database': tenant } }));
    assert.deepEqual([reply.database, reply.permissions], [tenant, ['see', 'read', 'write', 'manage']]);
  });

  test('refuses bad names, both a table and a namespace, and unknown parameters', async () => {
    const { admin } = server;
    for (const query of ['table=', 'table=a%2Fb', 'table=..', 'namespace=a%00', 'table=$']) {
      assertRefused(await admin.get(`${WHOAMI}?${query}`), badRequest());
    }
    assertRefused(await admin.get(`${WHOAMI}?table=root&namespace=sales`), badRequest(/table and a namespace/));
    assertRefused(await admin.get(`${WHOAMI}?table=root&table=root`), badRequest(/twice/));
    assertRefused(await admin.get(`${WHOAMI}?user=me`), badRequest(/user/));
  });

  test('needs a credential', async () => {
    assertRefused(await server.stranger().get(WHOAMI), unauthenticated);
    assertRefused(await server.client({ key: 'wrong' }).get(`${WHOAMI}?table=root`), unauthenticated);
  });
});
