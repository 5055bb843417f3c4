import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Engine, IndexCommit } from '../../../src/engine/engine.ts';
import type { IndexRequest, IndexSpec } from '../../../src/model/index-spec.ts';
import type { TableState } from '../../../src/model/table.ts';
import { commitPlan, openTable } from '../test-engine.ts';
import { toDocuments } from '../sample-tables.ts';

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
