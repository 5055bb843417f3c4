import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { documentStream } from '../contract-tables.ts';
import {
  CODE,
  assertRefused,
  badRequest,
  columnNotFound,
  forbidden,
  tableNotFound,
  unauthenticated,
} from '../refusal.ts';

let server: ContractServer;
let table: MadeTable;
before(async () => {
  server = await ContractServer.start();
  table = await server.table({ stream: documentStream() });
  await index(table, { column: 'id', index_type: 'BTREE' });
  await index(table, { column: 'body', index_type: 'FTS' });
  await index(table, { column: 'vec', index_type: 'IVF_FLAT', distance_type: 'cosine' });
});
after(async () => server.close());

const indexNotFound = { status: 404, code: CODE.indexNotFound };

async function index(made: MadeTable, body: object): Promise<number> {
  const answer = await server.admin.post(`${made.at}/create_index`, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.version;
}

suite('index/list', () => {
  test('shows what both client families read', async () => {
    for (const path of ['index/list', 'index/list/']) {
      const { status, json, text } = await server.admin.post(`${table.at}/${path}`, {});
      assert.equal(status, 200, text);
      const [body, id, vec] = json.indexes;
      assert.deepEqual([body.index_name, id.index_name, vec.index_name], ['body_idx', 'id_idx', 'vec_idx']);
      assert.deepEqual([body.index_type, id.index_type, vec.index_type], ['FTS', 'BTREE', 'IVF_FLAT']);
      assert.match(vec.index_uuid, /^[0-9a-f-]{36}$/);
      assert.equal(vec.status, 'DONE');
      assert.equal(vec.num_indexed_rows, 20);
      assert.equal(vec.num_unindexed_rows, 0);
      assert.ok(vec.size_bytes > 0);
      assert.equal(new Date(vec.created_at).toISOString(), vec.created_at);
      assert.equal(typeof JSON.parse(vec.index_details), 'object');
    }
  });

  test('counts rows that came after the build', async () => {
    const made = await server.table({ stream: documentStream() });
    await index(made, { column: 'title', index_type: 'BTREE' });
    await server.admin.post(`${made.at}/update`, { updates: [['id', 'id + 1']], predicate: 'id < 5' });
    const { json } = await server.admin.post(`${made.at}/index/list`, {});
    assert.deepEqual([json.indexes[0].num_indexed_rows, json.indexes[0].num_unindexed_rows], [15, 5]);
  });

  test('pages', async () => {
    const first = await server.admin.post(`${table.at}/index/list`, { limit: 2 });
    assert.equal(first.json.indexes.length, 2);
    const second = await server.admin.post(`${table.at}/index/list`, { limit: 2, page_token: first.json.page_token });
    assert.deepEqual(
      second.json.indexes.map((each: { index_name: string }) => each.index_name),
      ['vec_idx'],
    );
    assert.equal(second.json.page_token, undefined);
    assertRefused(await server.admin.post(`${table.at}/index/list`, { limit: 0 }), badRequest(/limit/));
  });

  test('shows the indexes of a version', async () => {
    const { json } = await server.admin.post(`${table.at}/index/list`, { version: 2 });
    assert.deepEqual(
      json.indexes.map((each: { index_name: string }) => each.index_name),
      ['id_idx'],
    );
    const missing = { status: 404, code: CODE.versionNotFound };
    assertRefused(await server.admin.post(`${table.at}/index/list`, { version: 999 }), missing);
  });

  test('hides the index of a dropped column', async () => {
    const made = await server.table({ stream: documentStream() });
    await index(made, { column: 'title', index_type: 'BTREE' });
    await server.admin.post(`${made.at}/drop_columns`, { columns: ['title'] });
    const { json } = await server.admin.post(`${made.at}/index/list/`, {});
    assert.deepEqual(json.indexes, []);
  });
});

suite('index/{name}/stats', () => {
  test('answers POST, GET and no body at all', async () => {
    for (const answer of [
      await server.admin.post(`${table.at}/index/vec_idx/stats`, {}),
      await server.admin.post(`${table.at}/index/vec_idx/stats/`, { version: null }),
      await server.admin.get(`${table.at}/index/vec_idx/stats`),
      await server.admin.send('POST', `${table.at}/index/vec_idx/stats`, {}),
    ]) {
      assert.equal(answer.status, 200, answer.text);
      const { context, ...statistics } = answer.json;
      assert.equal(typeof context, 'object');
      assert.deepEqual(statistics, {
        index_type: 'IVF_FLAT',
        distance_type: 'cosine',
        num_indexed_rows: 20,
        num_unindexed_rows: 0,
        num_indices: 1,
      });
    }
  });

  test('refuses an index that is not there, now or at that version', async () => {
    assertRefused(await server.admin.post(`${table.at}/index/nope/stats`, {}), indexNotFound);
    assertRefused(await server.admin.post(`${table.at}/index/nope/stats/`, {}), indexNotFound);
    assertRefused(await server.admin.get(`${table.at}/index/vec_idx/stats?version=2`), indexNotFound);
    assertRefused(await server.admin.get(`${table.at}/index/vec_idx/stats?version=two`), badRequest(/version/));
  });

  test('refuses a body that names another index or another version than the address', async () => {
    const path = `${table.at}/index/vec_idx/stats`;
    assertRefused(await server.admin.post(path, { index_name: 'id_idx' }), badRequest(/must be equal/));
    assertRefused(await server.admin.post(`${path}?version=2`, { version: 3 }), badRequest(/version/));
  });

  test('finds a name with a space, however it is written', async () => {
    const made = await server.table({ stream: documentStream() });
    await index(made, { column: 'id', index_type: 'BTREE', name: 'my é index' });
    assert.equal((await server.admin.get(`${made.at}/index/my%20%C3%A9%20index/stats`)).status, 200);
    const answer = await server.admin.post(`${made.at}/index/my+%C3%A9+index/stats`, { index_name: 'my é index' });
    assert.equal(answer.status, 200, answer.text);
  });
});

suite('index/{name}/drop', () => {
  test('drops, and says at which version', async () => {
    const made = await server.table({ stream: documentStream() });
    const version = await index(made, { column: 'id', index_type: 'BTREE' });
    const answer = await server.admin.send('POST', `${made.at}/index/id_idx/drop/`, {});
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json.version, version + 1);
    assert.match(answer.json.transaction_id, /./);
    assert.deepEqual((await server.admin.post(`${made.at}/index/list`, {})).json.indexes, []);
    assertRefused(await server.admin.post(`${made.at}/index/id_idx/drop`, {}), indexNotFound);
  });

  test('drops from the branch that the address names', async () => {
    const made = await server.table({ stream: documentStream() });
    await index(made, { column: 'id', index_type: 'BTREE' });
    await (await (await server.embedded(made)).branches()).create('side');
    const answer = await server.admin.send('POST', `${made.at}/index/id_idx/drop/?branch=side`, {});
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await server.admin.post(`${made.at}/index/list`, {})).json.indexes.length, 1);
    assert.equal((await server.admin.post(`${made.at}/index/list`, { branch: 'side' })).json.indexes.length, 0);
  });
});

