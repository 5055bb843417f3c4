import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Answer, Client } from '../../support/client.ts';
import { startIdentityProvider } from '../../support/identity-provider.ts';
import { ContractServer } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, forbidden, unauthenticated } from '../refusal.ts';

const NOT_FOUND = { status: 404, code: CODE.invalidInput } as const;
const NO_DATABASE = { status: 404, code: CODE.namespaceNotFound } as const;

let server: ContractServer;
let tenant: string;
let other: string;
before(async () => {
  server = await ContractServer.start();
  tenant = await server.database();
  other = await server.database();
});
after(async () => server.close());

const give = async (client: Client, body: object): Promise<Answer> => client.post('/v1/access/grant/create', body);
const take = async (client: Client, body: object): Promise<Answer> => client.post('/v1/access/grant/delete', body);
const list = async (client: Client, body: object = {}): Promise<Answer> => client.post('/v1/access/grant/list', body);

suite('create_grant and delete_grant', () => {
  test('give and take a role on a table, at once', async () => {
    const table = await server.table();
    const key = await server.createKey([{ role: 'reader', database: 'default', path: [table.id] }]);
    const update = async (): Promise<Answer> =>
      key.client.post(`${table.at}/update`, { updates: [['price', 'price']] });
    assertRefused(await update(), forbidden);
    const grant = { principal: key.principal, role: 'writer', database: 'default', path: [table.id] };
    for (let turn = 0; turn < 2; turn += 1) {
      const given = await give(server.admin, grant);
      assert.equal(given.status, 200, given.text);
      const { context, ...rest } = given.json;
      assert.ok(context);
      assert.deepEqual(rest, grant);
    }
    assert.equal((await update()).status, 200);
    const taken = await take(server.admin, grant);
    assert.equal(taken.status, 200, taken.text);
    assertRefused(await update(), forbidden);
    assertRefused(await take(server.admin, grant), NOT_FOUND);
  });

  test('give the holder of a token what no claim maps to', async (t) => {
    const provider = await startIdentityProvider();
    t.after(async () => provider.close());
    const issuers = JSON.stringify([{ issuer: provider.issuer, audience: provider.audience, grants: [] }]);
    const guarded = await ContractServer.start({ env: { TILTYARD_AUTH_ISSUERS: issuers } });
    t.after(async () => guarded.close());
    const authorization = `Bearer ${await provider.token({ claims: { sub: 'ada' } })}`;
    const ada = guarded.client({ key: undefined, headers: { authorization } });
    assert.equal((await ada.get('/v1/tables')).status, 404);
    const grant = { principal: `token:${provider.issuer}#ada`, role: 'reader', database: 'default' };
    assert.equal((await guarded.admin.post('/v1/access/grant/create', grant)).status, 200);
    assert.equal((await ada.get('/v1/tables')).status, 200);
    assert.equal((await guarded.admin.post('/v1/access/grant/delete', grant)).status, 200);
    assert.equal((await ada.get('/v1/tables')).status, 404);
  });

  test('refuse more grants than a principal may have, but not one that it has', async (t) => {
    const limited = await ContractServer.start({ flags: ['--access-grants-max=2'] });
    t.after(async () => limited.close());
    const grant = { principal: 'token:https://issuer.example#ada', role: 'reader', database: 'default' };
    const on = (name: string): object => ({ ...grant, path: ['eu', name] });
    for (const name of ['a', 'b']) assert.equal((await give(limited.admin, on(name))).status, 200);
    assertRefused(await give(limited.admin, on('c')), badRequest(/more than 2 grants.*remove grants/s));
    assert.equal((await give(limited.admin, on('b'))).status, 200);
    assert.equal(
      (await give(limited.admin, { ...on('c'), principal: 'token:https://issuer.example#eve' })).status,
      200,
    );
    assert.equal((await take(limited.admin, on('a'))).status, 200);
    assert.equal((await give(limited.admin, on('c'))).status, 200);
    const grants = ['a', 'b', 'c'].map((name) => ({ role: 'reader', database: 'default', path: [name] }));
    const created = await limited.admin.post('/v1/access/key/create', { name: 'x', grants });
    assertRefused(created, badRequest(/The number of grants is 3/));
  });

  test('refuse principals that cannot be', async () => {
    const grant = { role: 'reader', database: tenant };
    const wrong = [
      '',
      'x',
      'key',
      'key:',
      'client:',
      'token:',
      'token:#',
      'token:x#y',
      'token:https://i',
      'token:https://i#',
      'anonymous',
    ];
    const long = `token:https://i#${'x'.repeat(3000)}`;
    for (const principal of [...wrong, long, 'token:https://i#a\nb', 'user:https://i#a']) {
      assertRefused(await give(server.admin, { ...grant, principal }), badRequest());
    }
    for (const principal of ['key:nobody', 'client:nobody']) {
      assertRefused(await give(server.admin, { ...grant, principal }), NOT_FOUND);
    }
    const gone = await server.createKey([grant]);
    await server.admin.post('/v1/access/key/revoke', { key_id: gone.id });
    assertRefused(await give(server.admin, { ...grant, principal: gone.principal }), NOT_FOUND);
    assertRefused(await give(server.admin, { ...grant, principal: `client:${gone.id}` }), NOT_FOUND);
  });

  test('refuse grants that are not rightly described, and databases that are not there', async () => {
    const principal = 'token:https://issuer.example#ada';
    for (const send of [give, take]) {
      for (const grant of [
        { role: 'root', database: tenant },
        { role: 'reader' },
        { role: 'reader', database: tenant, all_databases: true },
        { role: 'reader', all_databases: true, path: ['x'] },
        { role: 'reader', database: tenant, path: 'x' },
        { role: 'reader', database: tenant, path: ['..'] },
        { database: tenant },
        { role: 'reader', database: tenant, pth: ['a'] },
      ]) {
        assertRefused(await send(server.admin, { principal, ...grant }), badRequest());
      }
      assertRefused(await send(server.admin, { role: 'reader', database: tenant }), badRequest(/principal/));
    }
    assertRefused(await give(server.admin, { principal, role: 'reader', database: 'nowhere' }), NO_DATABASE);
  });

  test('need a credential, and an administrator of what the role is on', async () => {
    const principal = 'token:https://issuer.example#ada';
    const grant = { principal, role: 'reader', database: tenant };
    const admin = await server.caller('admin', [], tenant);
    const below = await server.caller('admin', ['sales'], tenant);
    for (const send of [give, take]) {
      assertRefused(await send(server.stranger(), grant), unauthenticated);
      assertRefused(await send(await server.caller('owner', [], tenant), grant), forbidden);
      assertRefused(await send(admin, { ...grant, database: other }), NO_DATABASE);
      assertRefused(await send(admin, { principal, role: 'reader', all_databases: true }), forbidden);
      assertRefused(await send(below, grant), forbidden);
      assertRefused(await send(below, { ...grant, path: ['sale'] }), forbidden);
    }
    assert.equal((await give(below, { ...grant, path: ['sales', 'eu'] })).status, 200);
    assert.equal((await give(admin, grant)).status, 200);
    assert.equal((await take(admin, { ...grant, path: ['sales', 'eu'] })).status, 200);
  });

  test('do not let one administrator lay hands on the key of another', async () => {
    const admin = await server.caller('admin', [], tenant);
    const theirs = await server.createKey([{ role: 'reader', database: other }]);
    const shared = await server.createKey([
      { role: 'reader', database: tenant },
      { role: 'reader', database: other },
    ]);
    const grant = { role: 'writer', database: tenant };
    assertRefused(await give(admin, { ...grant, principal: theirs.principal }), NOT_FOUND);
    assertRefused(await give(admin, { ...grant, principal: shared.principal }), forbidden);
    const own = { principal: shared.principal, role: 'reader', database: tenant };
    assert.equal((await take(admin, own)).status, 200, 'what is on its own database it may take');
  });
});

