import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, suite, test } from 'node:test';
import { COMMIT_OPERATIONS } from '../../../src/model/events/commit-operations.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import {
  CODE,
  assertRefused,
  badRequest,
  columnNotFound,
  forbidden,
  tableNotFound,
  unauthenticated,
} from '../refusal.ts';
import type { Client } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { ended, itemsStream, itemsWithTotal } from './computed-tables.ts';
import type { Item } from './computed-tables.ts';

const ITEMS: readonly Item[] = [
  [1, 1.5, 2],
  [2, 2.5, 4],
  [3, 3.5, 1],
  [4, null, 1],
];

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({
    flags: ['--views-poll-seconds=1', '--views-interval-seconds-min=1', '--maintenance-running-max=0'],
  });
});
after(async () => server.close());

interface View {
  readonly id: string;
  readonly at: string;
  readonly source: MadeTable;
}

const viewOf = (id: string): string => `/v1/materialized_view/${id}`;
const query = (text: string, fields: object = {}): object => ({ kind: 'query', source_query: text, ...fields });

async function makeView(
  select = 'SELECT id, price * 2 AS twice FROM @ WHERE price > 2',
  fields: object = {},
): Promise<View> {
  const source = await server.table({ stream: itemsStream(ITEMS) });
  const id = server.name('view');
  const answer = await server.admin.post(`${viewOf(id)}/create`, query(select.replace('@', source.id), fields));
  assert.equal(answer.status, 201, answer.text);
  return { id, at: `/v1/table/${id}`, source };
}

async function refresh(view: View, body: object = {}): Promise<any> {
  const answer = await server.admin.post(`${viewOf(view.id)}/refresh`, body);
  assert.equal(answer.status, 202, answer.text);
  const job = await ended(server.admin, answer.json.job_id);
  assert.equal(job.job_state, 'DONE', JSON.stringify(job));
  return job.result;
}

async function rows(view: View): Promise<readonly unknown[][]> {
  return (await server.embeddedByName(view.id)).map((row) => Object.values(row));
}

async function insert(view: View, ...items: readonly Item[]): Promise<void> {
  const answer = await server.admin.arrow(`${view.source.at}/insert`, itemsStream(items));
  assert.equal(answer.status, 200, answer.text);
}

async function change(view: View, operation: string, body: object): Promise<void> {
  const answer = await server.admin.post(`${view.source.at}/${operation}`, body);
  assert.equal(answer.status, 200, answer.text);
}

