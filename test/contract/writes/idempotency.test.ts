import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import { eventually } from '../../support/eventually.ts';
import { DiskGate } from '../../support/disk-gate.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';

const gate = new DiskGate();
let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ outside: { disk: gate } });
});
after(async () => server.close());

const INCREMENT = { updates: [['id', 'id + 10']], predicate: 'id % 10 = 1' };

const INDEX = { column: 'id', index_type: 'BTREE', name: 'by_id' };

/** Each makes a version of a table of the sample rows, in this order. */
const CHANGES: readonly (readonly [path: string, body: object])[] = [
  ['add_columns', { new_columns: [{ name: 'twice', expression: 'id * 2' }] }],
  ['alter_columns', { alterations: [{ path: 'twice', rename: 'doubled' }] }],
  ['update_field_metadata', { updates: [{ path: 'name', metadata: { language: 'en' } }] }],
  ['schema_metadata/update', { owner: 'sales' }],
  ['drop_columns', { columns: ['doubled'] }],
  ['index/by_id/drop', {}],
  ['restore', { version: 1 }],
];

async function increment(table: MadeTable, headers: Readonly<Record<string, string>> = {}) {
  return server.admin.post(`${table.at}/update`, INCREMENT, headers);
}

async function ids(table: MadeTable): Promise<readonly number[]> {
  return (await server.rows(table)).map(({ id }) => Number(id)).toSorted((one, other) => one - other);
}

async function versionOf(table: MadeTable): Promise<number> {
  return Number((await server.admin.post(`${table.at}/describe`, {})).json.version);
}

/** Sends a request, waits until it is committed, and goes away before its answer is out. */
async function sendAndLeave(table: MadeTable, body: object, headers: Readonly<Record<string, string>> = {}) {
  const version = await versionOf(table);
  gate.close();
  const sent = httpRequest(`${server.url}${table.at}/update`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json', ...headers },
  });
  sent.on('error', () => {});
  sent.end(JSON.stringify(body));
  while ((await versionOf(table)) === version) await new Promise(setImmediate);
  sent.destroy();
  // The service has seen the connection close once it has answered somebody who came later.
  await versionOf(table);
  gate.open();
}

suite('a request that is sent again', () => {
  test('is executed again when its success was delivered', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    for (const _ of [1, 2]) assert.equal((await increment(table)).status, 200);
    assert.deepEqual(await ids(table), [0, 2, 21]);
  });

  test('gets the answer of the first when its sender had gone, once', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    await sendAndLeave(table, INCREMENT);
    const again = await increment(table);
    assert.equal(again.status, 200, again.text);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.equal(again.json.version, 2);
    assert.equal(again.json.rows_updated, 1);
    assert.equal(typeof again.json.transaction_id, 'string');
    assert.deepEqual(await ids(table), [0, 2, 11]);
    assert.equal((await increment(table)).headers.get('idempotency-replayed'), null);
    assert.deepEqual(await ids(table), [0, 2, 21]);
  });

  test('is another request when its body, address or caller differs', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    await sendAndLeave(table, INCREMENT);
    const other = await server.admin.post(`${table.at}/update`, { ...INCREMENT, updates: [['id', 'id + 20']] });
    assert.equal(other.headers.get('idempotency-replayed'), null);
    const writer = await server.caller('writer');
    const theirs = await writer.post(`${table.at}/update`, INCREMENT);
    assert.equal(theirs.status, 200, theirs.text);
    assert.equal(theirs.headers.get('idempotency-replayed'), null);
    assert.equal(await versionOf(table), 4);
  });

  test('a refused one is executed once it is permitted', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    const wrong = { updates: [['nope', '1']] };
    for (const _ of [1, 2]) assert.equal((await server.admin.post(`${table.at}/update`, wrong)).status, 404);
    assert.equal((await increment(table)).json.version, 2);
  });
});

