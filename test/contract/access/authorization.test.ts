import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ROLES } from '../../../src/model/access.ts';
import type { Grant } from '../../../src/model/access.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import { openRaw, readAnswer } from '../raw-request.ts';
import { CODE, assertRefused, forbidden, tableNotFound } from '../refusal.ts';

const UPDATE = { updates: [['price', 'price']] };
const METADATA = { updates: [{ path: 'price', metadata: {} }] };
const NO_NAMESPACE = { status: 404, code: CODE.namespaceNotFound } as const;

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
  await server.namespace(['sales']);
  await server.namespace(['sales', 'north']);
  await server.namespace(['hr']);
  for (const id of ['root', 'sales$orders', 'sales$north$orders', 'hr$people']) await server.table({ id });
});
after(async () => server.close());

const reads: Readonly<Record<string, (client: Client, id: string) => Promise<Answer>>> = {
  analyze_plan: async (client, id) => client.post(`/v1/table/${id}/analyze_plan`, {}),
};
const writes: Readonly<Record<string, (client: Client, id: string) => Promise<Answer>>> = {
  update: async (client, id) => client.post(`/v1/table/${id}/update`, UPDATE),
  update_field_metadata: async (client, id) => client.post(`/v1/table/${id}/update_field_metadata`, METADATA),
};
const overwrite = async (client: Client, id: string): Promise<Answer> =>
  client.arrow(`/v1/table/${id}/create?mode=overwrite`, sampleStream(1));

suite('a role', () => {
  test('reader may read and list, and gets 403 for every write', async () => {
    const reader = await server.caller('reader');
    for (const send of Object.values(reads)) assert.equal((await send(reader, 'root')).status, 200);
    for (const send of Object.values(writes)) assertRefused(await send(reader, 'root'), forbidden);
    assertRefused(await overwrite(reader, 'root'), forbidden);
    assertRefused(await reader.arrow('/v1/table/new/create', sampleStream(1)), forbidden);
    assertRefused(await reader.arrow('/v1/table/root/create?mode=exist_ok', sampleStream(1)), forbidden);
    assertRefused(await reader.arrow('/v1/tables/new', sampleStream(1)), forbidden);
    assert.equal((await server.listed(reader)).length, 4);
  });

  for (const role of ['writer', 'owner', 'admin'] as const) {
    test(`${role} may read, list, create, overwrite and update`, async () => {
      const caller = await server.caller(role);
      for (const send of Object.values({ ...reads, ...writes })) assert.equal((await send(caller, 'root')).status, 200);
      assert.equal((await overwrite(caller, 'root')).status, 200);
      assert.equal((await caller.arrow(`/v1/table/${server.name()}/create`, sampleStream(1))).status, 200);
      assert.equal((await caller.arrow(`/v1/tables/${server.name()}`, sampleStream(1))).status, 200);
      assert.ok((await server.listed(caller)).length >= 4);
    });
  }

  test('none at all sees no database: 404', async () => {
    const nobody = server.client({ key: await server.key([]) });
    for (const send of Object.values({ ...reads, ...writes })) assertRefused(await send(nobody, 'root'), NO_NAMESPACE);
    assertRefused(await nobody.get('/v1/tables'), NO_NAMESPACE);
    assertRefused(await overwrite(nobody, 'root'), NO_NAMESPACE);
  });
});

