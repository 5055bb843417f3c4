import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { OPERATIONS } from '../../../src/operations/registry.ts';
import { UNSUPPORTED } from '../../../src/operations/unsupported.ts';
import type { Answer, Client } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';

/** Every name that must stay hidden holds this word, and no other text does. */
const HIDDEN = 'zzsecret';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
  await server.database(`${HIDDEN}-tenant`);
  for (const path of [['sales'], ['sales', `${HIDDEN}-inside`], [HIDDEN], [HIDDEN, 'deep']])
    await server.namespace(path);
  const ids = ['sales$orders', `sales$${HIDDEN}`, `sales$${HIDDEN}-inside$t`, HIDDEN, `${HIDDEN}$deep$t`];
  for (const id of ids) {
    const table = await server.table({ id });
    const index = await server.admin.post(`${table.at}/create_scalar_index`, { column: 'id', index_type: 'BTREE' });
    assert.ok(index.status < 300, index.text);
  }
  for (const id of ['sales$view', `sales$${HIDDEN}-view`]) {
    const view = { kind: 'query', source_query: '{"table": "sales$orders", "columns": {"id": "id"}}' };
    const answer = await server.admin.post(`/v1/materialized_view/${id}/create`, view);
    assert.ok(answer.status < 300, answer.text);
  }
  await server.key([{ role: 'reader', database: 'default', path: [HIDDEN] }]);
  const webhook = { url: 'https://receiver.example/events', table: ['sales', HIDDEN] };
  const created = await server.admin.post('/v1/webhook/create', webhook);
  assert.equal(created.status, 200, created.text);
});
after(async () => server.close());

const get =
  (path: string) =>
  async (client: Client): Promise<Answer> =>
    client.get(path);
const post =
  (path: string) =>
  async (client: Client): Promise<Answer> =>
    client.post(path, {});

/** By the id of the operation: the ways to ask it where hidden and seen things stand side by side. */
const LISTINGS: Readonly<Record<string, readonly ((client: Client) => Promise<Answer>)[]>> = {
  list_tables: [get('/v1/tables'), get('/v1/tables?limit=1000')],
  list_all_tables: [get('/v1/table'), get('/v1/table/')],
  list_namespaces: [get('/v1/namespace/$/list'), get('/v1/namespace/sales/list')],
  list_tables_of_namespace: [get('/v1/namespace/$/table/list'), get('/v1/namespace/sales/table/list')],
  list_transactions: [get('/v1/transaction/list')],
  list_jobs: [post('/v1/jobs/list')],
  list_webhooks: [post('/v1/webhook/list')],
  list_databases: [post('/v1/database/list')],
  list_materialized_views: [
    get('/v1/namespace/$/materialized_view/list'),
    get('/v1/namespace/sales/materialized_view/list'),
  ],
};

/** Listings of one table, which is seen or not as a whole. */
const OF_TABLE: Readonly<Record<string, string>> = {
  list_table_versions: 'version/list',
  list_table_tags: 'tags/list',
  list_table_branches: 'branches/list',
  list_table_indices: 'index/list',
};

/** For administrators alone; their own tests say what they show. */
const OF_ADMINISTRATION = [
  'list_keys',
  'list_clients',
  'list_grants',
  'list_quotas',
  'list_signing_keys',
  'list_slow_queries',
  'list_nodes',
];

test('every listing that the service offers is asked here', () => {
  const unsupported = new Set(UNSUPPORTED.map(({ id }) => id));
  const listings = OPERATIONS.map(({ id }) => id).filter((id) => id.startsWith('list_') && !unsupported.has(id));
  const asked = [...Object.keys(LISTINGS), ...Object.keys(OF_TABLE), ...OF_ADMINISTRATION];
  assert.deepEqual(listings.toSorted(), asked.toSorted());
});

test('the administrator is shown everything, so that there is something to hide', async () => {
  for (const [id, ways] of Object.entries(LISTINGS)) {
    const texts = await Promise.all(ways.map(async (ask) => (await ask(server.admin)).text));
    assert.ok(
      texts.some((text) => text.includes(HIDDEN)),
      id,
    );
  }
});

test('a caller with a role on one table is shown nothing beside it, in any listing', async () => {
  for (const role of ['reader', 'writer', 'owner', 'admin'] as const) {
    const caller = await server.caller(role, ['sales', 'orders']);
    for (const [id, ways] of Object.entries(LISTINGS)) {
      for (const ask of ways) {
        const answer = await ask(caller);
        assert.equal(answer.status, 200, `${id}: ${answer.text}`);
        assert.ok(!answer.text.includes(HIDDEN), `${id} shows ${answer.text}`);
      }
    }
    assert.deepEqual((await caller.get('/v1/tables')).json.tables, ['sales$orders']);
  }
});

test('an administrator of one table is shown the access to it alone', async () => {
  const admin = await server.caller('admin', ['sales', 'orders']);
  for (const kind of ['key', 'client', 'grant']) {
    const answer = await admin.post(`/v1/access/${kind}/list`, {});
    assert.equal(answer.status, 200, answer.text);
    assert.ok(!answer.text.includes(HIDDEN));
  }
});

test('the listings of a hidden table answer like those of one that is not there', async () => {
  const caller = await server.caller('admin', ['sales', 'orders']);
  const absent = 'x'.repeat(HIDDEN.length);
  for (const [id, path] of Object.entries(OF_TABLE)) {
    assert.equal((await caller.post(`/v1/table/sales$orders/${path}`, {})).status, 200, id);
    const hidden = await caller.post(`/v1/table/sales$${HIDDEN}/${path}`, {});
    const missing = await caller.post(`/v1/table/sales$${absent}/${path}`, {});
    assert.equal(hidden.status, 404, id);
    assert.equal(hidden.text.replaceAll(HIDDEN, absent), missing.text);
  }
});

test('pages count only what is shown', async () => {
  const caller = await server.caller('reader', ['sales', 'orders']);
  const page = await caller.get('/v1/tables?limit=1');
  assert.deepEqual(page.json.tables, ['sales$orders']);
  assert.equal(page.json.page_token, undefined);
});