suite('Idempotency-Key', () => {
  const key = { 'idempotency-key': 'order-1' };

  test('the same request gets the first answer, however often', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    const first = await increment(table, { 'idempotency-key': table.id });
    for (const _ of [1, 2]) {
      const again = await increment(table, { 'idempotency-key': table.id });
      assert.equal(again.status, 200, again.text);
      assert.deepEqual({ ...again.json, context: undefined }, { ...first.json, context: undefined });
    }
    assert.deepEqual(await ids(table), [0, 2, 11]);
  });

  test('holds for inserts, merges and deletes', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    for (const _ of [1, 2]) {
      const inserted = await server.admin.arrow(`${table.at}/insert`, sampleStream(3), { 'idempotency-key': 'i' });
      assert.equal(inserted.json.num_inserted_rows, 3, inserted.text);
      assert.equal(inserted.json.version, 2);
    }
    for (const _ of [1, 2]) {
      const deleted = await server.admin.post(
        `${table.at}/delete`,
        { predicate: 'id = 0' },
        { 'idempotency-key': 'd' },
      );
      assert.equal(deleted.json.num_deleted_rows, 2, deleted.text);
    }
    for (const _ of [1, 2]) {
      const at = `${table.at}/merge_insert?on=id&when_not_matched_insert_all=true`;
      const merged = await server.admin.arrow(at, sampleStream(4), { 'idempotency-key': 'm' });
      assert.equal(merged.json.num_inserted_rows, 2, merged.text);
    }
    assert.deepEqual(await ids(table), [0, 1, 1, 2, 2, 3]);
  });

  test('another request with the same key is a 400', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    assert.equal((await increment(table, key)).status, 200);
    const other = await server.admin.post(`${table.at}/update`, { ...INCREMENT, predicate: 'id = 2' }, key);
    assert.equal(other.status, 400, other.text);
    assert.match(other.json.detail, /Idempotency-Key was used for another request/);
  });

  test('a branch that was deleted and created again does not get the answer of the former one', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    const once = { 'idempotency-key': table.id };
    const insert = async () => server.admin.arrow(`${table.at}/insert?branch=b`, sampleStream(1), once);
    const change = async (what: string) => server.admin.post(`${table.at}/branches/${what}`, { name: 'b' });
    await change('create');
    assert.equal((await insert()).status, 200);
    assert.equal((await insert()).headers.get('idempotency-replayed'), 'true');
    await change('delete');
    assert.equal((await insert()).status, 404);
    await change('create');
    const again = await insert();
    assert.equal(again.status, 400, again.text);
    assert.match(again.json.detail, /Idempotency-Key was used for another request/);
  });

  test('of many at once with one key, one is executed and all get its result', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    const sent = Array.from({ length: 6 }, async () => increment(table, { 'idempotency-key': 'at once' }));
    const versions = (await Promise.all(sent)).map(({ json }) => json.version);
    assert.deepEqual(versions, [2, 2, 2, 2, 2, 2]);
    assert.deepEqual(await ids(table), [0, 2, 11]);
  });

  test('holds for an overwrite, and for rows that make a declared table', async () => {
    const id = server.name();
    assert.equal((await server.admin.post(`/v1/table/${id}/declare`, {})).status, 200);
    for (const _ of [1, 2]) {
      const filled = await server.admin.arrow(`/v1/table/${id}/insert`, sampleStream(3), { 'idempotency-key': 'f' });
      assert.equal(filled.json.num_inserted_rows, 3, filled.text);
      assert.equal(filled.json.version, 1);
    }
    for (const _ of [1, 2]) {
      const over = { 'idempotency-key': 'o' };
      const replaced = await server.admin.arrow(`/v1/table/${id}/insert?mode=overwrite`, sampleStream(2), over);
      assert.equal(replaced.json.version, 2, replaced.text);
    }
    assert.equal((await server.embeddedByName(id)).length, 2);
  });

  test('holds for a create, also one that overwrites', async () => {
    const at = `/v1/table/${server.name()}/create`;
    for (const mode of ['create', 'overwrite'] as const) {
      const answers = [];
      for (const _ of [1, 2]) {
        const headers = { 'idempotency-key': `${at} ${mode}` };
        answers.push(await server.admin.arrow(`${at}?mode=${mode}`, sampleStream(3), headers));
      }
      const [first, again] = answers;
      assert.equal(first?.status, 200, first?.text);
      assert.equal(first?.json.version, mode === 'create' ? 1 : 2);
      assert.deepEqual({ ...again?.json, context: null }, { ...first?.json, context: null });
      assert.equal(again?.headers.get('idempotency-replayed'), 'true');
    }
  });

  test('holds for changes of columns and metadata, restores and dropped indexes', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    assert.equal((await server.admin.post(`${table.at}/create_scalar_index`, INDEX)).status, 200);
    await eventually(async () => (await server.admin.post(`${table.at}/index/list`, {})).json.indexes.length === 1);
    for (const [path, body] of CHANGES) {
      const version = await versionOf(table);
      const answers = [];
      for (const _ of [1, 2])
        answers.push(await server.admin.post(`${table.at}/${path}`, body, { 'idempotency-key': path }));
      const [first, again] = answers;
      assert.equal(first?.status, 200, first?.text);
      assert.equal(again?.headers.get('idempotency-replayed'), 'true', path);
      assert.deepEqual({ ...again?.json, context: null }, { ...first?.json, context: null }, path);
      assert.equal(await versionOf(table), version + 1, path);
    }
  });

  test('a merge that makes a declared table gives the same counts again', async () => {
    const id = server.name();
    assert.equal((await server.admin.post(`/v1/table/${id}/declare`, {})).status, 200);
    const at = `/v1/table/${id}/merge_insert?on=id&when_not_matched_insert_all=true`;
    const answers = [];
    for (const _ of [1, 2]) answers.push(await server.admin.arrow(at, sampleStream(3), { 'idempotency-key': 'mf' }));
    for (const answer of answers) assert.equal(answer.json.num_inserted_rows, 3, answer.text);
  });

  test('one that is not a key is a 400', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    assert.equal((await increment(table, { 'idempotency-key': 'x'.repeat(256) })).status, 400);
    assert.equal(await versionOf(table), 1);
  });
});

