import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { Int32 } from 'apache-arrow';
import type { Table } from 'apache-arrow';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { IndexRequest, IndexSpec } from '../../src/model/index-spec.ts';
import { placeLocation } from '../../src/model/table.ts';
import { openApart, openTable, sql, toStream } from './engine-room.ts';
import { toDocuments, toTable, vectorType } from './sample-tables.ts';

const BTREE: IndexSpec = { kind: 'scalar', type: 'BTREE' };

/** A graph that takes a second or more. */
const SLOW: IndexSpec = {
  kind: 'vector',
  type: 'IVF_HNSW_SQ',
  distanceType: undefined,
  partitions: 1,
  targetPartitionSize: undefined,
  subVectors: undefined,
  bits: undefined,
  sampleRate: undefined,
  maxIterations: undefined,
  m: 48,
  efConstruction: 500,
};

function request(column: string, spec: IndexSpec, name = `${column}_idx`): IndexRequest {
  return { column: [column], name, replace: true, spec };
}

function toVectors(rows: number): Table {
  const ids = Array.from({ length: rows }, (_, index) => index);
  const vectors = ids.map((id) => Array.from({ length: 32 }, (_, index) => Math.sin(id * 13 + index * 7)));
  return toTable({ id: [new Int32(), ids], vec: [vectorType(32), vectors] });
}

/** Resolves when the engine has begun to build. */
function phases() {
  let begin = (): void => {};
  const isBuilding = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const entered: string[] = [];
  const enter = (phase: string): void => {
    entered.push(phase);
    if (phase === 'building') begin();
  };
  return { enter, entered, isBuilding };
}

suite('a build', () => {
  test('lets every kind of write through, keeps them all, and is usable afterwards', async (t) => {
    const { engine, table } = await openTable(t, toVectors(4000));
    const { enter, isBuilding } = phases();
    const build = engine.indexes.build(table, request('vec', SLOW), enter);
    await isBuilding;
    const assignments = [{ path: ['id'] as const, expression: sql('id + 100000') }];
    await engine.updateRows(table, { assignments, predicate: sql('id < 10') });
    await engine.columns.add(table, [{ kind: 'calculated', name: 'more', expression: sql('id * 2') }], 100);
    await engine.indexes.build(table, request('id', BTREE), () => {});
    await engine.updateFieldMetadata(table, [{ path: ['id'], metadata: { unit: 'one' }, replace: false }]);
    const { version } = await build;

    const indexes = await engine.indexes.list(table);
    assert.deepEqual(
      indexes.map(({ name, unindexedRows }) => [name, unindexedRows]),
      [
        ['id_idx', 0],
        ['vec_idx', 10],
      ],
    );
    const apart = await openApart(t, table);
    assert.equal(await apart.version(), version);
    assert.equal(await apart.countRows(), 4000);
    const { schema } = await engine.describeTable(table);
    assert.deepEqual(
      schema.fields.map(({ name }) => name),
      ['id', 'vec', 'more'],
    );
    assert.equal(schema.fields[0]?.metadata.get('unit'), 'one');
  });

  test('begins again when its table is overwritten', async (t) => {
    const { engine, table } = await openTable(t, toVectors(3000));
    const { enter, entered, isBuilding } = phases();
    const build = engine.indexes.build(table, request('vec', SLOW), enter);
    await isBuilding;
    const hold = { hold: async () => {}, release: async () => {}, storageOptions: {} };
    await engine.overwriteTable(table.place, await toStream(toVectors(300)), hold);
    await build;
    assert.deepEqual(entered, ['opening', 'building', 'opening', 'building']);
    assert.equal((await engine.indexes.list(table))[0]?.indexedRows, 300);
  });

  test('stops before its next phase when it is told to', async (t) => {
    const { engine, table } = await openTable(t, toDocuments(10));
    const stop = new Error('enough');
    const build = engine.indexes.build(table, request('id', BTREE), (phase) => {
      if (phase === 'building') throw stop;
    });
    await assert.rejects(build, stop);
    assert.deepEqual(await engine.indexes.list(table), []);
  });

  test('leaves nothing behind when its table is removed meanwhile', async (t) => {
    const { engine, table } = await openTable(t, toVectors(3000));
    const { enter, isBuilding } = phases();
    const build = engine.indexes.build(table, request('vec', SLOW), enter).then(
      () => undefined,
      (error: unknown) => error,
    );
    await isBuilding;
    await engine.removeTable(table.place);
    const failure = await build;
    assert.ok(failure === undefined || failure instanceof ServiceError);
    assert.equal(await isThere(placeLocation(table.place)), false);
  });
});

async function isThere(folder: string): Promise<boolean> {
  return access(folder).then(
    () => true,
    () => false,
  );
}

suite('indexes', () => {
  test('of a version are those that it had', async (t) => {
    const { engine, table } = await openTable(t, toDocuments(10));
    const { version } = await engine.indexes.build(table, request('id', BTREE), () => {});
    await engine.indexes.drop(table, 'id_idx');
    assert.equal((await engine.indexes.list({ ...table, version })).length, 1);
    assert.equal(await engine.indexes.findStatistics(table, 'id_idx'), undefined);
    assert.equal((await engine.indexes.findStatistics({ ...table, version }, 'id_idx'))?.indexedRows, 10);
  });

  test('are seen by the next reader as soon as they are built', async (t) => {
    const { engine, table } = await openTable(t, toDocuments(10));
    for (let round = 0; round < 5; round += 1) {
      await engine.indexes.build(table, request('id', BTREE, `i${round}`), () => {});
      assert.equal((await engine.indexes.list(table)).length, round + 1);
    }
  });
});