suite('a grant', () => {
  for (const role of ROLES) {
    test(`of ${role} on a namespace is inherited by all below it, and by nothing beside or above it`, async () => {
      const caller = await server.caller(role, ['sales']);
      for (const id of ['sales$orders', 'sales$north$orders']) {
        for (const send of Object.values(reads)) assert.equal((await send(caller, id)).status, 200);
      }
      for (const send of Object.values({ ...reads, ...writes })) {
        assertRefused(await send(caller, 'root'), tableNotFound);
        assertRefused(await send(caller, 'hr$people'), NO_NAMESPACE);
      }
      assert.deepEqual(await server.listed(caller), ['sales$north$orders', 'sales$orders']);
    });
  }

  test('on a table is for that table alone', async () => {
    const caller = await server.caller('writer', ['sales', 'orders']);
    for (const send of Object.values({ ...reads, ...writes }))
      assert.equal((await send(caller, 'sales$orders')).status, 200);
    assert.equal((await overwrite(caller, 'sales$orders')).status, 200);
    assertRefused((await reads['analyze_plan']?.(caller, 'sales$north$orders')) ?? assert.fail(), NO_NAMESPACE);
    assertRefused(await caller.arrow('/v1/table/sales$other/create', sampleStream(1)), forbidden);
    assertRefused(await caller.arrow('/v1/table/root/create', sampleStream(1)), forbidden);
    assertRefused(await caller.arrow('/v1/table/hr$people/create', sampleStream(1)), NO_NAMESPACE);
  });

  test('to write on one table and to read elsewhere keep their places', async () => {
    const grants: readonly Grant[] = [
      { role: 'reader', database: 'default', path: ['sales'] },
      { role: 'writer', database: 'default', path: ['hr'] },
    ];
    const caller = server.client({ key: await server.key(grants) });
    assertRefused(await caller.post('/v1/table/sales$orders/update', UPDATE), forbidden);
    assert.equal((await caller.post('/v1/table/hr$people/update', UPDATE)).status, 200);
  });

  test('on a database is for that database alone, and one without a database for all', async () => {
    const tenant = await server.database();
    const headers = { 'x-service-database': tenant };
    await server.table({ id: 'theirs', headers });
    const here = await server.caller('admin', [], 'default');
    assertRefused(await here.post('/v1/table/theirs/update', UPDATE, headers), NO_NAMESPACE);
    const there = await server.caller('writer', [], tenant);
    assert.equal((await there.post('/v1/table/theirs/update', UPDATE, headers)).status, 200);
    assertRefused(await there.post('/v1/table/root/update', UPDATE), NO_NAMESPACE);
    const everywhere = server.client({ key: await server.key([{ role: 'writer', database: undefined, path: [] }]) });
    assert.equal((await everywhere.post('/v1/table/theirs/update', UPDATE, headers)).status, 200);
    assert.equal((await everywhere.post('/v1/table/root/update', UPDATE)).status, 200);
  });

  test('on a path that is not there yet counts once it is', async () => {
    const caller = await server.caller('owner', ['later']);
    assertRefused(await caller.arrow('/v1/table/later$t/create', sampleStream(1)), NO_NAMESPACE);
    await server.namespace(['later']);
    assert.equal((await caller.arrow('/v1/table/later$t/create', sampleStream(1))).status, 200);
  });

  test('of a revoked key ends at once', async () => {
    const key = await server.key([{ role: 'writer', database: 'default', path: [] }]);
    const caller = server.client({ key });
    assert.equal((await caller.post('/v1/table/root/update', UPDATE)).status, 200);
    const record = (await server.catalog.keys.list()).at(-1);
    assert.ok(record);
    await server.catalog.keys.revoke(record.id);
    assert.equal((await caller.post('/v1/table/root/update', UPDATE)).status, 401);
  });

  test('below a namespace does not show a table that has the name of that namespace', async () => {
    await server.table({ id: 'sales' });
    const caller = await server.caller('admin', ['sales', 'north']);
    assertRefused((await reads['analyze_plan']?.(caller, 'sales')) ?? assert.fail(), tableNotFound);
    assert.ok(!(await server.listed(caller)).includes('sales'));
  });
});

suite('what the caller may not see', () => {
  test('answers like what is not there, in every endpoint, down to the last byte', async () => {
    const caller = await server.caller('owner', ['sales', 'north']);
    const same = { 'x-request-id': 'same' };
    const sends = [
      async (id: string) => caller.post(`/v1/table/${id}/analyze_plan`, {}, same),
      async (id: string) => caller.post(`/v1/table/${id}/update`, UPDATE, same),
      async (id: string) => caller.post(`/v1/table/${id}/update_field_metadata`, METADATA, same),
      async (id: string) => caller.arrow(`/v1/table/${id}/create`, sampleStream(1), same),
      async (id: string) => caller.arrow(`/v1/table/${id}/create?mode=overwrite`, sampleStream(1), same),
    ];
    for (const send of sends) {
      const [hidden, absent] = [await send('hr$people'), await send('ab$absent')];
      assert.equal(hidden.status, 404);
      assert.equal(hidden.text.replaceAll('hr$people', 'ab$absent').replaceAll('"hr\\"', '"ab\\"'), absent.text);
      assert.deepEqual([...hidden.headers].filter(isSteady), [...absent.headers].filter(isSteady));
    }
  });

  test('is not revealed by an invalid request: invalid bodies get the same reply for both', async () => {
    const caller = await server.caller('owner', ['sales', 'north']);
    for (const body of [{ updates: [] }, { updates: [['nope', '1']] }, { updates: [['price', '(']] }]) {
      const hidden = await caller.post('/v1/table/hr$people/update', body);
      const absent = await caller.post('/v1/table/ab$absent/update', body);
      assert.equal(hidden.text.replaceAll('hr$people', 'ab$absent').replaceAll('"hr\\"', '"ab\\"'), absent.text);
    }
  });

  test('cannot be created over: the namespace is not there for such a caller', async () => {
    const caller = await server.caller('admin', ['sales']);
    assertRefused(await overwrite(caller, 'hr$people'), NO_NAMESPACE);
  });
});

test('a caller without the right gets its 403 before the body has arrived, and no name is taken', async () => {
  const key = await server.key([{ role: 'reader', database: 'default', path: [] }]);
  const headers = { 'x-api-key': key, 'content-type': 'application/vnd.apache.arrow.stream' };
  const sent = openRaw(server.url, { path: '/v1/table/never/create', headers });
  sent.on('error', () => undefined);
  sent.write(sampleStream(1).subarray(0, 100));
  assertRefused(await readAnswer(sent), forbidden);
  sent.destroy();
  assert.ok(!(await server.listed()).includes('never'));
});

/** Not the moment of the reply, nor its length: names differ in length. */
function isSteady([name]: readonly [string, string]): boolean {
  return name !== 'date' && name !== 'content-length';
}