suite('list_grants', () => {
  test('shows each administrator who has what in its own scope', async () => {
    const database = await server.database();
    const key = await server.createKey([
      { role: 'reader', database, path: ['a', 'b'] },
      { role: 'writer', database: other },
    ]);
    await give(server.admin, { principal: 'token:https://i.example#ada', role: 'owner', database });
    const admin = await server.caller('admin', [], database);
    const seen = (await list(admin)).json.grants;
    assert.deepEqual(
      seen.filter(({ role }: { role: string }) => role !== 'admin'),
      [
        { principal: key.principal, principal_name: 'x', role: 'reader', database, path: ['a', 'b'] },
        { principal: 'token:https://i.example#ada', role: 'owner', database },
      ],
    );
    const below = await server.caller('admin', ['a'], database);
    const inside = (await list(below)).json.grants;
    assert.ok(inside.every(({ path }: { path?: string[] }) => path?.[0] === 'a'));
    assert.ok(inside.some(({ principal }: { principal: string }) => principal === key.principal));
    assert.deepEqual((await list(admin, { principal: key.principal })).json.grants.length, 1);
    assert.deepEqual((await list(server.admin, { principal: key.principal })).json.grants.length, 2);
    assert.deepEqual((await list(admin, { database: other })).json.grants, []);
    const everywhere = (await list(server.admin)).json.grants;
    assert.ok(everywhere.some(({ all_databases }: { all_databases?: boolean }) => all_databases === true));
  });

  test('continues page by page', async () => {
    const database = await server.database();
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await give(server.admin, {
        principal: `token:https://i.example#${name}`,
        role: 'reader',
        database,
        path: [name],
      });
      await give(server.admin, { principal: `token:https://i.example#${name}`, role: 'reader', database, path: ['z'] });
    }
    const admin = await server.caller('admin', ['z'], database);
    const found: string[] = [];
    let page_token: string | undefined;
    do {
      const page = page_token === undefined ? {} : { page_token };
      const { json } = await list(admin, { limit: 2, ...page });
      found.push(...json.grants.map(({ principal }: { principal: string }) => principal));
      page_token = json.page_token;
    } while (page_token !== undefined);
    assert.deepEqual(
      found.filter((each) => each.startsWith('token:')),
      ['a', 'b', 'c', 'd', 'e'].map((name) => `token:https://i.example#${name}`),
    );
  });

  test('refuses invalid pages, a caller without credential, and one who administers nothing', async () => {
    for (const page_token of ['x', 'W10', Buffer.from('[1,2,3]').toString('base64url'), 'e30']) {
      assertRefused(await list(server.admin, { page_token }), badRequest(/page token/));
    }
    assertRefused(await list(server.admin, { limit: 0 }), badRequest());
    assertRefused(await list(server.stranger()), unauthenticated);
    assertRefused(await list(await server.caller('owner')), forbidden);
  });
});