suite('a materialized view', () => {
  test('has the values of a computed column of its source, without its definition', async () => {
    const source = await itemsWithTotal(server, ITEMS);
    const filled = await server.admin.post(`${source.at}/backfill_column`, { column: 'total' });
    assert.equal((await ended(server.admin, filled.json.job_id)).job_state, 'DONE', filled.text);
    const view = { id: server.name('view'), at: '', source };
    const created = await server.admin.post(`${viewOf(view.id)}/create`, query(`SELECT id, total FROM ${source.id}`));
    assert.equal(created.status, 201, created.text);
    await refresh(view);
    const expected = ITEMS.map(([id, price, quantity]) => [id, price === null ? null : price * (quantity ?? 0)]);
    assert.deepEqual(await rows(view), expected);
    const described = await server.admin.post(`/v1/table/${view.id}/describe`, {});
    assert.doesNotMatch(JSON.stringify(described.json.schema), /tiltyard\.computed/);
  });

  test('has the columns of its query and no rows, until it is refreshed', async () => {
    const view = await makeView();
    assert.deepEqual(await rows(view), []);
    const { how, rows: written, source_version: version } = await refresh(view);
    assert.deepEqual([how, written, version], ['rebuilt', 2, view.source.version]);
    assert.deepEqual(await rows(view), [
      [2, 5],
      [3, 7],
    ]);
  });

  test('has its creation, refreshes and drop in the audit log, each by the name of the operation', async () => {
    const view = await makeView();
    await refresh(view);
    assert.equal((await server.admin.post(`${viewOf(view.id)}/drop`, {})).status, 200);
    const { json } = await server.admin.get('/v1/transaction/list?newest_first=true&limit=20');
    const recorded = json.transactions.filter(({ id }: { id: string[] }) => id.join('$') === view.id);
    const names = recorded.map(({ operation }: { operation: string }) => operation).toReversed();
    assert.deepEqual(names, ['create_materialized_view', 'refresh_materialized_view', 'drop_materialized_view']);
    for (const name of names) assert.ok(COMMIT_OPERATIONS.includes(name), name);
  });

  test('is refreshed when it is created with data', async () => {
    const source = await server.table({ stream: itemsStream(ITEMS) });
    const id = server.name('view');
    const body = query(JSON.stringify({ table: source.id, columns: ['id', 'price'], limit: 2 }), {
      with_no_data: false,
    });
    const { json } = await server.admin.post(`${viewOf(id)}/create`, body);
    assert.equal((await ended(server.admin, json.job_id)).job_state, 'DONE');
    assert.equal((await server.embeddedByName(id)).length, 2);
  });

  test('gets what was appended to its source, and is built anew after any other change', async () => {
    const view = await makeView();
    await refresh(view);
    await insert(view, [5, 10, 1], [6, 1, 1]);
    await insert(view, [7, 20, 1]);
    const appended = await refresh(view);
    assert.deepEqual([appended.how, appended.rows], ['appended', 2]);
    assert.deepEqual(
      (await rows(view)).map(([id]) => id),
      [2, 3, 5, 7],
    );
    assert.equal((await refresh(view)).how, 'unchanged');
    await change(view, 'delete', { predicate: 'id = 2' });
    await change(view, 'update', { updates: [['price', '4.0']], predicate: 'id = 1' });
    assert.equal((await refresh(view)).how, 'rebuilt');
    assert.deepEqual(
      (await rows(view)).map(([id]) => id),
      [1, 3, 5, 7],
    );
  });

  test('with a limit is always built anew; of an older version, as that was', async () => {
    const view = await makeView('SELECT * FROM @ LIMIT 3');
    await refresh(view);
    await insert(view, [9, 9, 9]);
    assert.equal((await refresh(view)).how, 'rebuilt');
    assert.equal((await rows(view)).length, 3);
    const all = await makeView('SELECT * FROM @');
    await insert(all, [9, 9, 9]);
    await refresh(all);
    assert.equal((await rows(all)).length, 5);
    await refresh(all, { src_version: all.source.version });
    assert.equal((await rows(all)).length, 4);
  });

  test('is rebuilt when that is asked for, although nothing changed', async () => {
    const view = await makeView();
    await refresh(view);
    assert.equal((await refresh(view, { full: true })).how, 'rebuilt');
    assert.equal((await rows(view)).length, 2);
  });

  test('can be searched, indexed, renamed and dropped, and keeps its indexes when it is refreshed', async () => {
    const view = await makeView();
    await refresh(view);
    const built = await server.admin.post(`${view.at}/create_index`, { column: 'id', index_type: 'BTREE' });
    assert.equal(built.status, 200, built.text);
    await change(view, 'delete', { predicate: 'id = 2' });
    await refresh(view);
    const { json } = await server.admin.post(`${view.at}/index/list`, {});
    assert.equal(json.indexes.length, 1);
    assert.equal((await server.admin.post(`${view.at}/count_rows`, { predicate: 'twice > 1' })).json, 1);
    const renamed = server.name('view');
    const answer = await server.admin.post(`${view.at}/rename`, { new_table_name: renamed });
    assert.equal(answer.status, 200, answer.text);
    await insert(view, [8, 8, 8]);
    assert.equal((await refresh({ ...view, id: renamed })).how, 'appended');
    assert.equal((await server.admin.post(`${viewOf(renamed)}/drop`, {})).status, 200);
    assertRefused(await server.admin.post(`${viewOf(renamed)}/describe`, {}), tableNotFound);
  });

  test('is written by its refresh alone', async () => {
    const view = await makeView();
    const refused = { status: 409, code: CODE.tableState, detail: /materialized view: only a refresh can write to it/ };
    const stream = itemsStream([[1, 1, 1]]);
    assertRefused(await server.admin.arrow(`${view.at}/insert`, stream), refused);
    assertRefused(await server.admin.arrow(`${view.at}/insert?mode=overwrite`, stream), refused);
    assertRefused(await server.admin.arrow(`${view.at}/create?mode=overwrite`, stream), refused);
    assertRefused(
      await server.admin.arrow(`${view.at}/merge_insert?on=id&when_not_matched_insert_all=true`, stream),
      refused,
    );
    assertRefused(await server.admin.post(`${view.at}/update`, { updates: [['id', '1']] }), refused);
    assertRefused(await server.admin.post(`${view.at}/delete`, { predicate: 'id = 1' }), refused);
    assertRefused(await server.admin.post(`${view.at}/drop_columns`, { columns: ['id'] }), refused);
    const properties = { updates: [['price', '1']], properties: { 'tiltyard.view': '{}' } };
    assertRefused(
      await server.admin.post(`${view.source.at}/update`, properties),
      badRequest(/only the server sets it/),
    );
  });

  test('is described, and listed for those who may read it', async () => {
    const view = await makeView();
    await refresh(view);
    await insert(view, [5, 10, 1]);
    const { json } = await server.admin.post(`${viewOf(view.id)}/describe`, {});
    assert.deepEqual(
      [json.source, json.filter, json.columns, json.refresh, json.source_version, json.source_latest_version],
      [
        view.source.id,
        'price > 2',
        { id: 'id', twice: 'price * 2' },
        'manual',
        view.source.version,
        view.source.version + 1,
      ],
    );
    const list = await server.admin.get('/v1/namespace/$/materialized_view/list');
    assert.ok(
      list.json.views.some(({ table }: { table: string }) => table === view.id),
      list.text,
    );
    const first = await server.admin.get('/v1/namespace/$/materialized_view/list?limit=1');
    assert.equal(first.json.views.length, 1);
    const stranger = await server.caller('reader', ['elsewhere']);
    assert.deepEqual((await stranger.get('/v1/namespace/$/materialized_view/list')).json.views, []);
    assertRefused(
      await server.admin.post(`${viewOf(view.source.id)}/describe`, {}),
      badRequest(/not a materialized view/),
    );
  });

  test('is refreshed by itself when its source has changed, or when its time has come', async () => {
    for (const fields of [{ auto_refresh: true }, { refresh_seconds: 1 }]) {
      const view = await makeView('SELECT id FROM @', fields);
      await eventually(async () => (await rows(view)).length === 4);
      await insert(view, [5, 1, 1]);
      await eventually(async () => (await rows(view)).length === 5);
    }
  });

  test('is refreshed by itself although the source of another view cannot be read', async (t) => {
    const broken = await makeView('SELECT id FROM @', { auto_refresh: true });
    await eventually(async () => (await rows(broken)).length === 4);
    if (broken.source.location.includes('://')) return t.skip('only a local folder can be taken away');
    await rm(broken.source.location, { recursive: true });
    const view = await makeView('SELECT id FROM @', { auto_refresh: true });
    await eventually(async () => (await rows(view)).length === 4);
  });

  test('cannot be refreshed once its source is gone', async () => {
    const view = await makeView();
    await refresh(view);
    assert.equal((await server.admin.post(`${view.source.at}/drop`, {})).status, 200);
    assertRefused(await server.admin.post(`${viewOf(view.id)}/refresh`, {}), tableNotFound);
    assert.equal((await rows(view)).length, 2);
  });

  test('does not take a table for its source that was created later under the same name', async () => {
    const view = await makeView('SELECT id FROM @', { auto_refresh: true });
    await eventually(async () => (await rows(view)).length === 4);
    const states = async (): Promise<readonly unknown[]> => {
      const list = await server.admin.get('/v1/namespace/$/materialized_view/list');
      const listed = list.json.views.find(({ table }: { table: string }) => table === view.id);
      const { json } = await server.admin.post(`${viewOf(view.id)}/describe`, {});
      return [listed, json].map(({ source, source_table, source_dropped }) => [source, source_table, source_dropped]);
    };
    const moved = server.name('moved');
    assert.equal((await server.admin.post(`${view.source.at}/rename`, { new_table_name: moved })).status, 200);
    await server.table({ stream: itemsStream([[9, 9, 9]]), id: view.source.id });
    assert.deepEqual(await states(), Array(2).fill([moved, moved, undefined]));
    assert.equal((await server.admin.post(`/v1/table/${moved}/drop`, {})).status, 200);
    assert.deepEqual(await states(), Array(2).fill([view.source.id, view.source.id, true]));
    assertRefused(await server.admin.post(`${viewOf(view.id)}/refresh`, {}), {
      ...tableNotFound,
      detail: /source of the view.*was dropped.*create it again.*another one/,
    });
    assert.equal((await rows(view)).length, 4);
  });

  test('copied by a clone is a plain table', async () => {
    const view = await makeView();
    await refresh(view);
    const copy = server.name('copy');
    const { json } = await server.admin.post(`/v1/table/${view.id}/describe`, {});
    const answer = await server.admin.post(`/v1/table/${copy}/clone`, { source_location: json.location });
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await server.admin.post(`/v1/table/${copy}/delete`, { predicate: 'id = 2' })).status, 200);
  });

  test('is refused with the reason', async () => {
    const source = await server.table({ stream: itemsStream(ITEMS) });
    const at = `${viewOf(server.name('view'))}/create`;
    const refusals: readonly (readonly [string, RegExp])[] = [
      ['DELETE FROM x', /start with SELECT/],
      [`SELECT id FROM ${source.id}, other`, /not the name of one table/],
      [`SELECT * FROM vector_dedup('${source.id}', 4)`, /not the name of one table/],
      [
        `SELECT id FROM ${source.id} JOIN other ON id = key`,
        /JOIN is not supported, because a view is computed one row/,
      ],
      [`SELECT id FROM ${source.id} ORDER BY id`, /ORDER BY is not supported/],
      [`SELECT id FROM ${source.id} WHERE id > 1 GROUP BY id`, /GROUP BY is not supported/],
      [`SELECT id FROM ${source.id} LIMIT 3 union all SELECT 1`, /UNION is not supported/],
      [`SELECT id, price + 1 FROM ${source.id}`, /has no name/],
      [`SELECT id FROM ${source.id} LIMIT many`, /LIMIT/],
      [`SELECT id FROM ${source.id} WHERE id = `, /filter/],
      [`SELECT random() AS r FROM ${source.id}`, /a different value on each call/],
      [`SELECT id AS _rowid FROM ${source.id}`, /reserved/],
      ['{"table": 7}', /has no table/],
      ['{"table": "x", "join": "y"}', /"join"/],
    ];
    for (const [text, detail] of refusals) {
      const answer = await server.admin.post(at, query(text));
      assert.equal(answer.status, 400, `${text}: ${answer.text}`);
      assert.match(answer.json.detail, detail);
    }
    const good = query(`SELECT id FROM ${source.id}`);
    assertRefused(await server.admin.post(at, query(`SELECT nope FROM ${source.id}`)), columnNotFound);
    assertRefused(await server.admin.post(at, query('SELECT id FROM nothing')), tableNotFound);
    assertRefused(await server.admin.post(at, { ...good, kind: 'udtf' }), { status: 406, code: CODE.unsupported });
    assertRefused(
      await server.admin.post(at, { ...good, auto_refresh: true, refresh_seconds: 60 }),
      badRequest(/only one of them/),
    );
    assertRefused(await server.stranger().post(at, good), unauthenticated);
    assertRefused(await (await server.caller('reader')).post(at, good), forbidden);
    const taken = await server.admin.post(`${viewOf(source.id)}/create`, good);
    assertRefused(taken, { status: 409, code: CODE.tableExists });
    const view = await makeView();
    const refreshAt = `${viewOf(view.id)}/refresh`;
    assertRefused(await server.admin.post(refreshAt, { output_limit: 5 }), badRequest(/output_limit/));
    assertRefused(await server.admin.post(refreshAt, { src_version: 999 }), {
      status: 404,
      code: CODE.versionNotFound,
    });
    assertRefused(await server.admin.post(`${viewOf(source.id)}/refresh`, {}), badRequest(/not a materialized view/));
    assertRefused(await server.stranger().post(refreshAt, {}), unauthenticated);
    assertRefused(await (await server.caller('reader')).post(refreshAt, {}), forbidden);
  });

  test('needs the permission to read its source, to create it and to refresh it', async () => {
    await server.namespace(['secret']);
    await server.namespace(['open']);
    const source = await server.table({ stream: itemsStream(ITEMS), id: 'secret$items' });
    const writer = await server.caller('writer', ['open']);
    const body = query(JSON.stringify({ table: source.id }));
    assertRefused(await writer.post('/v1/materialized_view/open$mine/create', body), tableNotFound);
    const made = await server.admin.post('/v1/materialized_view/open$mine/create', body);
    assert.equal(made.status, 201, made.text);
    assertRefused(await writer.post('/v1/materialized_view/open$mine/refresh', {}), forbidden);
    const beside = await server.table();
    const grants = [[beside.id, 't'], ['open']].map((path) => ({ role: 'writer', database: 'default', path }) as const);
    const below = server.client({ key: await server.key(grants) });
    const ofBeside = query(`SELECT id FROM ${beside.id}`);
    assertRefused(await below.post('/v1/materialized_view/open$more/create', ofBeside), tableNotFound);
  });

  test('shows where its source is now, and its version, only to those who may read it', async () => {
    const [open, hidden] = [server.name('open'), server.name('hidden')];
    await server.namespace([open]);
    await server.namespace([hidden]);
    const source = await server.table({ stream: itemsStream(ITEMS), id: `${open}$items` });
    const view = viewOf(`${open}$view`);
    const made = await server.admin.post(`${view}/create`, query(JSON.stringify({ table: source.id })));
    assert.equal(made.status, 201, made.text);
    const moved = await server.admin.post(`${source.at}/rename`, {
      new_table_name: 'moved',
      new_namespace_id: [hidden],
    });
    assert.equal(moved.status, 200, moved.text);
    const shown = async (client: Client): Promise<readonly unknown[]> => {
      const { json } = await client.post(`${view}/describe`, {});
      const list = await client.get(`/v1/namespace/${open}/materialized_view/list`);
      assert.deepEqual([list.json.views[0].source, list.json.views[0].source_dropped], [json.source, undefined]);
      return [json.source, json.source_latest_version];
    };
    assert.deepEqual(await shown(server.admin), [`${hidden}$moved`, source.version]);
    assert.deepEqual(await shown(await server.caller('reader', [open])), [source.id, undefined]);
  });
});
