import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Int32, tableFromIPC } from 'apache-arrow';
import { countResultRows } from '../../../src/arrow/results/result-file.ts';
import { isRead } from '../../../src/arrow/results/result-framing.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { Query } from '../../../src/model/query.ts';
import type { TableState } from '../../../src/model/table.ts';
import { toItems, toTable, vectorType } from '../sample-tables.ts';
import { eventually } from '../../support/eventually.ts';
import { commitPlan, latest, openApart, openTable, openTestEngine, sql, toQuery, toStream } from '../test-engine.ts';
import { countOpens } from '../watched-native.ts';

const NO_TIMEOUT = { seconds: undefined, signal: () => new AbortController().signal };
const ROW = { filter: sql('id = 1'), k: 1 };

async function readScore(engine: Engine, table: TableState): Promise<{ version: number; score: number }> {
  const { version, files } = await engine.rows.query(table, toQuery(ROW), NO_TIMEOUT);
  assert.ok(isRead(files) && files[0] !== undefined);
  return { version, score: Number(tableFromIPC(files[0]).getChild('score')?.get(0)) };
}

test('a query beside writers returns the version that its rows are of', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  const apart = await openApart(t, table);
  const start = await readScore(engine, table);
  let isWriting = true;
  let seen = 0;
  const read = async (): Promise<void> => {
    while (isWriting) {
      const { version, score } = await readScore(engine, table);
      // Each commit adds one to both.
      assert.equal(score - start.score, version - start.version);
      seen = Math.max(seen, version);
    }
  };
  const write = async (): Promise<void> => {
    const request = {
      assignments: [{ path: ['score'] as const, expression: sql('score + 1') }],
      predicate: sql('id = 1'),
    };
    for (let round = 0; round < 40; round += 1) {
      // In turn through the handle that readers share, and by another process.
      if (round % 2 === 0) await commitPlan(engine, table, engine.commits.update(table, request));
      else await apart.update('id = 1', [['score', 'score + 1']]);
    }
    isWriting = false;
  };
  await Promise.all([write(), read(), read(), read()]);
  assert.ok(seen > start.version);
  assert.deepEqual(await readScore(engine, table), { version: start.version + 40, score: start.score + 40 });
});

test('readers beside a writer open the table for each version, not for each read', async (t) => {
  const counted = countOpens();
  const { engine, location } = await openTestEngine(t, {}, counted.native);
  await engine.createTable(location(), await toStream(toItems(3)), {});
  const table = latest(location());
  const request = { assignments: [{ path: ['score'] as const, expression: sql('score + 1') }], predicate: undefined };
  let isWriting = true;
  let reads = 0;
  const read = async (): Promise<void> => {
    for (; isWriting; reads += 1) await readScore(engine, table);
  };
  const write = async (): Promise<void> => {
    for (let commits = 0; commits < 20; commits += 1) {
      const readBefore = reads;
      await commitPlan(engine, table, engine.commits.update(table, request));
      await eventually(async () => reads > readBefore + 10);
    }
    isWriting = false;
  };
  await Promise.all([write(), ...Array.from({ length: 8 }, read)]);
  assert.ok(reads > 200, `${reads} reads`);
  assert.ok(counted.opens <= 60, `${counted.opens} opens`);
});

const VECTOR = [1, 2, 3, 4];

function toVectors(count: number) {
  const ids = Array.from({ length: count }, (_, index) => index);
  return toTable({ id: [new Int32(), ids], vec: [vectorType(4), ids.map((id) => [id, id, id, id])] });
}

/** Queries that return as many rows as they may, and others. */
const QUERIES: readonly (readonly [title: string, query: Partial<Query>, rows: number])[] = [
  ['a scan up to a limit', { k: 5 }, 5],
  ['a scan past an offset', { k: 5, offset: 97 }, 3],
  ['a scan without a limit', {}, 100],
  ['a filtered scan with fewer rows than its limit', { filter: sql('id < 3'), k: 10 }, 3],
  ['a vector search', { vectors: [VECTOR], k: 7 }, 7],
  ['a vector search for more rows than there are', { vectors: [VECTOR], k: 500 }, 100],
  ['two searches in one', { vectors: [VECTOR, [4, 3, 2, 1]], k: 6 }, 12],
  ['two filtered searches in one', { vectors: [VECTOR, [4, 3, 2, 1]], k: 6, filter: sql('id < 4') }, 8],
];

for (const [title, query, rows] of QUERIES) {
  test(`${title} returns all of its rows`, async (t) => {
    const { engine, table } = await openTable(t, toVectors(100));
    const { files } = await engine.rows.query(table, toQuery(query), NO_TIMEOUT);
    let count = 0;
    for await (const file of files) count += countResultRows(file);
    assert.equal(count, rows);
  });
}
