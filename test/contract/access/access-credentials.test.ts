import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Grant } from '../../../src/model/access.ts';
import type { Answer, Client } from '../../support/client.ts';
import { requireToken } from '../../support/own-clients.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, forbidden, unauthenticated } from '../refusal.ts';

const LANCEDB = { 'user-agent': 'LanceDB-Node-Client/0.31.0' };
const NOT_FOUND = { status: 404, code: CODE.invalidInput } as const;
const NO_DATABASE = { status: 404, code: CODE.namespaceNotFound } as const;
const LAST = { status: 409, code: CODE.invalidInput } as const;

let server: ContractServer;
let tenant: string;
let other: string;
before(async () => {
  server = await ContractServer.start();
  tenant = await server.database();
  other = await server.database();
});
after(async () => server.close());

const reader = (database: string): object => ({ role: 'reader', database });

/** Keys and clients obey the same rules: every promise is asked of both. */
for (const kind of ['key', 'client'] as const) {
  const idField = kind === 'key' ? 'key_id' : 'client_id';
  const listField = kind === 'key' ? 'keys' : 'clients';
  const create = async (client: Client, body: object, headers = {}): Promise<Answer> =>
    client.post(`/v1/access/${kind}/create`, body, headers);
  const made = async (client: Client, grants: readonly object[], more = {}): Promise<any> => {
    const answer = await create(client, { name: server.name('made'), grants, ...more });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const list = async (client: Client, body: object = {}): Promise<Answer> =>
    client.post(`/v1/access/${kind}/list`, body);
  const idsOf = async (client: Client): Promise<readonly string[]> => {
    const answer = await list(client);
    assert.equal(answer.status, 200, answer.text);
    return answer.json[listField].map(({ id }: { id: string }) => id);
  };
  const revoke = async (client: Client, id: string): Promise<Answer> =>
    client.post(`/v1/access/${kind}/revoke`, { [idField]: id });
  /** Somebody who carries what was made. */
  const holder = async (reply: any): Promise<Client> => {
    if (kind === 'key') return server.client({ key: reply.key });
    const token = await requireToken(server.url, { id: reply.client_id, secret: reply.client_secret });
    return server.client({ key: undefined, headers: { authorization: `Bearer ${token}` } });
  };

  suite(`create_${kind}`, () => {
    test('gives a secret that works, for what it was made for', async () => {
      const reply = await made(server.admin, [{ role: 'writer', database: tenant, path: ['t'] }, reader(tenant)]);
      assert.equal(reply.principal, `${kind}:${reply.id}`);
      assert.equal(reply.state, 'valid');
      assert.ok(Math.abs(Date.parse(reply.created_at) - Date.now()) < 60_000);
      assert.deepEqual(reply.grants, [{ role: 'writer', database: tenant, path: ['t'] }, reader(tenant)]);
      assert.ok(reply.context);
      const caller = await holder(reply);
      assert.equal((await caller.get('/v1/tables', { 'x-service-database': tenant })).status, 200);
      assertRefused(await caller.get('/v1/tables'), NO_DATABASE);
      if (kind === 'client') assert.equal(reply.issuer_url, `${server.url}/oauth`);
    });

    test('keeps no secret: neither the catalog nor a listing has it', async () => {
      const reply = await made(server.admin, [reader(tenant)]);
      const secret: string = reply.key ?? reply.client_secret;
      assert.ok(secret.length > 40);
      assert.ok(!(await list(server.admin)).text.includes(secret));
      const store = kind === 'key' ? server.catalog.keys : server.catalog.clients;
      assert.ok(!JSON.stringify(await store.list()).includes(secret));
    });

    test('makes one that ends', async () => {
      const start = Date.now();
      const reply = await made(server.admin, [reader(tenant)], { expires_in_seconds: 60 });
      const end = Date.parse(reply.expires_at);
      assert.ok(end >= start + 59_000 && end <= Date.now() + 61_000);
    });

    test('answers the LanceDB client family alike, and its slash at the end', async () => {
      const body = { name: 'x', grants: [reader(tenant)], newer_field: 1 };
      assert.equal((await create(server.admin, body, LANCEDB)).status, 200);
      const slash = await server.admin.post(`/v1/access/${kind}/create/`, body);
      assert.equal(slash.status, 200, slash.text);
    });

    test('may be asked by a credential in the body', async () => {
      const body = { name: 'x', grants: [reader(tenant)], identity: { api_key: ADMIN_KEY } };
      assert.equal((await create(server.stranger(), body)).status, 200);
    });

    test('does not look at the database that the request names', async () => {
      const admin = await server.caller('admin', [], tenant);
      const body = { name: 'x', grants: [reader(tenant)] };
      for (const name of ['nowhere', other, 'default']) {
        assert.equal((await create(admin, body, { 'x-service-database': name })).status, 200);
      }
    });

    test('refuses what is not fully or not rightly described', async () => {
      const good = { name: 'x', grants: [reader(tenant)] };
      const wrong: readonly (readonly [object, RegExp])[] = [
        [{ grants: good.grants }, /name/],
        [{ ...good, name: '' }, /name/],
        [{ ...good, name: ' ' }, /name/],
        [{ ...good, name: 'a\u0000b' }, /name/],
        [{ ...good, name: 'x'.repeat(256) }, /name/],
        [{ name: 'x' }, /grants/],
        [{ ...good, grants: [] }, /grants/],
        [{ ...good, grants: [{ role: 'root', database: tenant }] }, /role/],
        [{ ...good, grants: [{ role: 'admin' }] }, /database/],
        [
          { ...good, grants: [{ role: 'reader', database: tenant, all_databases: true }] },
          /either a database or all_databases/,
        ],
        [{ ...good, grants: [{ role: 'reader', all_databases: true, path: ['a'] }] }, /path/],
        [{ ...good, grants: [{ role: 'reader', database: tenant, path: ['a/b'] }] }, /"a\/b"/],
        [{ ...good, grants: [{ role: 'reader', database: tenant, path: [''] }] }, /empty/],
        [{ ...good, grants: [{ role: 'reader', database: '' }] }, /database/],
        [{ ...good, grants: [{ role: 'reader', databse: tenant }] }, /databse/],
        [{ ...good, grants: Array.from({ length: 101 }, () => reader(tenant)) }, /grants/],
        [{ ...good, expires_in_seconds: 0 }, /expires_in_seconds/],
        [{ ...good, expires_in_seconds: 1e12 }, /expires_in_seconds/],
        [{ ...good, expires: 5 }, /expires/],
      ];
      const before = await idsOf(server.admin);
      for (const [body, says] of wrong) assertRefused(await create(server.admin, body), badRequest(says));
      assertRefused(await server.admin.post(`/v1/access/${kind}/create`, '{'), badRequest());
      assert.deepEqual(await idsOf(server.admin), before);
    });

    test('needs a credential, and an administrator', async () => {
      const body = { name: 'x', grants: [reader(tenant)] };
      assertRefused(await create(server.stranger(), body), unauthenticated);
      for (const role of ['reader', 'writer', 'owner'] as const) {
        assertRefused(await create(await server.caller(role, [], tenant), body), forbidden);
        const key = await server.key([{ role, database: undefined, path: [] }]);
        assertRefused(await create(server.client({ key }), body), forbidden);
      }
      assertRefused(await create(server.client({ key: await server.key([]) }), body), forbidden);
    });

    test('gives nothing outside of what its caller administers', async () => {
      const admin = await server.caller('admin', [], tenant);
      const below = await server.caller('admin', ['sales'], tenant);
      const cases: readonly (readonly [Client, object, typeof forbidden])[] = [
        [admin, { role: 'reader', all_databases: true }, forbidden],
        [admin, { role: 'reader', database: other }, NO_DATABASE],
        [admin, { role: 'reader', database: 'nowhere' }, NO_DATABASE],
        [below, { role: 'reader', database: tenant }, forbidden],
        [below, { role: 'reader', database: tenant, path: ['hr'] }, forbidden],
        [below, { role: 'reader', database: tenant, path: ['sale'] }, forbidden],
      ];
      for (const [client, grant, refusal] of cases) {
        assertRefused(await create(client, { name: 'x', grants: [grant] }), refusal);
        const mixed = [{ role: 'reader', database: tenant, path: ['sales', 't'] }, grant];
        assertRefused(await create(client, { name: 'x', grants: mixed }), refusal);
      }
      assert.equal((await made(below, [{ role: 'admin', database: tenant, path: ['sales', 'eu'] }])).state, 'valid');
    });

    test('knows no database that is not there', async () => {
      assertRefused(await create(server.admin, { name: 'x', grants: [reader('nowhere')] }), NO_DATABASE);
    });
  });

  suite(`list_${listField}`, () => {
    test('shows each administrator those for its own scope, with the grants in it', async () => {
      const everywhere = await made(server.admin, [{ role: 'reader', all_databases: true }]);
      const here = await made(server.admin, [reader(tenant)]);
      const there = await made(server.admin, [reader(other)]);
      const both = await made(server.admin, [reader(tenant), reader(other)]);
      const admin = await server.caller('admin', [], tenant);
      const ids = await idsOf(admin);
      assert.ok(ids.includes(here.id) && ids.includes(both.id));
      assert.ok(!ids.includes(there.id) && !ids.includes(everywhere.id));
      const { json } = await list(admin);
      const shared = json[listField].find(({ id }: { id: string }) => id === both.id);
      assert.deepEqual(shared.grants, [reader(tenant)]);
      assert.equal(shared.other_grants, true);
      assert.ok(!JSON.stringify(json).includes(other));
      const all = await idsOf(server.admin);
      for (const { id } of [everywhere, here, there, both]) assert.ok(all.includes(id));
    });

    test('shows an administrator of a namespace what is at it and below it', async () => {
      const inside = await made(server.admin, [{ role: 'reader', database: tenant, path: ['only', 't'] }]);
      const beside = await made(server.admin, [{ role: 'reader', database: tenant, path: ['onl'] }]);
      const above = await made(server.admin, [reader(tenant)]);
      const ids = await idsOf(await server.caller('admin', ['only'], tenant));
      assert.ok(ids.includes(inside.id));
      assert.ok(!ids.includes(beside.id) && !ids.includes(above.id));
    });

    test('continues page by page, also past hidden entries', async () => {
      const database = await server.database();
      const wanted: string[] = [];
      for (let turn = 0; turn < 5; turn += 1) {
        wanted.push((await made(server.admin, [reader(database)])).id);
        await made(server.admin, [reader(other)]);
      }
      const admin = await server.caller('admin', [], database);
      const found: string[] = [];
      let page_token: string | undefined;
      do {
        const answer = await list(admin, { limit: 2, ...(page_token === undefined ? {} : { page_token }) });
        assert.equal(answer.status, 200, answer.text);
        assert.ok(answer.json[listField].length <= 2);
        found.push(...answer.json[listField].map(({ id }: { id: string }) => id));
        page_token = answer.json.page_token;
      } while (page_token !== undefined);
      assert.deepEqual(
        found.filter((id) => wanted.includes(id)),
        wanted,
      );
    });

    test('shows what is revoked and what has expired', async () => {
      const gone = await made(server.admin, [reader(tenant)]);
      await revoke(server.admin, gone.id);
      const digest = server.name('digest');
      const grants: readonly Grant[] = [{ role: 'reader', database: tenant, path: [] }];
      const store = kind === 'key' ? server.catalog.keys : server.catalog.clients;
      const late = await store.create({ name: 'late', digest, grants, expiresAt: Date.now() - 1 });
      const states = new Map<string, string>(
        (await list(server.admin)).json[listField].map((each: { id: string; state: string }) => [each.id, each.state]),
      );
      assert.deepEqual([states.get(gone.id), states.get(late.id)], ['revoked', 'expired']);
    });

    test('refuses an invalid page, a caller without credential, and one who administers nothing', async () => {
      for (const body of [{ limit: 0 }, { limit: 1.5 }, { limit: 100_000 }, { limit: 'x' }, { lmit: 1 }]) {
        assertRefused(await list(server.admin, body), badRequest(/l(i)?mit/));
      }
      assertRefused(await list(server.stranger()), unauthenticated);
      assertRefused(await list(await server.caller('owner', [], tenant)), forbidden);
    });
  });

  suite(`revoke_${kind}`, () => {
    test('ends it at once, and only once', async () => {
      const reply = await made(server.admin, [reader(tenant)]);
      const caller = await holder(reply);
      const asked = async (): Promise<Answer> => caller.get('/v1/tables', { 'x-service-database': tenant });
      assert.equal((await asked()).status, 200);
      const answer = await revoke(server.admin, reply.id);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.json.id, reply.id);
      assertRefused(await asked(), unauthenticated);
      assertRefused(await revoke(server.admin, reply.id), NOT_FOUND);
    });

    test('takes only what its caller administers wholly; what it does not see is not there', async () => {
      const admin = await server.caller('admin', [], tenant);
      const here = await made(server.admin, [reader(tenant)]);
      const there = await made(server.admin, [reader(other)]);
      const both = await made(server.admin, [reader(tenant), reader(other)]);
      assertRefused(await revoke(admin, both.id), forbidden);
      const hidden = await revoke(admin, there.id);
      const absent = await revoke(admin, 'x'.repeat(there.id.length));
      assertRefused(hidden, NOT_FOUND);
      assert.equal(hidden.json.detail.replace(there.id, 'x'.repeat(there.id.length)), absent.json.detail);
      assert.equal((await revoke(admin, here.id)).status, 200);
    });

    test('refuses a body without an id, a caller without credential, and one who administers nothing', async () => {
      const path = `/v1/access/${kind}/revoke`;
      for (const body of [{}, { [idField]: '' }, { [idField]: 7 }, { id: ['x'] }]) {
        assertRefused(await server.admin.post(path, body), badRequest());
      }
      const reply = await made(server.admin, [reader(tenant)]);
      assertRefused(await revoke(server.stranger(), reply.id), unauthenticated);
      assertRefused(await revoke(await server.caller('owner', [], tenant), reply.id), forbidden);
    });
  });
}

