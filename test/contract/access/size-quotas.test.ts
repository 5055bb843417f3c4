import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import type { Answer, Client } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { ShownMetrics } from '../../support/metrics.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import { Int32, count as countUp, streamOf } from '../contract-tables.ts';
import { CODE, assertRefused, forbidden, unauthenticated, badRequest } from '../refusal.ts';

const NOT_FOUND = { status: 404, code: CODE.invalidInput } as const;
const NO_DATABASE = { status: 404, code: CODE.namespaceNotFound } as const;

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const stream = (rows: number): Uint8Array =>
  streamOf({ id: { type: new Int32(), values: countUp(rows), nullable: false } });
const exceeded = (detail: RegExp) => ({ ...forbidden, detail });

async function create(client: Client, name: string, rows: number, query = ''): Promise<Answer> {
  return client.arrow(`/v1/table/${name}/create${query}`, stream(rows));
}

async function insert(client: Client, name: string, rows: number, query = ''): Promise<Answer> {
  return client.arrow(`/v1/table/${name}/insert${query}`, stream(rows));
}

async function count(client: Client, name: string): Promise<number> {
  return Number((await client.post(`/v1/table/${name}/count_rows`, {})).text);
}

async function usage(client: Client, body: object = {}): Promise<{ bytes: number; rows: number; tables: number }> {
  const answer = await client.post('/v1/access/usage', body);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.usage.unmeasured_tables, 0);
  return answer.json.usage;
}

function assertDone(answer: Answer): void {
  assert.equal(answer.status, 200, answer.text);
}

