import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ok } from '../../support/client.ts';
import type { Client } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { ContractServer } from '../contract-server.ts';
import type { Tenant } from '../contract-server.ts';
import { assertRefused, forbidden } from '../refusal.ts';
import { TOTAL, ended, itemsStream } from './computed-tables.ts';
import type { Item } from './computed-tables.ts';

const ITEMS: readonly Item[] = [
  [1, 1, 1],
  [2, 2, 2],
  [3, 3, 3],
  [4, 4, 4],
];

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({
    flags: [
      '--views-poll-seconds=1',
      '--views-interval-seconds-min=1',
      '--maintenance-running-max=0',
      '--engine-backfill-bytes=64KiB',
    ],
  });
});
after(async () => server.close());

/** A database with a table of four rows, and a key that owns it. */
async function makeTenant(): Promise<Tenant> {
  const tenant = await server.tenant();
  ok(await tenant.client.arrow('/v1/table/items/create', itemsStream(ITEMS)));
  return tenant;
}

/** Rows whose computed values cannot be compressed. */
async function createMany(client: Client, rows: number): Promise<void> {
  const items = Array.from({ length: rows }, (_unused, id): Item => [id, Math.sin(id), id]);
  ok(await client.arrow('/v1/table/many/create', itemsStream(items)));
}

async function createView({ client }: Tenant, fields: object = {}) {
  const body = { kind: 'query', source_query: 'SELECT id FROM items', ...fields };
  return client.post('/v1/materialized_view/ids/create', body);
}

async function refresh({ client }: Tenant): Promise<any> {
  const { status, text, json } = await client.post('/v1/materialized_view/ids/refresh', {});
  assert.equal(status, 202, text);
  return ended(client, json.job_id);
}

async function count({ client }: Tenant): Promise<number> {
  return (await client.post('/v1/table/ids/count_rows', {})).json;
}

