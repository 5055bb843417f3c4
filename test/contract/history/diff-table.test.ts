import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Bool, Int64 } from 'apache-arrow';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Float32, Float64, Int32, List, Struct, Utf8, count, nestedStream, optional } from '../contract-tables.ts';
import { streamOf, vectorType } from '../contract-tables.ts';
import { CODE, assertRefused, badRequest, columnNotFound, tableNotFound, unauthenticated } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

async function ask(table: Pick<MadeTable, 'at'>, body: object, client = server.admin): Promise<Answer> {
  return client.post(`${table.at}/diff`, body);
}

async function diff(table: Pick<MadeTable, 'at'>, body: object): Promise<any> {
  const answer = await ask(table, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function post(table: MadeTable, operation: string, body: object): Promise<Answer> {
  const answer = await server.admin.post(`${table.at}/${operation}`, body);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

async function insert(table: MadeTable, stream: Uint8Array, query = ''): Promise<void> {
  const answer = await server.admin.arrow(`${table.at}/insert${query}`, stream);
  assert.equal(answer.status, 200, answer.text);
}

async function compact(table: MadeTable): Promise<void> {
  await post(table, 'maintenance/run', {});
}

const PLACE = new Struct([optional('x', new Float64()), optional('deep', new Struct([optional('leaf', new Int32())]))]);

const NOTHING = { added: 0, removed: 0, changed: 0 };

interface Shop {
  readonly id: readonly (number | null)[];
  readonly price: readonly (number | null)[];
}

function shop({ id, price }: Shop): Uint8Array {
  return streamOf({ id: { type: new Int32(), values: id }, price: { type: new Float64(), values: price } });
}

suite('a diff of two versions', () => {
  test('has the rows that were inserted, updated and deleted, as a query shows them', async () => {
    const table = await server.table({ stream: shop({ id: [1, 2, 3], price: [1.5, 2.5, null] }) });
    await updated(server.admin, table, { updates: [['price', '9.25']], predicate: 'id = 2' });
    await post(table, 'delete', { predicate: 'id = 1' });
    await insert(table, shop({ id: [4], price: [null] }));
    assert.deepEqual(await diff(table, { from: { version: 1 } }), {
      from: { version: 1, branch: 'main' },
      to: { version: 4, branch: 'main' },
      key: { kind: 'columns', columns: ['id'], repeated: false },
      columns: { added: [], removed: [], changed: [] },
      counts: { added: 1, removed: 1, changed: 1 },
      truncated: false,
      rows: [
        { change: 'removed', key: { id: 1 }, before: { id: 1, price: 1.5 } },
        {
          change: 'changed',
          key: { id: 2 },
          before: { id: 2, price: 2.5 },
          after: { id: 2, price: 9.25 },
          changed: ['price'],
        },
        { change: 'added', key: { id: 4 }, after: { id: 4, price: null } },
      ],
    });
  });

  test('in the other direction has the opposite', async () => {
    const table = await server.table({ stream: shop({ id: [1, 2], price: [1, 2] }) });
    await post(table, 'delete', { predicate: 'id = 1' });
    await updated(server.admin, table, { updates: [['price', '3']] });
    const { rows } = await diff(table, { from: { version: 3 }, to: { version: 1 } });
    assert.deepEqual(
      rows.map((row: any) => [row.change, row.key.id, row.before?.price, row.after?.price]),
      [
        ['changed', 2, 3, 2],
        ['added', 1, undefined, 1],
      ],
    );
  });

  test('of the same version, of a restored one, and across an index build has no rows', async () => {
    const table = await server.table({ stream: shop({ id: count(50), price: count(50) }) });
    await updated(server.admin, table, { updates: [['price', '1']] });
    await post(table, 'create_scalar_index', { column: 'id', index_type: 'BTREE' });
    assert.deepEqual((await diff(table, { from: { version: 2 } })).counts, NOTHING);
    await post(table, 'restore', { version: 1 });
    assert.deepEqual((await diff(table, { from: { version: 1 } })).counts, NOTHING);
    assert.deepEqual((await diff(table, { from: {} })).counts, NOTHING);
    assert.equal((await diff(table, { from: { version: 2 } })).counts.changed, 49);
  });

  test('across a compaction has only what was changed beside it', async () => {
    const table = await server.table({ stream: shop({ id: count(10), price: count(10) }) });
    for (const part of count(12)) {
      await insert(table, shop({ id: count(5).map((row) => 100 + 5 * part + row), price: count(5) }));
    }
    await post(table, 'delete', { predicate: 'id in (3, 104)' });
    const { version } = (await post(table, 'describe', {})).json;
    await compact(table);
    const compacted = (await post(table, 'describe', {})).json.version;
    assert.ok(compacted > version, 'the table was compacted');
    assert.deepEqual((await diff(table, { from: { version } })).counts, NOTHING);
    await updated(server.admin, table, { updates: [['price', '-1']], predicate: 'id = 7' });
    const found = await diff(table, { from: { version } });
    assert.deepEqual(found.counts, { ...NOTHING, changed: 1 });
    assert.deepEqual(found.rows[0].key, { id: 7 });
    assert.deepEqual((await diff(table, { from: {}, to: { version: 1 } })).counts, {
      added: 1,
      removed: 59,
      changed: 1,
    });
  });

  test('shows what a merge updated, inserted and deleted', async () => {
    const table = await server.table({ stream: shop({ id: [1, 2, 3], price: [1, 2, 3] }) });
    const query =
      'on=id&when_matched_update_all=true&when_not_matched_insert_all=true&when_not_matched_by_source_delete=true';
    const merged = await server.admin.arrow(
      `${table.at}/merge_insert?${query}`,
      shop({ id: [2, 3, 4], price: [2, 30, 4] }),
    );
    assert.equal(merged.status, 200, merged.text);
    const { counts, rows } = await diff(table, { from: { version: 1 } });
    assert.deepEqual(counts, { added: 1, removed: 1, changed: 1 });
    assert.deepEqual(rows.map((row: any) => [row.change, row.key.id]).toSorted(), [
      ['added', 4],
      ['changed', 3],
      ['removed', 1],
    ]);
  });

  test('names columns that were added, dropped, and got another type, and compares the others', async () => {
    const table = await server.table({
      stream: streamOf({
        id: { type: new Int32(), values: [1, 2, 3] },
        size: { type: new Int32(), values: [5, 6, 7] },
        old: { type: new Utf8(), values: ['a', 'b', 'c'] },
      }),
    });
    await post(table, 'add_columns', { new_columns: [{ name: 'twice', expression: 'size * 2' }] });
    await post(table, 'drop_columns', { columns: ['old'] });
    await post(table, 'alter_columns', { alterations: [{ path: 'size', data_type: { type: 'int64' } }] });
    const schemas = await diff(table, { from: { version: 1 } });
    assert.deepEqual(schemas.counts, NOTHING);
    assert.deepEqual(
      schemas.columns.added.map(({ name }: any) => name),
      ['twice'],
    );
    assert.deepEqual(schemas.columns.removed, [{ name: 'old', type: 'utf8' }]);
    assert.deepEqual(schemas.columns.changed, [{ name: 'size', from: 'int32', to: 'int64' }]);
    await updated(server.admin, table, { updates: [['size', '60']], predicate: 'id = 2' });
    const { rows } = await diff(table, { from: { version: 1 } });
    assert.deepEqual(rows, [
      {
        change: 'changed',
        key: { id: 2 },
        before: { id: 2, size: 6, old: 'b' },
        after: { id: 2, size: 60, twice: 12 },
        changed: ['size'],
      },
    ]);
  });

  test('compares vectors, nested values, lists, NaN, negative zero and long integers', async () => {
    const long = 9_007_199_254_740_993n;
    const table = await server.table({
      stream: streamOf({
        id: { type: new Int64(), values: [long, long + 1n, long + 2n, long + 3n] },
        vec: { type: vectorType(3), values: count(4).map((row) => [row, Number.NaN, -0]) },
        list: { type: new List(optional('item', new Utf8())), values: [[], ['a', null], ['a'], ['b']] },
        flag: { type: new Bool(), values: [true, false, null, true] },
        place: {
          type: PLACE,
          values: [null, { x: 1, deep: null }, { x: Number.NaN, deep: null }, { x: 4, deep: { leaf: 1 } }],
        },
      }),
    });
    await updated(server.admin, table, {
      updates: [['vec', '[2, 5, 0]']],
      predicate: `id = ${long + 2n}`,
    });
    await updated(server.admin, table, { updates: [['place.deep.leaf', '7']], predicate: `id = ${long + 3n}` });
    const answer = await ask(table, { from: { version: 1 } });
    assert.match(answer.text, /"key":\{"id":9007199254740995\},"before":\{"id":9007199254740995,"vec":\[2,"NaN",-0\]/);
    assert.match(answer.text, /"after":\{"id":9007199254740995,"vec":\[2,5,0\]/);
    assert.deepEqual(
      answer.json.rows.map((row: any) => row.changed),
      [['vec'], ['place']],
    );
    await updated(server.admin, table, { updates: [['flag', 'flag']] });
    assert.equal(
      (await diff(table, { from: { version: 1 } })).counts.changed,
      2,
      'rows that were only moved are equal',
    );
  });

  test('keeps null structs and structs of nulls apart', async () => {
    const table = await server.table({ stream: nestedStream(12) });
    await updated(server.admin, table, { updates: [['label', "'other'"]], predicate: 'id in (1, 3)' });
    const { rows } = await diff(table, { from: { version: 1 } });
    assert.deepEqual(
      rows.map((row: any) => [row.key.id, row.changed]),
      [
        [1, ['label']],
        [3, ['label']],
      ],
    );
  });

  test('counts all changes, and returns as many rows as were asked for', async () => {
    const table = await server.table({ stream: shop({ id: count(300), price: count(300) }) });
    await updated(server.admin, table, { updates: [['price', '-1']] });
    const found = await diff(table, { from: { version: 1 } });
    assert.deepEqual([found.counts.changed, found.rows.length, found.truncated], [300, 100, true]);
    const all = await diff(table, { from: { version: 1 }, limit: 300 });
    assert.deepEqual([all.rows.length, all.truncated], [300, false]);
    const none = await diff(table, { from: { version: 1 }, limit: 0 });
    assert.deepEqual([none.counts.changed, none.rows, none.truncated], [300, [], true]);
  });

  test('compares and returns only the columns that are named', async () => {
    const table = await server.table({ stream: sampleStream(4) });
    await updated(server.admin, table, { updates: [['price', '100']], predicate: 'id = 1' });
    await updated(server.admin, table, { updates: [['name', "'other'"]], predicate: 'id = 2' });
    const { rows } = await diff(table, { from: { version: 1 }, columns: ['name'] });
    assert.deepEqual(rows, [
      { change: 'changed', key: { id: 2 }, before: { name: 'name 2' }, after: { name: 'other' }, changed: ['name'] },
    ]);
  });

  test('that takes too long advises to name fewer columns', async () => {
    const table = await server.table({ stream: shop({ id: [1, 2], price: [1, 2] }) });
    await post(table, 'delete', { predicate: 'id = 1' });
    const headers = { 'x-request-timeout-ms': '1' };
    const answer = await server.admin.post(`${table.at}/diff`, { from: { version: 1 } }, headers);
    assert.equal(answer.status, 503, answer.text);
    assert.match(answer.json.detail, /exceeded its time limit of 0.001 s\. Name fewer columns/);
  });

  test('takes tags for versions', async () => {
    const table = await server.table({ stream: shop({ id: [1], price: [1] }) });
    await post(table, 'tags/create', { tag: 'first', version: 1 });
    await updated(server.admin, table, { updates: [['price', '2']] });
    const found = await diff(table, { from: { tag: 'first' } });
    assert.deepEqual([found.from, found.counts.changed], [{ version: 1, branch: 'main' }, 1]);
  });
});

suite('a diff of branches', () => {
  test('has what one branch changed and what the other did', async () => {
    const table = await server.table({ stream: shop({ id: count(20), price: count(20) }) });
    await post(table, 'branches/create', { name: 'team/trial' });
    await insert(table, shop({ id: [100], price: [1] }));
    await insert(table, shop({ id: [200], price: [2] }), '?branch=team/trial');
    await updated(server.admin, table, { updates: [['price', '-1']], predicate: 'id = 3', branch: 'team/trial' });
    const found = await diff(table, { from: {}, to: { branch: 'team/trial' } });
    assert.deepEqual(found.to, { version: 3, branch: 'team/trial' });
    assert.deepEqual(
      found.rows.map((row: any) => [row.change, row.key.id]),
      [
        ['removed', 100],
        ['changed', 3],
        ['added', 200],
      ],
    );
    const fork = await diff(table, { from: { version: 1 }, to: { branch: 'team/trial', version: 2 } });
    assert.deepEqual(fork.counts, { added: 1, removed: 0, changed: 0 });
    await post(table, 'tags/create', { tag: 'tried', version: 3, branch: 'team/trial' });
    assert.deepEqual((await diff(table, { from: { tag: 'tried' }, to: { branch: 'team/trial' } })).counts, NOTHING);
  });
});

suite('rows of two versions are matched', () => {
  test('by the columns that the caller names', async () => {
    const stream = (prices: readonly number[]) =>
      streamOf({
        region: { type: new Utf8(), values: ['eu', 'eu', 'us'] },
        sku: { type: new Int32(), values: [1, 2, 1] },
        price: { type: new Float32(), values: prices },
      });
    const table = await server.table({ stream: stream([1, 2, 3]) });
    const answer = await server.admin.arrow(`${table.at}/create?mode=overwrite`, stream([1, 5, 3]));
    assert.equal(answer.status, 200, answer.text);
    assertRefused(await ask(table, { from: { version: 1 } }), badRequest(/"on"/));
    const { rows, key } = await diff(table, { from: { version: 1 }, on: ['region', 'sku'] });
    assert.deepEqual(key, { kind: 'columns', columns: ['region', 'sku'], repeated: false });
    assert.deepEqual(
      rows.map((row: any) => [row.change, row.key, row.changed]),
      [['changed', { region: 'eu', sku: 2 }, ['price']]],
    );
  });

  test('in their order where a key occurs several times, and nulls like values', async () => {
    const table = await server.table({ stream: shop({ id: [1, 1, 1, null], price: [1, 2, 3, 4] }) });
    const answer = await server.admin.arrow(
      `${table.at}/create?mode=overwrite`,
      shop({ id: [null, 1, 1, 1, 1], price: [5, 3, 20, 1, 30] }),
    );
    assert.equal(answer.status, 200, answer.text);
    const { rows, counts, key } = await diff(table, { from: { version: 1 } });
    assert.equal(key.repeated, true);
    assert.deepEqual(counts, { added: 1, removed: 0, changed: 2 });
    assert.deepEqual(
      rows.map((row: any) => [row.key.id, row.before?.price, row.after?.price]),
      [
        [1, 2, 20],
        [null, 4, 5],
        [1, undefined, 30],
      ],
    );
  });

  test('by row ids where the table keeps them', async () => {
    const storage_options = JSON.stringify({ new_table_enable_stable_row_ids: 'true' });
    const table = await server.table({
      stream: streamOf({ name: { type: new Utf8(), values: ['a', 'b', 'c'] } }),
      query: { storage_options },
    });
    await updated(server.admin, table, { updates: [['name', "'B'"]], predicate: "name = 'b'" });
    await post(table, 'delete', { predicate: "name = 'a'" });
    await compact(table);
    const { rows, key } = await diff(table, { from: { version: 1 } });
    assert.deepEqual(key, { kind: 'row_ids', columns: [], repeated: false });
    assert.deepEqual(
      rows.map(({ change, before: old, after: now }: any) => [change, old?.name, now?.name]),
      [
        ['removed', 'a', undefined],
        ['changed', 'b', 'B'],
      ],
    );
    assert.equal(typeof rows[0].key._rowid, 'number');
  });
});

suite('a diff is refused', () => {
  test('when the request is not as it should be', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    const from = { version: 1 };
    for (const [body, detail] of [
      [{}, /from/],
      [{ from: 1 }, /from/],
      [{ from: { version: -1 } }, /version/],
      [{ from: { version: 1, tag: 'x' } }, /tag/],
      [{ from, on: [] }, /on/],
      [{ from, on: ['id', 'id'] }, /twice/],
      [{ from, columns: [] }, /columns/],
      [{ from, limit: -1 }, /limit/],
      [{ from, limit: 1e9 }, /limit/],
      [{ from, other: 1 }, /other/],
    ] as const) {
      assertRefused(await ask(table, body), badRequest(detail));
    }
    assertRefused(await ask(table, { from, on: ['nothing'] }), columnNotFound);
    assertRefused(await ask(table, { from, columns: ['nothing'] }), columnNotFound);
  });

  test('for versions, tags, branches and tables that are not there, and callers who may not read', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    const body = { from: { version: 1 } };
    assertRefused(await ask(table, { from: { version: 9 } }), { status: 404, code: CODE.versionNotFound });
    assertRefused(await ask(table, { from: { tag: 'no' } }), { status: 404, code: CODE.tagNotFound });
    assertRefused(await ask(table, { ...body, to: { branch: 'no' } }), { status: 404, code: CODE.branchNotFound });
    assertRefused(await ask({ at: '/v1/table/nowhere' }, body), tableNotFound);
    assertRefused(await ask(table, body, server.stranger()), unauthenticated);
    const other = await server.caller('owner', [(await server.table()).id]);
    assertRefused(await ask(table, body, other), tableNotFound);
    const reader = await server.caller('reader', [table.id]);
    assert.equal((await ask(table, body, reader)).status, 200);
  });

  test('when it would compare more rows, or show more text, than the settings allow', async () => {
    const flags = ['--query-diff-rows-max=1000', '--query-diff-bytes-max=1024'];
    const small = await ContractServer.start({ flags });
    try {
      const table = await small.table({ stream: shop({ id: count(600), price: count(600) }) });
      await small.admin.post(`${table.at}/update`, { updates: [['price', '-1']] });
      assertRefused(
        await small.admin.post(`${table.at}/diff`, { from: { version: 1 } }),
        badRequest(/1,200 rows.*1,000/),
      );
      await small.admin.post(`${table.at}/restore`, { version: 1 });
      await small.admin.post(`${table.at}/update`, { updates: [['price', '-1']], predicate: 'id < 100' });
      const answer = await small.admin.post(`${table.at}/diff`, { from: { version: 1 } });
      assert.equal(answer.json.counts.changed, 100);
      assert.equal(answer.json.truncated, true);
      assert.ok(answer.json.rows.length > 0 && answer.json.rows.length < 50);
    } finally {
      await small.close();
    }
  });
});