suite('a quota of rows', () => {
  test('refuses an insert that would exceed it, before anything is changed', async () => {
    const { database, client } = await server.tenant();
    assertDone(await create(client, 'a', 60));
    await server.setQuota({ database, rows: 100 });
    assertRefused(await insert(client, 'a', 41), exceeded(/this database allows 100 rows: 60 are used.* adds 41/));
    assert.equal(await count(client, 'a'), 60);
    assertDone(await insert(client, 'a', 40));
    assertRefused(await insert(client, 'a', 1), exceeded(/100 are used/));
    assert.equal((await usage(client, { database })).rows, 100);
    const metrics = await ShownMetrics.read(server.url, ADMIN_KEY);
    assert.ok(metrics.value('tiltyard_quota_refusals_total', { quota: 'rows', subject: 'database' }) >= 2);
  });

  test('counts all tables of the database, and leaves nothing of a create that it refuses', async () => {
    const { database, client } = await server.tenant();
    await server.setQuota({ database, rows: 10 });
    assertDone(await create(client, 'a', 6));
    assertRefused(await create(client, 'b', 5), exceeded(/allows 10 rows/));
    assertRefused(await client.post('/v1/table/b/describe', {}), { status: 404, code: CODE.tableNotFound });
    assertDone(await create(client, 'b', 4));
  });

  test('lets rows be deleted and tables be dropped past it, and what is freed be used again', async () => {
    const { database, client } = await server.tenant();
    assertDone(await create(client, 'a', 10));
    assertDone(await create(client, 'b', 10));
    await server.setQuota({ database, rows: 5 });
    assertRefused(await insert(client, 'a', 1), exceeded(/20 are used/));
    assertDone(await client.post('/v1/table/a/delete', { predicate: 'id >= 2' }));
    assert.equal((await usage(client, { database })).rows, 12);
    assertDone(await client.post('/v1/table/b/drop', {}));
    assert.equal((await usage(client, { database })).rows, 2);
    assertDone(await insert(client, 'a', 3));
  });

  test('compares an overwrite with the rows that it replaces', async () => {
    const { database, client } = await server.tenant();
    await server.setQuota({ database, rows: 10 });
    assertDone(await create(client, 'a', 10));
    assertDone(await insert(client, 'a', 10, '?mode=overwrite'));
    assertDone(await create(client, 'a', 9, '?mode=overwrite'));
    assertRefused(await insert(client, 'a', 11, '?mode=overwrite'), exceeded(/adds 2/));
    assert.equal(await count(client, 'a'), 9);
    assertDone(await client.post('/v1/table/a/restore', { version: 1 }));
    assert.equal(await count(client, 'a'), 10);
    const missing = { status: 404, code: CODE.versionNotFound };
    assertRefused(await client.post('/v1/table/a/restore', { version: 99 }), missing);
  });

  test('refuses an overwrite that would exceed it, in each spelling of the mode', async () => {
    const { database, client } = await server.tenant();
    await server.setQuota({ database, rows: 10 });
    assertDone(await create(client, 'a', 5));
    for (const mode of ['overwrite', 'OVERWRITE', 'over_write', '"overwrite"', '"Over_Write"']) {
      const query = `?mode=${encodeURIComponent(mode)}`;
      assertRefused(await create(client, 'a', 11, query), exceeded(/5 are used, and this request adds 6/));
      assertDone(await create(client, 'a', 10, query));
      assert.equal((await usage(client, { database })).rows, 10, mode);
      assertDone(await create(client, 'a', 5, query));
    }
  });

  test('replays a write that was applied, also when the quota is used up', async () => {
    const { database, client } = await server.tenant();
    await server.setQuota({ database, rows: 10 });
    assertDone(await create(client, 'a', 5));
    const send = async (): Promise<Answer> =>
      client.arrow('/v1/table/a/insert', stream(5), { 'idempotency-key': 'once' });
    assertDone(await send());
    const again = await send();
    assertDone(again);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.equal(await count(client, 'a'), 10);
  });

  test('replays a restore whose version was deleted since', async () => {
    const { database, client } = await server.tenant();
    await server.setQuota({ database, rows: 10 });
    assertDone(await create(client, 'a', 5));
    assertDone(await insert(client, 'a', 5));
    const restore = async (): Promise<Answer> =>
      client.post('/v1/table/a/restore', { version: 1 }, { 'idempotency-key': 'once' });
    assertDone(await restore());
    assertDone(await client.post('/v1/table/a/version/delete', { ranges: [{ start_version: 1, end_version: 2 }] }));
    const again = await restore();
    assertDone(again);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
  });

  test('cannot be exceeded by inserts that arrive together', async () => {
    const { database, client } = await server.tenant();
    await server.setQuota({ database, rows: 50 });
    assertDone(await create(client, 'a', 1));
    const answers = await Promise.all(Array.from({ length: 20 }, async () => insert(client, 'a', 7)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 7);
    assert.equal(await count(client, 'a'), 50);
    for (const answer of answers.filter(({ status }) => status !== 200)) assertRefused(answer, exceeded(/50 rows/));
  });

  test('counts the parts of an upload when it is completed, and a merge by the rows that it may add', async () => {
    const { database, client } = await server.tenant();
    await server.setQuota({ database, rows: 10 });
    assertDone(await create(client, 'a', 4));
    const { json } = await client.post('/v1/table/a/multipart_write/create', {});
    for (const part of ['1', '2']) {
      assertDone(await insert(client, 'a', 4, `?upload_id=${json.upload_id}&upload_part_id=${part}`));
    }
    const complete = `/v1/table/a/multipart_write/complete?upload_id=${json.upload_id}`;
    assertRefused(await client.send('POST', complete, {}), exceeded(/adds 8/));
    assert.equal(await count(client, 'a'), 4);
    const merge = '/v1/table/a/merge_insert?on=id&when_matched_update_all=true';
    assertRefused(await client.arrow(`${merge}&when_not_matched_insert_all=true`, stream(7)), exceeded(/adds 7/));
    assertDone(await client.arrow(merge, stream(7)));
    assertDone(await client.arrow(`${merge}&when_not_matched_insert_all=true`, stream(6)));
    assert.equal(await count(client, 'a'), 6);
  });
});

suite('a quota of tables', () => {
  test('refuses one more create, declare and clone, but not one that keeps what exists', async () => {
    const { database, client } = await server.tenant();
    assertDone(await create(client, 'a', 1));
    const { location } = (await client.post('/v1/table/a/describe', {})).json;
    await server.setQuota({ database, tables: 2 });
    assertDone(await client.post('/v1/table/b/declare', {}));
    const refused = exceeded(/allows 2 tables: 2 are used, and this request adds 1/);
    assertRefused(await create(client, 'c', 1), refused);
    assertRefused(await client.post('/v1/table/c/declare', {}), refused);
    assertRefused(await client.post('/v1/table/c/clone', { source_location: location }), refused);
    assertDone(await create(client, 'a', 1, '?mode=exist_ok'));
    assertDone(await create(client, 'a', 1, '?mode=overwrite'));
    assertRefused(await create(client, 'a', 1), { status: 409, code: CODE.tableExists });
    assertDone(await insert(client, 'b', 1));
    assertDone(await client.post('/v1/table/b/drop', {}));
    assertDone(await client.post('/v1/table/c/clone', { source_location: location }));
  });

  test('of a key counts every table that it created, no matter who writes to it', async () => {
    const { database, client, principal } = await server.tenant();
    const header = { 'x-service-database': database };
    assertDone(await server.admin.arrow('/v1/table/theirs/create', stream(5), header));
    await server.setQuota({ principal, tables: 1, rows: 10 });
    assertDone(await create(client, 'mine', 5));
    assertRefused(await create(client, 'more', 1), exceeded(/quota of this caller allows 1 tables/));
    assertDone(await insert(client, 'theirs', 50));
    const byAnother = await server.admin.arrow('/v1/table/mine/insert', stream(6), header);
    assertRefused(byAnother, exceeded(/key or client that created this table allows 10 rows/));
    assert.deepEqual(await usage(client).then(({ rows, tables }) => ({ rows, tables })), { rows: 5, tables: 1 });
    assertDone(await server.admin.arrow('/v1/table/more/create', stream(1), header));
  });
});

suite('a declared table', () => {
  test('counts for the key that declared it, no matter who fills it', async () => {
    const { database, client, principal } = await server.tenant();
    await server.setQuota({ principal, rows: 10 });
    assertDone(await client.post('/v1/table/declared/declare', {}));
    const other = server.client({ headers: { 'x-service-database': database } });
    const refused = exceeded(/key or client that created this table allows 10 rows: 0 are used.* adds 11/);
    assertRefused(await insert(other, 'declared', 11), refused);
    assertRefused(await create(other, 'declared', 11), refused);
    assertRefused(await create(other, 'declared', 11, '?mode=exist_ok'), refused);
    assertRefused(await create(other, 'declared', 11, '?mode=overwrite'), refused);
    assertDone(await create(other, 'declared', 10));
    assert.deepEqual(await usage(client).then(({ rows, tables }) => [rows, tables]), [10, 1]);
  });
});

suite('a registered table', () => {
  /** Data that no table has, and where they are. */
  async function release(client: Client, rows: number): Promise<string> {
    assertDone(await create(client, 'released', rows));
    const { location } = (await client.post('/v1/table/released/describe', {})).json;
    assertDone(await client.post('/v1/table/released/deregister', {}));
    return location.slice(location.lastIndexOf('/') + 1);
  }

  test('counts with all its rows, and is refused where they exceed a quota', async () => {
    const { database, client } = await server.tenant();
    const location = await release(client, 8);
    await server.setQuota({ database, rows: 10 });
    assertDone(await create(client, 'a', 3));
    const register = async (): Promise<Answer> => client.post('/v1/table/b/register', { location });
    assertRefused(await register(), exceeded(/this database allows 10 rows: 3 are used, and this request adds 8/));
    assertRefused(await client.post('/v1/table/b/describe', {}), { status: 404, code: CODE.tableNotFound });
    assertDone(await client.post('/v1/table/a/delete', { predicate: 'id = 0' }));
    assertDone(await register());
    assert.deepEqual(await usage(client, { database }).then(({ rows, tables }) => [rows, tables]), [10, 2]);
  });

  test('in place of a table of another creator counts for its new one', async () => {
    const { database, client, principal } = await server.tenant();
    const location = await release(client, 8);
    const header = { 'x-service-database': database };
    assertDone(await server.admin.arrow('/v1/table/theirs/create', stream(8), header));
    const register = async (mode = 'overwrite'): Promise<Answer> =>
      client.post('/v1/table/theirs/register', { location, mode });
    await server.setQuota({ principal, tables: 0 });
    for (const mode of ['overwrite', 'Over_Write', '"overwrite"']) {
      assertRefused(await register(mode), exceeded(/this caller allows 0 tables: 0 are used, and this request adds 1/));
    }
    await server.setQuota({ principal, tables: 1, rows: 7 });
    assertRefused(await register(), exceeded(/this caller allows 7 rows: 0 are used, and this request adds 8/));
    await server.setQuota({ principal, rows: 8 });
    await server.setQuota({ database, tables: 1, rows: 8 });
    assertDone(await register());
    assert.deepEqual(await usage(client).then(({ rows, tables }) => [rows, tables]), [8, 1]);
  });
});

suite('a quota of bytes', () => {
  test('refuses inserts, clones, and updates once it is used up', async () => {
    const { database, client } = await server.tenant();
    assertDone(await create(client, 'a', 1000));
    const { bytes } = await usage(client, { database });
    assert.ok(bytes > 1000);
    await server.setQuota({ database, bytes: bytes + 100 });
    assertRefused(await insert(client, 'a', 1000), exceeded(/bytes/));
    const { location } = (await client.post('/v1/table/a/describe', {})).json;
    assertRefused(await client.post('/v1/table/b/clone', { source_location: location }), exceeded(/bytes/));
    await server.setQuota({ database, bytes });
    const update = async (): Promise<Answer> => client.post('/v1/table/a/update', { updates: [['id', 'id']] });
    assertRefused(await update(), exceeded(/bytes/));
    assertRefused(
      await client.post('/v1/table/a/add_columns', { new_columns: [{ name: 'x', expression: 'id * 2' }] }),
      exceeded(/bytes/),
    );
    const alter = async (alteration: object): Promise<Answer> =>
      client.post('/v1/table/a/alter_columns', { alterations: [{ path: 'id', ...alteration }] });
    assertRefused(await alter({ data_type: { type: 'int64' } }), exceeded(/bytes/));
    assertDone(await alter({ nullable: true }));
    assertDone(await client.post('/v1/table/a/delete', { predicate: 'id >= 0' }));
    assert.equal((await usage(client, { database })).bytes, 0);
    assertDone(await update());
  });
});

suite('maintenance', () => {
  test('keeps the size of a table that it compacts up to date', async () => {
    const { database, client } = await server.tenant();
    await server.setQuota({ database, bytes: 1_000_000_000 });
    assertDone(await create(client, 'a', 20_000));
    for (let turn = 0; turn < 3; turn += 1) assertDone(await insert(client, 'a', 20_000));
    assertDone(await client.post('/v1/table/a/delete', { predicate: 'id >= 10' }));
    const before = await usage(client, { database });
    assert.equal(before.rows, 40);
    const run = await client.post('/v1/table/a/maintenance/run', {});
    assert.ok(run.status < 300, run.text);
    await eventually(async () => {
      const { rows, bytes } = await usage(client, { database });
      assert.equal(rows, 40);
      return bytes < before.bytes / 10;
    });
  });
});

suite('describe_usage', () => {
  test('shows callers their own usage, owners that of their database, administrators all', async () => {
    const { database, client, principal } = await server.tenant();
    assertDone(await create(client, 'a', 3));
    await server.setQuota({ database, tables: 9 });
    const own = await client.post('/v1/access/usage', {});
    assertDone(own);
    assert.equal(own.json.principal, principal);
    assert.deepEqual([own.json.quota, own.json.usage.rows, own.json.usage.tables], [{}, 3, 1]);
    const shown = await client.post('/v1/access/usage', { database });
    assert.deepEqual([shown.json.database, shown.json.quota], [database, { tables: 9 }]);
    assert.equal((await usage(server.admin, { principal })).rows, 3);
    assert.equal((await usage(server.admin, { database })).rows, 3);
    assertDone(await insert(client, 'a', 2));
    assert.equal((await usage(client)).rows, 5, 'also without a size quota of the caller');
  });

  test('refuses bad input, what does not exist or is hidden, and callers without a role for it', async () => {
    const { database, client, principal } = await server.tenant();
    const other = await server.database();
    const send = async (who: Client, body: object): Promise<Answer> => who.post('/v1/access/usage', body);
    assertRefused(await send(server.admin, { database, principal }), badRequest(/exactly one of them/));
    assertRefused(await send(server.admin, { principal: 'x' }), badRequest(/key:<id>/));
    assertRefused(await send(server.admin, { principal: `key:${randomUUID()}` }), NOT_FOUND);
    assertRefused(await send(server.admin, { database: 'none' }), NO_DATABASE);
    assertRefused(await send(client, { database: other }), NO_DATABASE);
    assertRefused(await send(client, { principal: 'key:other' }), forbidden);
    assertRefused(await send(await server.caller('writer', [], database), { database }), forbidden);
    assertRefused(await send(server.stranger(), {}), unauthenticated);
  });
});
