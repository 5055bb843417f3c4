import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { Int32, Utf8 } from 'apache-arrow';
import type { Engine, IndexCommit } from '../../../src/engine/engine.ts';
import type { IndexRequest, IndexSpec } from '../../../src/model/index-spec.ts';
import type { TableState } from '../../../src/model/table.ts';
import { queryLimits } from '../../guard/limits.ts';
import { ENGINE_LIMITS, commitPlan, latest, openTable, openTestEngine, toStream } from '../test-engine.ts';
import { toDocuments, toTable } from '../sample-tables.ts';
import { measureBatches } from '../watched-native.ts';

const BTREE: IndexSpec = { kind: 'scalar', type: 'BTREE' };

function request(column: string, spec: IndexSpec, name = `${column}_idx`): IndexRequest {
  return { column: [column], name, replace: true, spec };
}

async function build(engine: Engine, table: TableState, indexRequest: IndexRequest): Promise<IndexCommit> {
  const opened = await engine.indexes.openBuild(table);
  try {
    return await opened.build(indexRequest);
  } finally {
    opened.close();
  }
}

suite('indexes', () => {
  test('of a version are those that it had', async (t) => {
    const { engine, table } = await openTable(t, toDocuments(10));
    const { version } = await build(engine, table, request('id', BTREE));
    await commitPlan(engine, table, engine.commits.dropIndex('id_idx'));
    assert.equal((await engine.indexes.list({ ...table, version })).length, 1);
    assert.equal(await engine.indexes.findStatistics(table, 'id_idx'), undefined);
    assert.equal((await engine.indexes.findStatistics({ ...table, version }, 'id_idx'))?.indexedRows, 10);
  });

  test('are seen by the next reader as soon as they are built', async (t) => {
    const { engine, table } = await openTable(t, toDocuments(10));
    for (let round = 0; round < 5; round += 1) {
      await build(engine, table, request('id', BTREE, `i${round}`));
      assert.equal((await engine.indexes.list(table)).length, round + 1);
    }
  });
});

suite('reading columns into memory', () => {
  const TEXTS = toTable({
    id: [new Int32(), Array.from({ length: 300 }, (_, id) => id)],
    body: [new Utf8(), Array.from({ length: 300 }, () => randomBytes(16 * 1024).toString('hex'))],
  });
  const timeout = { seconds: undefined, signal: () => new AbortController().signal };

  test('takes batches of the size of results', async (t) => {
    const measured = measureBatches();
    const { engine, location } = await openTestEngine(t, {}, measured.native);
    await engine.createTable(location(), await toStream(TEXTS), {});
    for (const columns of [[], [['body']]] as const) {
      measured.bytesMax = 0;
      await engine.indexes.prewarmColumns(latest(location()), columns, timeout);
      assert.ok(measured.bytesMax > 0 && measured.bytesMax <= 2 * ENGINE_LIMITS.resultBatchBytes);
    }
  });

  test('is refused where it would take more memory than one query may', async (t) => {
    const readMemory = { ...queryLimits, memoryPerRequestBytesMax: 2 ** 20 };
    const { engine, location } = await openTestEngine(t, { readMemory });
    await engine.createTable(location(), await toStream(TEXTS), {});
    await assert.rejects(engine.indexes.prewarmColumns(latest(location()), [], timeout), /one query may use 1 MiB/);
  });
});
