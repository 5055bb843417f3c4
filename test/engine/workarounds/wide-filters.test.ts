import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { Int32, Utf8 } from 'apache-arrow';
import { isRead } from '../../../src/arrow/results/result-framing.ts';
import type { Query } from '../../../src/model/query.ts';
import { queryLimits } from '../../guard/limits.ts';
import { toTable, vectorType } from '../sample-tables.ts';
import { latest, openTestEngine, sql, toQuery, toStream } from '../test-engine.ts';
import { watchReads } from '../watched-native.ts';

const TIMEOUT = { seconds: undefined, signal: () => new AbortController().signal };
const MiB = 2 ** 20;
const ROWS = 600;
const ID = { kind: 'names', paths: [['id']] } as const;

/** Its texts of 40 KB are beside short names. Every read shows its batches, and the memory that is reserved meanwhile. */
async function openScene(t: TestContext) {
  const reads: { readonly batchRows: number; readonly usedBytes: number }[] = [];
  const native = watchReads((batchRows) => {
    reads.push({ batchRows, usedBytes: engine.counts().readMemory.usedBytes });
  });
  const { engine, location } = await openTestEngine(t, { readMemory: queryLimits }, native);
  const ids = Array.from({ length: ROWS }, (_, id) => id);
  const rows = toTable({
    id: [new Int32(), ids],
    name: [new Utf8(), ids.map((id) => `name ${id}`)],
    body: [
      new Utf8(),
      ids.map((id) => `${id % 3 === 0 ? 'third' : 'other'} ${randomBytes(30_000).toString('base64')}`),
    ],
    vec: [vectorType(2), ids.map((id) => [id, 1])],
  });
  await engine.createTable(location(), await toStream(rows), {});
  const table = latest(location());
  return {
    reads,
    count: async (text: string) => (await engine.rows.count(table, sql(text), TIMEOUT)).rows,
    async query(query: Partial<Query>) {
      const { files } = await engine.rows.query(table, toQuery({ projection: ID, ...query }), TIMEOUT);
      if (!isRead(files)) for await (const file of files) assert.ok(file.length > 0);
      assert.equal(engine.counts().readMemory.usedBytes, 0);
    },
  };
}

suite('a filter on a wide column', () => {
  for (const [title, query] of [
    ['a scan', {}],
    ['a scan for few rows', { k: 5 }],
    ['a search', { k: 5, vectors: [[1, 2]] }],
  ] as const) {
    test(`is read in small batches, whose memory is reserved, by ${title}`, async (t) => {
      const scene = await openScene(t);
      await scene.query({ ...query, filter: sql("body LIKE 'third%'") });
      const read = scene.reads.at(-1);
      assert.ok(read !== undefined && read.batchRows > 100 && read.batchRows < 250, `${read?.batchRows} rows`);
      assert.ok(read.usedBytes > 40 * MiB && read.usedBytes < 150 * MiB, `${read.usedBytes} bytes`);
    });

    test(`changes nothing for ${title} with a filter on a narrow column of the table`, async (t) => {
      const scene = await openScene(t);
      await scene.query({ ...query, filter: sql("name <> 'name 7'") });
      const filtered = scene.reads.at(-1);
      await scene.query(query);
      assert.deepEqual(filtered, scene.reads.at(-1));
    });
  }

  test('is counted in small batches, whose memory is reserved; one on a narrow column is not', async (t) => {
    const scene = await openScene(t);
    assert.equal(await scene.count("body LIKE 'third%'"), ROWS / 3);
    const read = scene.reads.at(-1);
    assert.ok(read !== undefined && read.batchRows < 250 && read.usedBytes > 40 * MiB);
    assert.equal(await scene.count('body IS NULL'), 0);
    const before = scene.reads.length;
    assert.equal(await scene.count("name <> 'name 7'"), ROWS - 1);
    assert.equal(await scene.count('id < 10'), 10);
    // A look at a few rows.
    assert.deepEqual(
      scene.reads.slice(before).map(({ batchRows }) => batchRows),
      [16],
    );
  });
});
