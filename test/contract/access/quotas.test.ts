import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, suite, test } from 'node:test';
import type { Answer, Client } from '../../support/client.ts';
import { ShownMetrics } from '../../support/metrics.ts';
import { requireToken } from '../../support/own-clients.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import { openRaw, readAnswer } from '../raw-request.ts';
import { CODE, assertRefused, badRequest, forbidden, unauthenticated } from '../refusal.ts';

const NOT_FOUND = { status: 404, code: CODE.invalidInput } as const;
const NO_DATABASE = { status: 404, code: CODE.namespaceNotFound } as const;
const THROTTLED = { status: 503, code: CODE.throttling } as const;

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const set = async (body: object, client: Client = server.admin): Promise<Answer> =>
  client.post('/v1/access/quota/set', body);
const remove = async (body: object, client: Client = server.admin): Promise<Answer> =>
  client.post('/v1/access/quota/remove', body);
const list = async (body: object = {}, client: Client = server.admin): Promise<Answer> =>
  client.post('/v1/access/quota/list', body);

function withoutContext({ status, text, json }: Answer): object {
  assert.equal(status, 200, text);
  const { context, ...rest } = json;
  assert.ok(context);
  return rest;
}

suite('set_quota, remove_quota and list_quotas', () => {
  test('set, show and remove the limits of a key and of a database', async () => {
    const { principal } = await server.createKey([{ role: 'reader', database: 'default' }]);
    const database = await server.database();
    assert.deepEqual(withoutContext(await set({ principal, concurrent_reads: 3, rows: 0 })), {
      principal,
      quota: { concurrent_reads: 3, rows: 0 },
    });
    assert.deepEqual(withoutContext(await set({ principal, rows: 7 })), {
      principal,
      quota: { concurrent_reads: 3, rows: 7 },
    });
    const all = { requests_per_second: 1, concurrent_reads: 2, concurrent_writes: 3, bytes: 4, rows: 5, tables: 6 };
    assert.deepEqual(withoutContext(await set({ database, ...all })), { database, quota: all });
    const { quotas } = (await list()).json;
    assert.deepEqual(
      quotas.filter((each: { principal?: string; database?: string }) =>
        [each.principal, each.database].some((name) => name === principal || name === database),
      ),
      [
        { database, quota: all },
        { principal, quota: { concurrent_reads: 3, rows: 7 } },
      ],
    );
    const first = (await list({ limit: 1 })).json;
    assert.equal(first.quotas.length, 1);
    assert.ok((await list({ limit: 1, page_token: first.page_token })).json.quotas.length > 0);
    assert.deepEqual(withoutContext(await remove({ principal, limits: ['rows'] })), {
      principal,
      quota: { concurrent_reads: 3 },
    });
    assertRefused(await remove({ principal, limits: ['rows'] }), NOT_FOUND);
    assert.deepEqual(withoutContext(await remove({ database })), { database, quota: {} });
    assertRefused(await remove({ database }), NOT_FOUND);
  });

  test('remove the quota of a key that was revoked', async () => {
    const { principal } = await server.createKey([{ role: 'reader', database: 'default' }]);
    await set({ principal, rows: 1 });
    assert.equal((await server.admin.post('/v1/access/key/revoke', { key_id: principal.slice(4) })).status, 200);
    assert.equal((await remove({ principal })).status, 200);
  });

  test('refuse bad input, what does not exist, and callers who do not administer the server', async () => {
    const { principal } = await server.createKey([{ role: 'reader', database: 'default' }]);
    const database = await server.database();
    assertRefused(await set({ rows: 1 }), badRequest(/principal or to a database/));
    assertRefused(await set({ principal, database, rows: 1 }), badRequest(/exactly one of them/));
    assertRefused(await set({ principal }), badRequest(/at least one of requests_per_second/));
    assertRefused(await set({ principal, rows: -1 }), badRequest(/rows/));
    assertRefused(await set({ principal, rows: 1.5 }), badRequest(/rows/));
    assertRefused(await set({ principal, requests_per_second: 0 }), badRequest(/requests_per_second/));
    assertRefused(await set({ principal, concurrent_reads: 1e9 }), badRequest(/concurrent_reads/));
    assertRefused(await set({ principal, row: 1 }), badRequest(/row/));
    assertRefused(await set({ principal: 'token:https://i.example#ada', rows: 1 }), badRequest(/key:<id>/));
    assertRefused(await set({ principal: 'key:', rows: 1 }), badRequest());
    assertRefused(await remove({ principal, limits: ['row'] }), badRequest(/The limits are/));
    assertRefused(await list({ limit: 0 }), badRequest());
    assertRefused(await set({ principal: 'key:none', rows: 1 }), NOT_FOUND);
    assertRefused(await set({ database: 'none', rows: 1 }), NO_DATABASE);
    assertRefused(await remove({ database: 'none' }), NO_DATABASE);
    assertRefused(await remove({ principal }), NOT_FOUND);
    const admin = await server.caller('admin', [], database);
    for (const send of [set, remove, list]) {
      const body = send === list ? {} : { database, ...(send === set ? { rows: 1 } : {}) };
      assertRefused(await send(body, server.stranger()), unauthenticated);
      assertRefused(await send(body, await server.caller('owner', [], database)), forbidden);
      assertRefused(await send(body, admin), forbidden);
    }
  });
});