suite('a quota', () => {
  test('of tables counts views', async () => {
    const tenant = await makeTenant();
    await server.setQuota({ database: tenant.database, tables: 1 });
    assertRefused(await createView(tenant), { ...forbidden, detail: /allows 1 table/ });
    await server.setQuota({ database: tenant.database, tables: 2 });
    assert.equal((await createView(tenant)).status, 201);
  });

  test('of rows refuses a refresh that would exceed it, and the view stays as it was', async () => {
    const tenant = await makeTenant();
    assert.equal((await createView(tenant)).status, 201);
    await server.setQuota({ database: tenant.database, rows: 7 });
    const refused = await refresh(tenant);
    assert.equal(refused.job_state, 'FAILED');
    assert.match(refused.failure.message, /allows 7 rows: 4 are used.* adds 4/);
    assert.equal(await count(tenant), 0);
    await server.setQuota({ database: tenant.database, rows: 9 });
    assert.equal((await refresh(tenant)).job_state, 'DONE');
    const inserted = await tenant.client.arrow('/v1/table/items/insert', itemsStream([[5, 5, 5]]));
    assert.equal(inserted.status, 200, inserted.text);
    assert.match((await refresh(tenant)).failure.message, /allows 9 rows: 9 are used.* adds 1/);
    assert.equal(await count(tenant), 4);
    const { usage } = (await tenant.client.post('/v1/access/usage', { database: tenant.database })).json;
    assert.equal(usage.rows, 9);
  });

  test('of the key that created the view counts its rows, no matter who refreshes it', async () => {
    const tenant = await makeTenant();
    assert.equal((await createView(tenant)).status, 201);
    await server.setQuota({ principal: tenant.principal, rows: 7 });
    assert.match((await refresh(tenant)).failure.message, /allows 7 rows: 4 are used.* adds 4/);
    const admin = server.client({ headers: { 'x-service-database': tenant.database } });
    assert.match((await refresh({ ...tenant, client: admin })).failure.message, /allows 7 rows: 4 are used.* adds 4/);
    assert.equal(await count(tenant), 0);
  });

  test('of bytes counts what a backfill added', async () => {
    const { client, database } = await makeTenant();
    await server.setQuota({ database, bytes: 1_000_000_000 });
    const bytes = async (): Promise<number> => (await client.post('/v1/access/usage', { database })).json.usage.bytes;
    const added = await client.post('/v1/table/items/add_columns', TOTAL);
    assert.equal(added.status, 200, added.text);
    const before = await bytes();
    const started = await client.post('/v1/table/items/backfill_column', { column: 'total' });
    assert.equal((await ended(client, started.json.job_id)).job_state, 'DONE', started.text);
    assert.ok((await bytes()) > before, `${before} bytes before and after`);
  });

  test('of bytes refuses a backfill that has no room, before it starts', async () => {
    const { client, database } = await makeTenant();
    await server.setQuota({ database, bytes: 1_000_000_000 });
    assert.equal((await client.post('/v1/table/items/add_columns', TOTAL)).status, 200);
    const used: number = (await client.post('/v1/access/usage', { database })).json.usage.bytes;
    const backfill = async () => client.post('/v1/table/items/backfill_column', { column: 'total' });
    // Four rows of eight bytes.
    for (const bytes of [used, used + 31]) {
      await server.setQuota({ database, bytes });
      const refused = { ...forbidden, detail: new RegExp(`allows ${bytes} bytes: ${used} are used.* adds 32`) };
      assertRefused(await backfill(), refused);
    }
    assert.deepEqual((await client.post('/v1/jobs/list', {})).json.jobs, []);
    await server.setQuota({ database, bytes: 1_000_000_000 });
    const started = await backfill();
    assert.equal((await ended(client, started.json.job_id)).job_state, 'DONE', started.text);
    await server.setQuota({ database, bytes: 1 });
    assert.equal((await backfill()).status, 202);
  });

  test('of bytes cannot be exceeded by backfills that run together', async () => {
    const { client, database } = await makeTenant();
    const rows = 20_000;
    await createMany(client, rows);
    const columns = ['a', 'b', 'c', 'd', 'e'];
    const new_columns = columns.map((name) => ({ name, computed: 'price * price' }));
    assert.equal((await client.post('/v1/table/many/add_columns', { new_columns })).status, 200);
    await server.setQuota({ database, bytes: 1_000_000_000 });
    const used = async (): Promise<number> => (await client.post('/v1/access/usage', { database })).json.usage.bytes;
    // There is room for one of them.
    const bytes = (await used()) + 12 * rows;
    await server.setQuota({ database, bytes });
    const refusals: string[] = [];
    const started: string[] = [];
    for (const column of columns) {
      const { status, json } = await client.post('/v1/table/many/backfill_column', { column });
      if (status === 202) started.push(json.job_id);
      else refusals.push(json.detail);
    }
    for (const id of started) {
      const job = await ended(client, id);
      if (job.job_state === 'FAILED') refusals.push(job.failure.message);
    }
    assert.ok((await used()) <= bytes, `${await used()} of ${bytes} bytes`);
    assert.equal(refusals.length, columns.length - 1);
    for (const refusal of refusals) assert.match(refusal, /this database allows .* bytes/);
  });

  test('of bytes lets a backfill be asked for again while it runs', async () => {
    const { client, database } = await makeTenant();
    const rows = 100_000;
    await createMany(client, rows);
    assert.equal((await client.post('/v1/table/many/add_columns', TOTAL)).status, 200);
    await server.setQuota({ database, bytes: 1_000_000_000 });
    const { usage } = (await client.post('/v1/access/usage', { database })).json;
    await server.setQuota({ database, bytes: usage.bytes + 12 * rows });
    const backfill = async () => client.post('/v1/table/many/backfill_column', { column: 'total' });
    const first = await backfill();
    assert.equal(first.status, 202, first.text);
    const describe = async () => (await client.post('/v1/jobs/describe', { job_id: first.json.job_id })).json;
    await eventually(async () => (await describe()).phase.startsWith('filled'));
    const again = await backfill();
    assert.equal(again.status, 202, again.text);
    for (const { json } of [first, again]) assert.equal((await ended(client, json.job_id)).job_state, 'DONE');
  });

  test('compares a rebuild with the rows that it replaces', async () => {
    const tenant = await makeTenant();
    assert.equal((await createView(tenant)).status, 201);
    await server.setQuota({ database: tenant.database, rows: 8 });
    assert.equal((await refresh(tenant)).job_state, 'DONE');
    const deleted = await tenant.client.post('/v1/table/items/delete', { predicate: 'id = 1' });
    assert.equal(deleted.status, 200, deleted.text);
    assert.equal((await refresh(tenant)).result.how, 'rebuilt');
    assert.equal(await count(tenant), 3);
  });

  test('keeps a view from being refreshed by itself until there is room', async () => {
    const tenant = await makeTenant();
    await server.setQuota({ database: tenant.database, rows: 5 });
    assert.equal((await createView(tenant, { auto_refresh: true })).status, 201);
    const jobs = async (): Promise<readonly { state: string }[]> =>
      (await tenant.client.post('/v1/jobs/list', {})).json.jobs;
    await eventually(async () => (await jobs()).some(({ state }) => state === 'FAILED'));
    assert.equal(await count(tenant), 0);
    await server.setQuota({ database: tenant.database, rows: 8 });
    assert.equal((await refresh(tenant)).job_state, 'DONE');
    assert.equal(await count(tenant), 4);
  });
});
