import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import { assertRefused, badRequest, forbidden, unauthenticated } from '../refusal.ts';

const notFound = { status: 404, code: 10 };
const conflict = { status: 409, code: 14 };

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ flags: ['--metadata-value-bytes-max=1024'] });
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
  test('shows whether an upload in parts added rows or replaced them', async () => {
    const { at } = await server.table();
    for (const [mode, operation] of [
      ['append', 'insert_into_table'],
      ['overwrite', 'overwrite_table'],
    ]) {
      const { upload_id } = (await server.admin.post(`${at}/multipart_write/create`, {})).json;
      await server.admin.arrow(`${at}/insert?mode=${mode}&upload_id=${upload_id}&upload_part_id=1`, sampleStream(2));
      const ended = await server.admin.post(`${at}/multipart_write/complete?upload_id=${upload_id}`, {});
      assert.equal(ended.status, 200, ended.text);
      const { properties } = (await ask(ended.json.transaction_id, 'describe')).json;
      assert.equal(properties.operation, operation);
    }
  });

  test('shows who did what, to which table, at which version, and when', async () => {
    const id = await committed('sales$orders');
    const { status, json } = await ask(id, 'describe', { id: [id] });
    assert.equal(status, 200);
    assert.equal(json.status, 'Succeeded');
    const { operation, version, id: table, transaction_id, caller, caller_name, committed_at } = json.properties;
    assert.deepEqual([operation, version, table, transaction_id], ['update_table', '2', 'sales$orders', id]);
    assert.match(caller, /^key:/);
    assert.equal(caller_name, 'administrator');
    assert.ok(!Number.isNaN(Date.parse(committed_at)));
  });

  test('includes changes of names, which have no version', async () => {
    const table = await server.table();
    const { json } = await server.admin.post(`${table.at}/drop`, {});
    const { properties } = (await ask(json.transaction_id, 'describe')).json;
    assert.deepEqual([properties.operation, properties.id, properties.version], ['drop_table', table.id, undefined]);
  });

  test('shows the former name of a renamed table to those who may read it', async () => {
    const [from, to] = [await server.table(), server.name()];
    const { json } = await server.admin.post(`${from.at}/rename`, { new_table_name: to });
    const seenBy = async (client = server.admin) => {
      const { properties } = (await ask(json.transaction_id, 'describe', {}, client)).json;
      return [properties.id, properties.renamed_from];
    };
    assert.deepEqual(await seenBy(), [to, from.id]);
    assert.deepEqual(await seenBy(await server.caller('reader', [from.id])), [from.id, from.id]);
    assert.deepEqual(await seenBy(await server.caller('reader', [to])), [to, undefined]);
    const actions = [{ setPropertyAction: { key: 'a', value: 'b' } }];
    const former = await server.caller('writer', [from.id]);
    assertRefused(await ask(json.transaction_id, 'alter', { actions }, former), forbidden);
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
  type Property = { key: string; value?: string; mode?: string };
  const set = (property: Property) => ({ setPropertyAction: property });
  const unset = (property: Property) => ({ unsetPropertyAction: property });

  test('confirms the status that a committed write has, and refuses any other', async () => {
    const id = await committed(server.name());
    const alter = async (...actions: object[]) => ask(id, 'alter', { actions });
    assert.equal((await alter({ setStatusAction: { status: 'SUCCEEDED' } })).json.status, 'Succeeded');
    assert.equal((await alter()).status, 200);
    for (const status of ['Canceled', 'failed', 'running', 'Queued']) {
      assertRefused(await alter({ setStatusAction: { status } }), { ...conflict, detail: /committed/ });
    }
    assertRefused(await alter({ setStatusAction: { status: 'perhaps' } }), badRequest(/perhaps/));
    assertRefused(await alter({}), badRequest());
    assertRefused(await ask(id, 'alter', {}), badRequest(/actions/));
    assertRefused(await ask('nope', 'alter', { actions: [] }), notFound);
    assertRefused(await ask(id, 'alter', { actions: [] }, server.stranger()), unauthenticated);
  });

  test('sets and removes properties, which describe then has beside those of the record', async () => {
    const table = server.name();
    const id = await committed(table);
    const alter = async (...actions: object[]) => ask(id, 'alter', { actions });
    const answer = await alter(set({ key: 'ticket', value: '17' }), set({ key: 'note', value: 'ünï' }));
    assert.equal(answer.status, 200, answer.text);
    const noted = async () => {
      const { ticket, note, operation } = (await ask(id, 'describe')).json.properties;
      return { ticket, note, operation };
    };
    assert.deepEqual(await noted(), { ticket: '17', note: 'ünï', operation: 'update_table' });
    assert.equal(answer.json.properties.ticket, '17');
    await alter(set({ key: 'ticket', value: '18' }), set({ key: 'note', value: 'x', mode: 'skip' }));
    assert.deepEqual(await noted(), { ticket: '18', note: 'ünï', operation: 'update_table' });
    await alter(unset({ key: 'note' }), unset({ key: 'absent', mode: 'SKIP' }));
    assert.deepEqual(await noted(), { ticket: '18', note: undefined, operation: 'update_table' });
    const { transactions } = (await server.admin.get('/v1/transaction/list?newest_first=true&limit=1')).json;
    assert.deepEqual([transactions[0].operation, transactions[0].id], ['alter_transaction', [table]]);
  });

  test('sent again after a lost reply changes nothing, and is recorded once; with the mode Fail it is a conflict', async () => {
    const table = server.name();
    const id = await committed(table);
    const actions = [set({ key: 'a', value: '1' }), set({ key: 'b', value: '2', mode: 'Skip' }), unset({ key: 'c' })];
    const count = async (): Promise<number> => {
      const { transactions } = (await server.admin.get('/v1/transaction/list?newest_first=true&limit=10')).json;
      return transactions.filter((each: { id: string[] }) => each.id.join('$') === table).length;
    };
    const first = await ask(id, 'alter', { actions });
    const recorded = await count();
    const again = await ask(id, 'alter', { actions });
    assert.equal(again.status, 200, again.text);
    assert.deepEqual(again.json.properties, first.json.properties);
    assert.equal(await count(), recorded);
    const failing = [set({ key: 'd', value: '1', mode: 'Fail' })];
    assert.equal((await ask(id, 'alter', { actions: failing })).status, 200);
    assertRefused(await ask(id, 'alter', { actions: failing }), conflict);
  });

  test('applies all actions or none', async () => {
    const id = await committed(server.name());
    const alter = async (...actions: object[]) => ask(id, 'alter', { actions });
    await alter(set({ key: 'a', value: '1' }));
    const failing = [set({ key: 'a', value: '2', mode: 'Fail' }), unset({ key: 'b', mode: 'fail' })];
    for (const last of failing) {
      assertRefused(await alter(set({ key: 'c', value: '3' }), last), conflict);
    }
    assertRefused(await alter(set({ key: 'c', value: '3' }), { setStatusAction: { status: 'Failed' } }), conflict);
    const { a, c } = (await ask(id, 'describe')).json.properties;
    assert.deepEqual([a, c], ['1', undefined]);
  });

  test('refuses keys of the record, what is incomplete, and what is too much', async () => {
    const id = await committed(server.name());
    const alter = async (...actions: object[]) => ask(id, 'alter', { actions });
    for (const key of ['transaction_id', 'operation', 'caller', 'version', 'committed_at']) {
      assertRefused(await alter(set({ key, value: 'x' })), badRequest(/record of the write/));
      assertRefused(await alter(unset({ key })), badRequest(/record of the write/));
    }
    assertRefused(await alter({ setPropertyAction: { value: 'x' } }), badRequest(/key/));
    assertRefused(await alter(set({ key: 'a' })), badRequest(/value/));
    assertRefused(await alter(set({ key: 'a', value: 'b', mode: 'maybe' })), badRequest(/maybe/));
    assertRefused(await alter(set({ key: 'a', value: 'x'.repeat(1025) })), badRequest(/longer/));
  });

  test('needs the right to write to the table of the transaction', async () => {
    const table = server.name();
    const id = await committed(table);
    const actions = [set({ key: 'a', value: 'b' })];
    assertRefused(await ask(id, 'alter', { actions }, await server.caller('reader', [table])), forbidden);
    assertRefused(await ask(id, 'alter', { actions }, await server.caller('owner', ['sales'])), notFound);
    assert.equal((await ask(id, 'alter', { actions }, await server.caller('writer', [table]))).status, 200);
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
    assert.deepEqual([page.transactions[4].renamed_from, page.transactions[3].renamed_from], [['a'], undefined]);
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

  test('continues after the last id that was seen', async () => {
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
    const ofA = said(await list('', await feed.caller('reader', ['a'])));
    assert.deepEqual(ofA, ['create_table a', 'update_table a', 'rename_table a']);
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
