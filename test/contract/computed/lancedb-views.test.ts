import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ContractServer } from '../contract-server.ts';
import { CODE, assertRefused, badRequest } from '../refusal.ts';
import { ended, itemsStream } from './computed-tables.ts';

const CLIENT = { 'user-agent': 'LanceDB-Rust-Client/0.40.0' };

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ flags: ['--maintenance-running-max=0'] });
});
after(async () => server.close());

const viewOf = (id: string): string => `/v1/materialized_view/${id}`;

/** As LanceDB's clients for Python and Rust send it. */
async function create(id: string, query: string, withNoData = false) {
  return server.admin.post(`${viewOf(id)}/create`, { query, with_no_data: withNoData }, CLIENT);
}

async function refresh(id: string, body: object): Promise<any> {
  const answer = await server.admin.post(`${viewOf(id)}/refresh`, body, CLIENT);
  assert.equal(answer.status, 202, answer.text);
  return ended(server.admin, answer.json.job_id);
}

async function items(): Promise<string> {
  const { id } = await server.table({
    stream: itemsStream([
      [1, 1.5, 2],
      [2, 2.5, 4],
    ]),
  });
  return id;
}

suite("a materialized view of LanceDB's client", () => {
  test('is defined by a query with names in double quotes, and filled by a job', async () => {
    const [source, id] = [await items(), server.name('view')];
    const text = `SELECT \`id\` AS "id", concat('"', price * 2) AS "a ""b"" c" FROM "${source}" WHERE price > 2`;
    const created = await create(id, text);
    assert.equal(created.status, 202, created.text);
    assert.equal((await ended(server.admin, created.json.job_id)).job_state, 'DONE');
    assert.deepEqual(await server.embeddedByName(id), [{ id: 2, 'a "b" c': '"5.0' }]);
  });

  test('reads a source in another namespace, and is created without rows when that is asked for', async () => {
    await server.namespace(['raw data']);
    const source = await server.table({ id: 'raw data$items', stream: itemsStream([[1, 1, 1]]) });
    const id = server.name('view');
    const created = await create(id, 'SELECT * FROM "raw data"."items" LIMIT 10', true);
    assert.deepEqual([created.status, created.json.job_id], [201, undefined], created.text);
    const described = await server.admin.post(`${viewOf(id)}/describe`, undefined, CLIENT);
    assert.equal(described.status, 200, described.text);
    const { source: shown, source_table: table, source_namespace: namespace, limit, projections } = described.json;
    assert.deepEqual([shown, table, namespace, limit], [source.id, 'items', ['raw data'], 10]);
    assert.deepEqual(
      projections.map((column: { output_column: string }) => column.output_column),
      ['id', 'price', 'quantity'],
    );
    assert.match(described.json.incarnation, /./);
  });

  test('is refreshed to a version, or rebuilt, and its job tells the mode and the rows', async () => {
    const [source, id] = [await items(), server.name('view')];
    await create(id, `SELECT * FROM "${source}"`, true);
    const first = await refresh(id, { full: false });
    assert.deepEqual([first.result.mode, first.result.rows_written], ['rebuild', 2]);
    assert.equal((await refresh(id, { full: false })).result.mode, 'no_op');
    assert.equal((await refresh(id, { full: true })).result.mode, 'rebuild');
    await server.admin.arrow(`/v1/table/${source}/insert`, itemsStream([[3, 3, 3]]));
    const { mode, rows_written: rows, source_version: latest } = (await refresh(id, { full: false })).result;
    assert.deepEqual([mode, rows], ['incremental', 1]);
    assert.equal((await refresh(id, { full: false, source_version: latest - 1 })).result.rows_written, 2);
  });

  test('is refreshed only if it is the one that the client opened', async () => {
    const [source, id] = [await items(), server.name('view')];
    await create(id, `SELECT * FROM "${source}"`, true);
    const { incarnation } = (await server.admin.post(`${viewOf(id)}/describe`, {})).json;
    assert.equal((await refresh(id, { expected_incarnation: incarnation })).job_state, 'DONE');
    await server.admin.post(`${viewOf(id)}/drop`, undefined, CLIENT);
    await create(id, `SELECT * FROM "${source}"`, true);
    const stale = await server.admin.post(`${viewOf(id)}/refresh`, { expected_incarnation: incarnation });
    assertRefused(stale, { status: 409, code: CODE.tableState, detail: /expected_incarnation/ });
  });

  test('is listed by its name, in its own namespace', async () => {
    await server.namespace(['listed']);
    await server.namespace(['listed', 'deeper']);
    const source = await items();
    for (const id of ['listed$one', 'listed$two', 'listed$deeper$three']) await create(id, `SELECT * FROM "${source}"`);
    const at = '/v1/namespace/listed/materialized_view/list';
    const { json } = await server.admin.get(at, CLIENT);
    assert.deepEqual(json.views, ['one', 'two']);
    const first = await server.admin.get(`${at}?limit=1`, CLIENT);
    const second = await server.admin.get(`${at}?limit=1&page_token=${first.json.page_token}`, CLIENT);
    assert.deepEqual([first.json.views, second.json.views], [['one'], ['two']]);
    assertRefused(await server.admin.get(`${at}?page_token=no`), badRequest(/page token/));
  });

  test('with the fields of both forms is refused', async () => {
    const body = { kind: 'query', query: 'SELECT * FROM a', source_query: 'SELECT * FROM b' };
    const twice = await server.admin.post(`${viewOf(server.name('view'))}/create`, body);
    assertRefused(twice, badRequest(/"query" is unknown/));
    const versions = { src_version: 1, source_version: 2 };
    const [source, id] = [await items(), server.name('view')];
    await create(id, `SELECT * FROM "${source}"`, true);
    const refused = await server.admin.post(`${viewOf(id)}/refresh`, versions);
    assertRefused(refused, badRequest(/"source_version" is unknown/));
  });
});
