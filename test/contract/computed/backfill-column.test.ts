import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { assertRefused, badRequest, columnNotFound, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';
import { column, ended, itemsStream, itemsWithTotal } from './computed-tables.ts';
import type { Item } from './computed-tables.ts';

const ROWS = 4000;
const MANY: readonly Item[] = Array.from({ length: ROWS }, (_unused, id) => [id, id % 7, 2]);
const totals = MANY.map(([, price, quantity]) => Number(price) * Number(quantity));

let server: ContractServer;
/** Only refusals are tried on it. */
let table: MadeTable;
before(async () => {
  // The smallest step, so that a backfill of a few thousand rows takes several.
  server = await ContractServer.start({ flags: ['--engine-backfill-bytes=64KiB', '--maintenance-running-max=0'] });
  table = await itemsWithTotal(server);
});
after(async () => server.close());

async function start(made: MadeTable, body: object = { column: 'total' }): Promise<string> {
  const answer = await server.admin.post(`${made.at}/backfill_column`, body);
  assert.equal(answer.status, 202, answer.text);
  return answer.json.job_id;
}

async function fill(made: MadeTable, body?: object): Promise<any> {
  const job = await ended(server.admin, await start(made, body));
  assert.equal(job.job_state, 'DONE', JSON.stringify(job));
  return job.result;
}

suite('backfill_column', () => {
  test('fills the rows that were there before the column, and nothing else', async () => {
    const made = await itemsWithTotal(server);
    const { rows_filled: filled, version } = await fill(made);
    assert.equal(filled, 2);
    assert.deepEqual(await column(server, made), [3, 10, null]);
    // There is nothing left to do: no version is made.
    const again = await fill(made);
    assert.deepEqual([again.rows_filled, again.version], [0, version]);
  });

  test('fills a large table in several commits', async () => {
    const made = await itemsWithTotal(server, MANY);
    const { json } = await server.admin.post(`${made.at}/version/list`, {});
    const { rows_filled: filled, version } = await fill(made);
    assert.equal(filled, ROWS);
    assert.ok(version > json.versions[0].version + 1, `in one step: ${version}`);
    assert.deepEqual(await column(server, made), totals);
  });

  test('fills only the rows of a condition', async () => {
    const made = await itemsWithTotal(server);
    const { rows_filled: filled } = await fill(made, {
      column: 'total',
      where: 'id = 2',
      concurrency: 4,
      cluster: null,
    });
    assert.equal(filled, 1);
    assert.deepEqual(await column(server, made), [null, 10, null]);
  });

  test('fills a branch alone', async () => {
    const made = await itemsWithTotal(server);
    await (await (await server.embedded(made)).branches()).create('side');
    await fill(made, { column: 'total', branch: 'side' });
    assert.deepEqual(await column(server, made), [null, null, null]);
    const answer = await server.admin.post(`${made.at}/count_rows`, { predicate: 'total > 0', branch: 'side' });
    assert.equal(answer.json, 2);
  });

  test('counts and fills right next to writers of the same rows', async () => {
    const made = await itemsWithTotal(server, MANY);
    const job = await start(made);
    for (let step = 0; step < 10; step += 1) {
      const id = ROWS + step;
      const inserted = await server.admin.arrow(`${made.at}/insert`, itemsStream([[id, 3, 3]]));
      assert.equal(inserted.status, 200, inserted.text);
      const body = { updates: [['quantity', '5']], predicate: `id = ${step * 100}` };
      assert.equal((await server.admin.post(`${made.at}/update`, body)).status, 200);
      assert.equal((await server.admin.post(`${made.at}/delete`, { predicate: `id = ${step * 100 + 1}` })).status, 200);
    }
    assert.equal((await ended(server.admin, job)).job_state, 'DONE');
    for (const row of await server.rows(made))
      assert.equal(row['total'], row['price'] * row['quantity'], JSON.stringify(row));
  });

  test('ends between two steps when it is cancelled; what it has filled stays', async () => {
    const made = await itemsWithTotal(server, MANY);
    const id = await start(made);
    assert.equal((await server.admin.post('/v1/jobs/cancel', { job_id: id })).status, 200);
    const job = await ended(server.admin, id);
    assert.ok(['CANCELLED', 'DONE'].includes(job.job_state), JSON.stringify(job));
    for (const row of await server.rows(made))
      assert.ok(row['total'] === null || row['total'] === row['price'] * row['quantity']);
    assert.equal((await column(server, made)).length, ROWS);
  });

  test('fails with the reason when a row cannot be computed', async () => {
    const made = await server.table({
      stream: itemsStream([
        [1, 1, 0],
        [2, 1, 5],
      ]),
    });
    await server.admin.post(`${made.at}/add_columns`, { new_columns: [{ name: 'share', computed: '100 / quantity' }] });
    const job = await ended(server.admin, await start(made, { column: 'share' }));
    assert.equal(job.job_state, 'FAILED');
    assert.match(job.failure.message, /divides by zero/);
    await server.admin.post(`${made.at}/update`, { updates: [['quantity', '4']], predicate: 'id = 1' });
    assert.equal((await fill(made, { column: 'share' })).rows_filled, 1);
    assert.deepEqual(await column(server, made, 'share'), [25, 20]);
  });

  test('refuses what it cannot fill', async () => {
    const at = `${table.at}/backfill_column`;
    assertRefused(await server.admin.post(at, {}), badRequest(/column/));
    assertRefused(await server.admin.post(at, { column: 'price' }), badRequest(/"price" is not computed/));
    assertRefused(await server.admin.post(at, { column: 'nope' }), columnNotFound);
    assertRefused(await server.admin.post(at, { column: 'total', where: 'id = ' }), badRequest(/where/));
    assertRefused(await server.admin.post(at, { column: 'total', where: 'nope = 1' }), columnNotFound);
    assertRefused(await server.admin.post(at, { column: 'total', read_version: 1 }), badRequest(/read_version/));
    assertRefused(await server.admin.post('/v1/table/none/backfill_column', { column: 'total' }), tableNotFound);
    assertRefused(await server.stranger().post(at, { column: 'total' }), unauthenticated);
    assertRefused(await (await server.caller('reader')).post(at, { column: 'total' }), forbidden);
  });
});
