import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { Int32, Int64, tableFromIPC } from 'apache-arrow';
import { ApiClient } from '../../src/client/api-client.ts';
import { ClientError, ConnectionError, findSqlPosition } from '../../src/client/client-error.ts';
import {
  createBranch,
  createTag,
  listBranches,
  listTags,
  listVersions,
  restoreTable,
  tagVersion,
} from '../../src/client/history.ts';
import {
  dropIndex,
  indexStats,
  listIndexes,
  startIndex,
  createNamespace,
  dropNamespace,
  listNamespaces,
  createTable,
  describeTable,
  dropTable,
  listTables,
  listTablesOf,
  renameTable,
  startMaintenance,
  tableStats,
} from '../../src/client/tables.ts';
import { collect, waitForJob } from '../../src/client/calls.ts';
import {
  analyzePlan,
  countRows,
  deleteRows,
  insertRows,
  openQuery,
  queryRows,
  updateRows,
} from '../../src/client/rows.ts';
import { columnsToStream } from '../../src/formats/arrow/arrow-stream.ts';
import { sampleStream, toStream } from '../support/arrow-tables.ts';
import { ADMIN_KEY, startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

let server: TestServer;
let client: ApiClient;

before(async () => {
  server = await startServer({ flags: ['--http-page-size-max=2'] });
  client = new ApiClient({ url: `${server.url}/`, key: ADMIN_KEY });
});
after(async () => server.close());

async function refusal(work: Promise<unknown>): Promise<ClientError> {
  return work.then(
    () => assert.fail('it was not refused'),
    (error: unknown) => (error instanceof ClientError ? error : assert.fail(String(error))),
  );
}

test('creates, lists, describes, renames and drops tables, page by page', async () => {
  await createNamespace(client, ['eu']);
  for (const path of [['t1'], ['t2'], ['t3'], ['eu', 'orders'], ['eu', 'a$b']] as const) {
    await createTable(client, path, sampleStream(4), { properties: { made: 'by test' } });
  }
  const all = await collect(listTables(client));
  assert.deepEqual(
    all.filter(([first]) => first === 'eu'),
    [
      ['eu', 'a$b'],
      ['eu', 'orders'],
    ],
  );
  assert.equal(all.length, 5);
  assert.deepEqual(await collect(listTablesOf(client, [])), [['t1'], ['t2'], ['t3']]);
  assert.deepEqual(await collect(listNamespaces(client)), [['eu']]);
  const described = await describeTable(client, ['eu', 'a$b']);
  assert.equal(described.table, 'a$b');
  assert.deepEqual(described.properties, { made: 'by test' });
  assert.equal((await tableStats(client, ['t1'])).num_rows, 4);
  await renameTable(client, ['eu', 'a$b'], ['moved']);
  assert.equal(await countRows(client, ['moved']), 4);
  await dropTable(client, ['moved']);
  assert.equal((await refusal(describeTable(client, ['moved']))).status, 404);
  await dropNamespace(client, ['eu'], { behavior: 'cascade' });
  assert.equal((await collect(listTables(client))).length, 3);
});

test('sends Arrow streams in one piece or as they come, and reads results either way', async () => {
  const bytes = sampleStream(10);
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 100) yield bytes.slice(at, at + 100);
  }
  await createTable(client, ['streamed'], ReadableStream.from(pieces()));
  await insertRows(client, ['streamed'], new Blob([new Uint8Array(bytes)]));
  await insertRows(client, ['streamed'], bytes, { query: { mode: 'overwrite' } });
  const response = await openQuery(client, ['streamed'], { filter: 'id < 3', k: 100 });
  assert.equal(tableFromIPC(new Uint8Array(await response.arrayBuffer())).numRows, 3);
  const rows = await queryRows(client, ['streamed'], { filter: 'id = 1', columns: { column_names: ['name'] } });
  assert.deepEqual(rows, [{ name: 'name 1' }]);
});

test('keeps every digit of large whole numbers', async () => {
  const value = 9_007_199_254_740_993n;
  const stream = toStream(
    { id: [new Int32(), (row) => row], n: [new Int64(), (row) => (row === 0 ? value : BigInt(row))] },
    2,
  );
  await createTable(client, ['digits'], stream);
  const rows = await queryRows(client, ['digits'], { order_by: [{ column_name: 'id' }] });
  assert.deepEqual(rows, [
    { id: 0, n: value },
    { id: 1, n: 1 },
  ]);
});

test('keeps every digit of decimals, as text where a number would be rounded', async () => {
  const amounts = [1_234_567_890_123_456_789_012n, 123_456_789_012_345_650n, 350n, -1n];
  const values = amounts.map((amount) => ({ amount, ratio: 0.1 + 0.2 }));
  const type = 'struct<amount: decimal128(38, 2), ratio: float64>';
  const ids = { name: 'id', type: 'int64', values: [0, 1, 2, 3] };
  await createTable(client, ['decimals'], columnsToStream([ids, { name: 'sale', type, values }]));
  const rows = await queryRows(client, ['decimals'], { order_by: [{ column_name: 'id' }] });
  assert.deepEqual(
    rows.map(({ sale }) => sale),
    ['12345678901234567890.12', 1_234_567_890_123_456.5, 3.5, -0.01].map((amount) => ({ amount, ratio: 0.1 + 0.2 })),
  );
});