test('the last key that administers the server is not revoked, nor stripped; a second one frees it', async (t) => {
  const alone = await ContractServer.start();
  t.after(async () => alone.close());
  const [last] = await alone.catalog.keys.list();
  assert.ok(last);
  const revoke = async (): Promise<Answer> => alone.admin.post('/v1/access/key/revoke', { key_id: last.id });
  assertRefused(await revoke(), { ...LAST, detail: /another/ });
  const grant = { principal: `key:${last.id}`, role: 'admin', all_databases: true };
  assertRefused(await alone.admin.post('/v1/access/grant/delete', grant), LAST);
  const grants = [{ role: 'admin', all_databases: true }];
  const made = await alone.admin.post('/v1/access/key/create', { name: 'second', grants });
  assert.equal(made.status, 200, made.text);
  const next = alone.client({ key: made.json.key });
  assert.equal((await next.post('/v1/access/key/revoke', { key_id: last.id })).status, 200);
  assertRefused(await next.post('/v1/access/key/revoke', { key_id: made.json.id }), LAST);
});

test('an anonymous deployment may be administered without a credential', async (t) => {
  const open = await ContractServer.start({ flags: ['--auth-required=false'] });
  t.after(async () => open.close());
  const made = await open.stranger().post('/v1/access/key/create', { name: 'x', grants: [reader('default')] });
  assert.equal(made.status, 200, made.text);
});