suite('prewarm', () => {
  test('reads an index, and refuses one that is not there', async () => {
    const answer = await server.admin.send('POST', `${table.at}/index/vec_idx/prewarm/`, {});
    assert.equal(answer.status, 200, answer.text);
    assertRefused(await server.admin.post(`${table.at}/index/nope/prewarm/`, {}), indexNotFound);
  });

  test('reads columns, all or those named, and refuses unknown ones', async () => {
    for (const body of [{}, { columns: [] }, { columns: ['id', 'vec'] }]) {
      assert.equal((await server.admin.post(`${table.at}/page_cache/prewarm/`, body)).status, 200);
    }
    assertRefused(await server.admin.post(`${table.at}/page_cache/prewarm`, { columns: ['nope'] }), columnNotFound);
    assertRefused(await server.admin.post(`${table.at}/page_cache/prewarm`, { columns: ['a..b'] }), badRequest());
  });
});

suite('rights', () => {
  const reads = ['index/list', 'index/id_idx/stats', 'index/id_idx/prewarm', 'page_cache/prewarm'];

  test('reading the list and the statistics needs a reader, dropping a writer', async () => {
    const reader = await server.caller('reader');
    for (const path of reads) assert.equal((await reader.post(`${table.at}/${path}`, {})).status, 200, path);
    assertRefused(await reader.post(`${table.at}/index/id_idx/drop`, {}), forbidden);
  });

  test('strangers, other namespaces and missing tables', async () => {
    const stranger = server.client({ key: undefined });
    const elsewhere = await server.caller('owner', ['elsewhere']);
    for (const path of [...reads, 'index/id_idx/drop']) {
      assertRefused(await stranger.post(`${table.at}/${path}`, {}), unauthenticated);
      assertRefused(await elsewhere.post(`${table.at}/${path}`, {}), tableNotFound);
      assertRefused(await server.admin.post(`/v1/table/nowhere/${path}`, {}), tableNotFound);
    }
  });
});