test('chooses databases by names of any script, and refuses names that headers cannot carry', async () => {
  for (const name of ['漢字', 'é', 'über uns']) {
    await client.json('/v1/database/create', { json: { name } });
    const chosen = client.withDatabase(name);
    await createTable(chosen, [`in ${name}`], sampleStream(2));
    assert.deepEqual(await collect(listTables(chosen)), [[`in ${name}`]]);
  }
  for (const name of ['a\nb', '\u0000', ' default', 'default ', '\ud800']) {
    await assert.rejects(collect(listTables(client.withDatabase(name))), /The database name .* cannot be sent/);
  }
});

test('refuses names that URLs would drop, and sends nothing', async () => {
  await createTable(client, ['kept'], sampleStream(4));
  for (const name of ['..', '.', '']) {
    await assert.rejects(dropIndex(client, ['kept'], name), /Nothing can have the name/);
    await assert.rejects(indexStats(client, ['kept'], name), /Nothing can have the name/);
    await assert.rejects(dropTable(client, [name]), /Nothing can have the name/);
  }
  assert.equal(await countRows(client, ['kept']), 4);
});

test('updates, deletes, builds indexes, tags, branches and restores', async () => {
  await createTable(client, ['work'], sampleStream(300));
  const { updated_rows } = await updateRows(client, ['work'], { updates: [['price', '0']], predicate: 'id < 10' });
  assert.equal(updated_rows, 10);
  await createTag(client, ['work'], { tag: 'before', version: 2 });
  assert.equal((await deleteRows(client, ['work'], { predicate: 'id >= 290' })).num_deleted_rows, 10);
  const { job_id, index_name } = await startIndex(client, ['work'], { column: 'id', index_type: 'BTREE' });
  const states: string[] = [];
  const job = await waitForJob(client, job_id, { onProgress: ({ job_state }) => states.push(job_state) });
  assert.equal(job.job_state, 'DONE');
  assert.equal(states.at(-1), 'DONE');
  assert.deepEqual(
    (await listIndexes(client, ['work'])).map((index) => index.index_name),
    [index_name],
  );
  assert.equal((await indexStats(client, ['work'], index_name)).num_indexed_rows, 290);
  await dropIndex(client, ['work'], index_name);
  assert.equal((await tagVersion(client, ['work'], { tag: 'before' })).version, 2);
  assert.deepEqual(Object.keys(await listTags(client, ['work'])), ['before']);
  await createBranch(client, ['work'], { name: 'trial' });
  assert.deepEqual(Object.keys(await listBranches(client, ['work'])), ['trial']);
  await restoreTable(client, ['work'], { version: 2 });
  assert.equal(await countRows(client, ['work']), 300);
  const versions = await listVersions(client, ['work'], { limit: 3 });
  assert.deepEqual(
    versions.map(({ version }) => version),
    [6, 5, 4],
  );
  const maintenance = await startMaintenance(client, ['work']);
  assert.equal((await waitForJob(client, maintenance.job_id)).job_state, 'DONE');
  const { plan, text } = await analyzePlan(client, ['work'], { filter: 'id = 7', k: 3 });
  assert.ok(plan.operator.length > 0 && text.includes(plan.operator));
});

test('gives refusals with what was wrong, what would be right, and the id of the request', async () => {
  const missing = await refusal(describeTable(client, ['nothing']));
  assert.deepEqual([missing.status, missing.code], [404, 4]);
  assert.equal(missing.message, 'The table "nothing" was not found.');
  assert.match(missing.requestId ?? '', /^[\w-]{36}$/);
  const wrong = await refusal(countRows(client, ['work'], { predicate: 'id = drop table' }));
  assert.equal(wrong.status, 400);
  assert.ok(wrong.hint !== undefined && wrong.detail === `${wrong.message} ${wrong.hint}`);
  assert.equal(findSqlPosition(wrong.message)?.text, 'predicate');
  const strange = await refusal(new ApiClient({ url: server.url, key: 'wrong' }).json('/v1/tables'));
  assert.equal(strange.status, 401);
  assert.match(strange.title, /credentials/);
});

test('sends requests to the database that it was created for', async () => {
  await client.json('/v1/database/create', { json: { name: 'other' } });
  const other = client.withDatabase('other');
  assert.deepEqual(await collect(listTables(other)), []);
  await createTable(other, ['only-here'], sampleStream(1));
  assert.equal((await refusal(describeTable(client, ['only-here']))).status, 404);
});

test('says why no answer came', async () => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
  await new Promise((resolve) => closed.close(resolve));
  const lost = new ApiClient({ url, key: 'x' });
  await assert.rejects(lost.json('/v1/tables'), (error) => {
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.code, 'ECONNREFUSED');
    assert.equal(error.message, `The server at ${url} did not respond: nothing is listening there.`);
    return true;
  });
});

test('gives up on a slow reply, follows no redirect, and understands a proxy that refuses', async (t) => {
  const silent = createServer((request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: server.url }).end();
    if (request.url === '/proxy') response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad</h1>');
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const { port } = silent.address() as AddressInfo;
  const waiting = new ApiClient({ url: `http://127.0.0.1:${port}`, key: 'secret', answerSecondsMax: 0.2 });
  await assert.rejects(waiting.json('/never'), /did not respond: there was no reply within 0\.2 s/);
  await assert.rejects(waiting.json('/moved'), ConnectionError);
  const proxy = await refusal(waiting.json('/proxy'));
  assert.deepEqual([proxy.status, proxy.message], [502, 'The server responded with status 502.']);
});
