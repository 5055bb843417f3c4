import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import { assertRefused, badRequest, unauthenticated } from '../refusal.ts';

const notFound = { status: 404, code: 10 };
const unsupported = { status: 406, code: 0 };

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
  await server.namespace(['sales']);
});
after(async () => server.close());

const ask = async (id: string, operation: string, body: object = {}, client = server.admin): Promise<Answer> =>
  client.post(`/v1/transaction/${id}/${operation}`, body);

async function committed(id: string): Promise<string> {
  await server.table({ id });
  const { json } = await server.admin.post(`/v1/table/${encodeURIComponent(id)}/update`, { updates: [['id', '1']] });
  return json.transaction_id;
}

suite('POST /v1/transaction/{id}/describe', () => {
  test('tells who did what, to which table, at which version, and when', async () => {
    const id = await committed('sales$orders');
    const { status, json } = await ask(id, 'describe', { id: [id] });
    assert.equal(status, 200);
    assert.equal(json.status, 'Succeeded');
    const { operation, version, id: table, transaction_id, caller, committed_at } = json.properties;
    assert.deepEqual([operation, version, table, transaction_id], ['update_table', '2', 'sales$orders', id]);
    assert.match(caller, /^key:/);
    assert.ok(!Number.isNaN(Date.parse(committed_at)));
  });

  test('tells of changes of names, which have no version', async () => {
    const table = await server.table();
    const { json } = await server.admin.post(`${table.at}/drop`, {});
    const { properties } = (await ask(json.transaction_id, 'describe')).json;
    assert.deepEqual([properties.operation, properties.id, properties.version], ['drop_table', table.id, undefined]);
  });

  test('answers 404 for what is missing, hidden, or another database’s', async () => {
    const table = server.name();
    const id = await committed(table);
    assertRefused(await ask('nope', 'describe'), notFound);
    assertRefused(await ask(id, 'describe', {}, await server.caller('owner', ['sales'])), notFound);
    assert.equal((await ask(id, 'describe', {}, await server.caller('reader', [table]))).status, 200);
    const tenant = await server.database();
    const elsewhere = server.client({ key: await server.key([{ role: 'admin', database: undefined, path: [] }]) });
    const other = await elsewhere.post(`/v1/transaction/${id}/describe`, {}, { 'x-service-database': tenant });
    assertRefused(other, notFound);
    assertRefused(await ask(id, 'describe', {}, server.stranger()), unauthenticated);
    assertRefused(await ask(id, 'describe', { id: ['other'] }), badRequest());
    assertRefused(await ask(id, 'describe', { what: 1 }), badRequest(/what/));
  });
});

suite('POST /v1/transaction/{id}/alter', () => {
  test('confirms what is so, and refuses to alter the rest', async () => {
    const id = await committed(server.name());
    const alter = async (...actions: object[]) => ask(id, 'alter', { actions });
    assert.equal((await alter({ setStatusAction: { status: 'SUCCEEDED' } })).json.status, 'Succeeded');
    assert.equal((await alter()).status, 200);
    for (const status of ['Canceled', 'failed', 'running']) {
      assertRefused(await alter({ setStatusAction: { status } }), unsupported);
    }
    assertRefused(await alter({ setPropertyAction: { key: 'a', value: 'b' } }), unsupported);
    assertRefused(await alter({ unsetPropertyAction: { key: 'a' } }), unsupported);
    assertRefused(await alter({ setStatusAction: { status: 'perhaps' } }), badRequest(/perhaps/));
    assertRefused(await alter({}), badRequest());
    assertRefused(await ask(id, 'alter', {}), badRequest(/actions/));
    assertRefused(await ask('nope', 'alter', { actions: [] }), notFound);
    assertRefused(await ask(id, 'alter', { actions: [] }, server.stranger()), unauthenticated);
  });
});

suite('GET /v1/transaction/list', () => {
  let feed: ContractServer;
  before(async () => {
    feed = await ContractServer.start();
    await feed.namespace(['sales']);
    for (const id of ['a', 'sales$b']) await feed.table({ id });
    await feed.admin.post('/v1/table/a/update', { updates: [['id', '1']] });
    await feed.admin.post('/v1/table/a/rename', { new_table_name: 'c' });
    await feed.admin.post('/v1/namespace/sales/drop', { behavior: 'cascade' });
  });
  after(async () => feed.close());
  const list = async (query = '', client = feed.admin) => (await client.get(`/v1/transaction/list${query}`)).json;
  const said = (page: { transactions: { operation: string; id: string[] }[] }) =>
    page.transactions.map(({ operation, id }) => `${operation} ${id.join('$')}`);

  const ALL = [
    'create_namespace sales',
    'create_table a',
    'create_table sales$b',
    'update_table a',
    'rename_table c',
    'drop_table sales$b',
    'drop_namespace sales',
  ];

  test('has every commit, in order', async () => {
    const page = await list();
    assert.deepEqual(said(page), ALL);
    assert.equal(page.page_token, undefined);
    assert.equal(page.transactions[3].version, 2);
  });

  for (const limit of [1, 2, 4, 7]) {
    test(`comes in pages of ${limit}, which together are the whole, each once`, async () => {
      const seen: string[] = [];
      let query = `?limit=${limit}`;
      for (let pages = 0; pages < 10; pages += 1) {
        const page = await list(query);
        seen.push(...said(page));
        if (page.page_token === undefined) break;
        query = `?limit=${limit}&page_token=${page.page_token}`;
      }
      assert.deepEqual(seen, ALL);
    });
  }

  test('goes on behind the last id that was seen', async () => {
    const { transactions } = await list();
    assert.deepEqual(said(await list(`?page_token=${transactions[3].transaction_id}`)), ALL.slice(4));
    assert.deepEqual(said(await list(`?page_token=${transactions[6].transaction_id}`)), []);
  });

  test('comes newest first when asked so, and in pages too', async () => {
    assert.deepEqual(said(await list('?newest_first=true')), ALL.toReversed());
    const first = await list('?newest_first=true&limit=4');
    assert.deepEqual(said(first), ALL.toReversed().slice(0, 4));
    const second = await list(`?newest_first=true&limit=4&page_token=${first.page_token}`);
    assert.deepEqual([said(second), second.page_token], [ALL.toReversed().slice(4), undefined]);
  });

  test('shows what the caller may read, in pages too', async () => {
    const reader = await feed.caller('reader', ['sales']);
    const readable = ALL.filter((each) => each.includes('sales'));
    assert.deepEqual(said(await list('', reader)), readable);
    const seen: string[] = [];
    let query = '?limit=1';
    for (let pages = 0; pages < 10; pages += 1) {
      const page = await list(query, reader);
      seen.push(...said(page));
      if (page.page_token === undefined) break;
      query = `?limit=1&page_token=${page.page_token}`;
    }
    assert.deepEqual(seen, readable);
    assert.deepEqual(said(await list('', await feed.caller('reader', ['nothing']))), []);
  });

  test('refuses strangers, bad limits and tokens', async () => {
    assertRefused(await feed.stranger().get('/v1/transaction/list'), unauthenticated);
    assertRefused(await feed.admin.get('/v1/transaction/list?limit=0'), badRequest(/limit/));
    assertRefused(await feed.admin.get('/v1/transaction/list?page_token=x'), badRequest(/token/));
    assertRefused(await feed.admin.get('/v1/transaction/list?newest_first=1'), badRequest(/newest_first/));
  });
});
