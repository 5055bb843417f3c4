import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { ShownMetrics } from '../../support/metrics.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, Utf8, count, streamOf, vectorType, vectors as points } from '../contract-tables.ts';
import { openRaw } from '../raw-request.ts';
import { CODE, assertRefused } from '../refusal.ts';

const ROWS = 20_000;
const DIMENSIONS = 8;
const JSON_ROWS = { accept: 'application/json' };

/** Each vector takes about 4 MiB for 20,000 rows. */
function search(vectors: number, k: number, more: object = {}): object {
  const multi_vector = count(vectors).map((each) => count(DIMENSIONS).map((at) => Math.sin(each + at)));
  return { vector: { multi_vector }, k, columns: { column_names: ['id'] }, ...more };
}

/** Takes some seconds on any machine. */
const SLOW = count(100)
  .map((each) => `md5(md5(word || '${each}')) = ''`)
  .join(' OR ');

describe('memory of reads', () => {
  let server: ContractServer;
  let table: MadeTable;

  before(async () => {
    server = await ContractServer.start({
      flags: [
        '--sql-operators-max=400',
        '--query-memory-per-request-bytes-max=128MiB',
        '--query-memory-per-caller-bytes-max=128MiB',
        '--query-memory-bytes-max=192MiB',
        '--query-memory-wait-seconds=0.2',
      ],
    });
    const stream = streamOf({
      id: { type: new Int32(), values: count(ROWS) },
      word: { type: new Utf8(), values: count(ROWS).map(String) },
      vec: { type: vectorType(DIMENSIONS), values: points(ROWS, DIMENSIONS) },
    });
    table = await server.table({ stream });
  });
  after(async () => server.close());

  const usedBytes = async (): Promise<number> =>
    (await ShownMetrics.read(server.url, ADMIN_KEY)).value('tiltyard_budget_used_bytes', { budget: 'read' });

  test('a search for too many rows is refused at once, and says to what k must be lowered', async () => {
    for (const operation of ['query', 'analyze_plan']) {
      const refused = await server.admin.post(`${table.at}/${operation}`, search(100, ROWS), JSON_ROWS);
      assertRefused(refused, { status: 400, code: CODE.invalidInput, detail: /Lower k plus offset to [\d,]+ for 100/ });
      const k = Number(/to ([\d,]+) for/.exec(refused.text)?.[1]?.replaceAll(',', ''));
      assert.ok(k > 100 && k < ROWS, refused.text);
      assert.equal((await server.admin.post(`${table.at}/${operation}`, search(100, k))).status, 200);
    }
    assert.equal(await usedBytes(), 0);
  });

  test('a result that is larger than the table is not refused for its k', async () => {
    const reply = await server.admin.post(`${table.at}/query`, search(1, 1_000_000), JSON_ROWS);
    assert.equal(reply.json.rows.length, ROWS);
  });

  test('a list of values that takes too much memory is refused, also by a count', async () => {
    const filter = `id IN (${count(150_000).join(',')})`;
    const detail = /Send a shorter filter/;
    const counted = await server.admin.post(`${table.at}/count_rows`, { predicate: filter });
    assertRefused(counted, { status: 400, code: CODE.invalidInput, detail });
    const found = await server.admin.post(`${table.at}/query`, { filter, k: 10 });
    assertRefused(found, { status: 400, code: CODE.invalidInput, detail });
  });

  test('memory is held until an orphaned query ends; its caller waits for it, others do not', async () => {
    const slow = search(20, ROWS, { filter: SLOW });
    const sent = openRaw(server.url, { path: `${table.at}/query`, headers: { 'content-type': 'application/json' } });
    sent.on('error', () => undefined);
    sent.end(JSON.stringify(slow));
    await eventually(async () => (await usedBytes()) > 0);
    sent.destroy();
    const refused = await server.admin.post(`${table.at}/query`, search(20, ROWS));
    assertRefused(refused, {
      status: 503,
      code: CODE.unavailable,
      detail: /Other queries of this caller use the memory/,
    });
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.ok((await usedBytes()) > 0, 'the orphaned query has ended too early for this test');
    const other = await server.caller('reader');
    assert.equal((await other.post(`${table.at}/query`, search(12, ROWS))).status, 200);
    assert.equal((await server.admin.post(`${table.at}/query`, search(1, 10))).status, 200);
    await eventually(async () => (await usedBytes()) === 0);
    assert.equal((await server.admin.post(`${table.at}/query`, search(20, ROWS))).status, 200);
  });
});