suite('a rate quota', () => {
  test('refuses a caller past its rate, says so in headers, and ends when it is removed', async () => {
    const { principal, client } = await server.createKey([{ role: 'reader', database: 'default' }]);
    const free = await client.get('/v1/tables');
    assert.equal(free.headers.get('ratelimit'), null);
    await set({ principal, requests_per_second: 1 });
    const answers: Answer[] = [];
    while (answers.every(({ status }) => status === 200)) answers.push(await client.get('/v1/tables'));
    const [first] = answers;
    const last = answers.at(-1);
    assert.ok(first && last);
    assert.equal(first.headers.get('ratelimit-policy'), '"caller";q=1;w=1');
    assert.equal(first.headers.get('ratelimit'), '"caller";r=0;t=1');
    assertRefused(last, { ...THROTTLED, detail: /more than 1 requests per second/ });
    assert.equal(last.headers.get('retry-after'), '1');
    assert.equal(last.headers.get('ratelimit'), '"caller";r=0;t=1');
    await remove({ principal });
    for (let count = 0; count < 5; count += 1) assert.equal((await client.get('/v1/tables')).status, 200);
  });

  test('of a database counts all its callers, and no other database', async () => {
    const database = await server.database();
    const other = await server.database();
    await set({ database, requests_per_second: 1 });
    const [a, b] = [await server.caller('reader', [], database), await server.caller('reader', [], database)];
    const header = { 'x-lancedb-database': database };
    const answers: Answer[] = [];
    while (answers.every(({ status }) => status === 200)) {
      for (const client of [a, b]) answers.push(await client.get('/v1/tables', header));
    }
    const refused = answers.find(({ status }) => status !== 200);
    assert.ok(refused);
    assertRefused(refused, { ...THROTTLED, detail: /database receives more than 1 requests/ });
    assert.equal(refused.headers.get('ratelimit-policy'), '"database";q=1;w=1');
    const free = await server.admin.get('/v1/tables', { 'x-lancedb-database': other });
    assert.equal(free.status, 200, free.text);
    assert.equal(free.headers.get('ratelimit'), null);
  });
});

suite('the quota of an OAuth client', () => {
  test('limits the rate and the tables of the holders of its tokens', async () => {
    const grants = [{ role: 'owner', database: 'default' }];
    const { json: made } = await server.admin.post('/v1/access/client/create', { name: 'loader', grants });
    const ask = async (): Promise<Client> => {
      const token = await requireToken(server.url, { id: made.client_id, secret: made.client_secret });
      return server.client({ key: undefined, headers: { authorization: `Bearer ${token}` } });
    };
    const [one, other] = [await ask(), await ask()];
    const { principal } = made;
    assert.deepEqual(withoutContext(await set({ principal, requests_per_second: 1000, tables: 1 })), {
      principal,
      quota: { requests_per_second: 1000, tables: 1 },
    });
    const declared = await one.post(`/v1/table/${server.name()}/declare`, {});
    assert.equal(declared.status, 200, declared.text);
    assert.equal(declared.headers.get('ratelimit-policy'), '"caller";q=1000;w=1');
    assertRefused(await other.post(`/v1/table/${server.name()}/declare`, {}), {
      ...forbidden,
      detail: /quota of this caller allows 1 tables: 1 are used/,
    });
    const { json: shown } = await other.post('/v1/access/usage', {});
    assert.deepEqual([shown.principal, shown.usage.tables], [principal, 1]);
    await set({ principal, concurrent_reads: 0 });
    assertRefused(await one.get('/v1/tables'), { ...THROTTLED, detail: /0 reads in progress/ });
  });
});

suite('a concurrency quota', () => {
  test('refuses one read too many, counts it, and lets the next one in afterwards', async () => {
    const { principal, client, key } = await server.createKey([{ role: 'writer', database: 'default' }]);
    const table = await server.table();
    await set({ principal, concurrent_reads: 1, concurrent_writes: 0 });
    const body = '{}';
    const held = openRaw(server.url, {
      method: 'POST',
      path: `${table.at}/count_rows`,
      headers: {
        'x-api-key': key,
        'content-type': 'application/json',
        'content-length': String(body.length),
        expect: '100-continue',
      },
    });
    try {
      held.flushHeaders();
      // The service asks for the body when it has counted the request.
      await once(held, 'continue');
      const count = async (): Promise<Answer> => client.post(`${table.at}/count_rows`, {});
      const refused = await count();
      assertRefused(refused, { ...THROTTLED, detail: /1 reads in progress/ });
      assert.equal(refused.headers.get('ratelimit-policy'), '"caller-reads";q=1;qu="concurrent-requests"');
      assert.equal(refused.headers.get('retry-after'), '1');
      assertRefused(await client.post(`${table.at}/update`, { updates: [['price', 'price']] }), THROTTLED);
      held.end(body);
      assert.equal((await readAnswer(held)).status, 200);
      assert.equal((await count()).status, 200);
    } finally {
      held.destroy();
    }
    const metrics = await ShownMetrics.read(server.url, ADMIN_KEY);
    assert.ok(metrics.value('tiltyard_quota_refusals_total', { quota: 'concurrent_reads', subject: 'caller' }) >= 1);
  });
});