suite('If-Match', () => {
  test('a write at the version that it names is executed, at any other it is a 412', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    assert.equal((await increment(table, { 'if-match': '"1"' })).json.version, 2);
    const late = await increment(table, { 'if-match': '"1"' });
    assert.equal(late.status, 412, late.text);
    assert.equal(late.json.type, '/errors/precondition-failed');
    assert.match(late.json.detail, /latest version is 2, not 1/);
    assert.deepEqual(await ids(table), [0, 2, 11]);
  });

  test('of many at once that name one version, one is executed', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    const updates = Array.from({ length: 8 }, async (_, row) =>
      server.admin.post(
        `${table.at}/update`,
        { updates: [['id', '7']], predicate: `id = ${row}` },
        { 'if-match': '"1"' },
      ),
    );
    const statuses = (await Promise.all(updates)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 1);
    assert.equal(statuses.filter((status) => status === 412).length, 7);
    assert.equal(await versionOf(table), 2);
  });

  test('holds for inserts and deletes', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    const stale = { 'if-match': '9' };
    assert.equal((await server.admin.arrow(`${table.at}/insert`, sampleStream(3), stale)).status, 412);
    assert.equal((await server.admin.post(`${table.at}/delete`, { predicate: 'id = 0' }, stale)).status, 412);
    assert.equal(await versionOf(table), 1);
  });

  test('holds for rows that make a declared table, which has version 0', async () => {
    const at = `/v1/table/${server.name()}`;
    await server.admin.post(`${at}/declare`, {});
    for (const path of ['insert', 'merge_insert?on=id&when_not_matched_insert_all=true']) {
      const stale = await server.admin.arrow(`${at}/${path}`, sampleStream(3), { 'if-match': '"7"' });
      assert.equal(stale.status, 412, stale.text);
      assert.match(stale.json.detail, /latest version is 0, not 7/);
    }
    const first = await server.admin.arrow(`${at}/insert`, sampleStream(3), { 'if-match': '"0"' });
    assert.equal(first.json.version, 1, first.text);
    assert.equal((await server.admin.arrow(`${at}/insert`, sampleStream(3), { 'if-match': '"0"' })).status, 412);
  });

  test('holds for changes of columns and metadata, restores and dropped indexes', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    for (const [path, body] of CHANGES) {
      const answer = await server.admin.post(`${table.at}/${path}`, body, { 'if-match': '"9"' });
      assert.equal(answer.status, 412, answer.text);
    }
    assert.equal(await versionOf(table), 1);
  });

  test('the same insert again, with a key, gets its answer and no 412', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    const headers = { 'if-match': '"1"', 'idempotency-key': table.id };
    for (const _ of [1, 2]) {
      const answer = await server.admin.arrow(`${table.at}/insert`, sampleStream(3), headers);
      assert.equal(answer.json.version, 2, answer.text);
    }
  });

  test('an operation that does not look at it refuses it', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    const answer = await server.admin.post(`${table.at}/drop`, {}, { 'if-match': '"1"' });
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.json.detail, /does not support If-Match/);
    assert.equal(await versionOf(table), 1);
  });

  test('what is no version is a 400', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    assert.equal((await increment(table, { 'if-match': '"abc"' })).status, 400);
  });
});
