import assert from 'node:assert/strict';
import { access, readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestContext } from 'node:test';
import { Int32 } from 'apache-arrow';
import type { Table } from 'apache-arrow';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { IndexRequest, IndexSpec } from '../../src/model/index-spec.ts';
import { locationUri } from '../../src/model/table.ts';
import type { TableState } from '../../src/model/table.ts';
import { notUndoneYet } from '../../src/writes/refusals.ts';
import { openApart, readRows } from '../engine/test-engine.ts';
import { toDocuments, toItems, toTable, vectorType } from '../engine/sample-tables.ts';
import { watchCommits } from '../engine/watched-native.ts';
import { refusal } from '../support/refusal.ts';
import { openWriteFixture } from './write-fixture.ts';
import type { WriteFixture } from './write-fixture.ts';

async function openTable(t: TestContext, data: Table) {
  const fixture = await openWriteFixture(t);
  return { fixture, engine: fixture.engine, background: fixture.writes.background, table: await fixture.create(data) };
}

const BTREE: IndexSpec = { kind: 'scalar', type: 'BTREE' };

function request(column: string, spec: IndexSpec, name = `${column}_idx`): IndexRequest {
  return { column: [column], name, replace: true, spec };
}

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
  test('beside a write that has yet to be undone is refused, whether that failed before or meanwhile', async (t) => {
    const { background, table } = await openTable(t, toVectors(10));
    const undo = { isPending: true };
    const requireUndone = (): void => {
      if (undo.isPending) throw notUndoneYet();
    };
    const guard = { requireUndone, outlastOthers: async () => {} };
    const refused = refusal('ServiceUnavailable', /not been rolled back/);
    await assert.rejects(
      background.buildIndex(table, request('id', BTREE), () => {}, guard),
      refused,
    );
    undo.isPending = false;
    const fail = (phase: string): void => void (undo.isPending = phase === 'building');
    await assert.rejects(background.buildIndex(table, request('id', BTREE), fail, guard), refused);
  });

  test('lets every kind of write through, keeps them all, and is usable afterwards', async (t) => {
    const { fixture, engine, background, table } = await openTable(t, toVectors(4000));
    const { enter, isBuilding } = phases();
    const build = background.buildIndex(table, request('vec', SLOW), enter);
    await isBuilding;
    await fixture.update([['id', 'id + 100000']], 'id < 10');
    await fixture.addColumn('more', 'id * 2');
    await background.buildIndex(table, request('id', BTREE), () => {});
    await fixture.fieldMetadata([{ path: ['id'], metadata: { unit: 'one' }, replace: false }]);
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
    // The build may end before the writes that began after it.
    assert.ok((await apart.version()) >= version);
    assert.equal(await apart.countRows(), 4000);
    const { schema } = await engine.describeTable(table);
    assert.deepEqual(
      schema.fields.map(({ name }) => name),
      ['id', 'vec', 'more'],
    );
    assert.equal(schema.fields[0]?.metadata.get('unit'), 'one');
  });

  test('begins again when its table is overwritten', async (t) => {
    const { fixture, engine, background, table } = await openTable(t, toVectors(3000));
    const { enter, entered, isBuilding } = phases();
    const build = background.buildIndex(table, request('vec', SLOW), enter);
    await isBuilding;
    await fixture.insert(toVectors(300), { mode: 'overwrite' });
    await build;
    assert.deepEqual(entered, ['opening', 'building', 'opening', 'building']);
    assert.equal((await engine.indexes.list(table))[0]?.indexedRows, 300);
  });

  test('stops before its next phase when requested', async (t) => {
    const { engine, background, table } = await openTable(t, toDocuments(10));
    const stop = new Error('enough');
    const build = background.buildIndex(table, request('id', BTREE), (phase) => {
      if (phase === 'building') throw stop;
    });
    await assert.rejects(build, stop);
    assert.deepEqual(await engine.indexes.list(table), []);
  });

  test('leaves nothing behind when its table is removed meanwhile', async (t) => {
    const { fixture, background, table } = await openTable(t, toVectors(3000));
    const { enter, isBuilding } = phases();
    const build = background.buildIndex(table, request('vec', SLOW), enter).then(
      () => undefined,
      (error: unknown) => error,
    );
    await isBuilding;
    await fixture.writes.removeTable(table.location);
    const failure = await build;
    assert.ok(failure === undefined || failure instanceof ServiceError);
    assert.equal(await isThere(locationUri(table.location)), false);
  });
});

async function isThere(folder: string): Promise<boolean> {
  return access(folder).then(
    () => true,
    () => false,
  );
}

suite('compaction', () => {
  test('is refused in its turn while a write has yet to be undone', async (t) => {
    const { fixture, background, table } = await openTable(t, toVectors(10));
    await fixture.update([['id', 'id + 1']], 'id = 1');
    const version = await fixture.version();
    const requireUndone = async (): Promise<never> => Promise.reject(notUndoneYet());
    const request = { blocksWriters: true, cutoff: Infinity };
    await assert.rejects(
      background.optimize(table.location, request, requireUndone),
      refusal('ServiceUnavailable', /not been rolled back/),
    );
    assert.equal(await fixture.version(), version);
  });

  test('lets writers beside it succeed; it is done or, when one was faster, not done at all', async (t) => {
    const { fixture, background, table } = await openTable(t, toItems(50));
    const increment = async (id: number) => fixture.update([['score', 'score + 1']], `id = ${id}`);
    for (const blocksWriters of [true, false]) {
      for (let id = 0; id < 10; id += 1) await increment(id);
      const writes = Array.from({ length: 20 }, async (_, turn) => increment(turn % 4));
      const done = await background.optimize(table.location, { blocksWriters, cutoff: undefined });
      await Promise.all(writes);
      if (blocksWriters) assert.ok(done !== undefined && done.fragmentsRemoved > 0);
    }
    for (const { id, score } of await readRows(t, table)) {
      const grown = Number(id) >= 10 ? 0 : 2 + (Number(id) < 4 ? 10 : 0);
      assert.equal(score, 1 + grown, `row ${String(id)}`);
    }
  });

  test('and appends beside it are both done', async (t) => {
    const { fixture, background, table } = await openTable(t, toItems(50));
    for (let turn = 0; turn < 10; turn += 1) await fixture.insert(toItems(1));
    const appends = Array.from({ length: 20 }, async () => fixture.insert(toItems(1)));
    const done = await background.optimize(table.location, { blocksWriters: false, cutoff: undefined });
    const results = await Promise.all(appends);
    assert.ok(done !== undefined && done.fragmentsRemoved > 0);
    assert.ok(results.every(({ kind }) => kind === 'committed'));
    assert.equal((await readRows(t, table)).length, 80);
  });

  /** Commits only where others leave it time, as a compaction does that has many versions to catch up with. */
  function slowCompaction() {
    let addedAt = performance.now();
    return watchCommits(async (call, name) => {
      const givesUpAt = performance.now() + 10_000;
      while (name === 'optimize' && performance.now() - addedAt < 150) {
        if (performance.now() > givesUpAt) throw new Error('Too many concurrent writers');
        await sleep(10);
      }
      const reply = await call();
      if (name === 'add') addedAt = performance.now();
      return reply;
    });
  }

  test('is done beside a writer that appends without a pause, and that loses nothing', async (t) => {
    const fixture = await openWriteFixture(t, { native: slowCompaction() });
    const table = await fixture.create(toItems(50));
    let [isOver, appended] = [false, 0];
    const append = async (): Promise<void> => {
      for (; !isOver; appended += 1) await fixture.insert(toItems(1));
    };
    // Enough fragments to merge, however late the writer starts.
    for (; appended < 3; appended += 1) await fixture.insert(toItems(1));
    const writer = append();
    const { background } = fixture.writes;
    const request = { blocksWriters: false, pausesWriters: true, cutoff: undefined };
    const done = await background.optimize(table.location, request);
    isOver = true;
    await writer;
    assert.ok(done !== undefined && done.fragmentsRemoved > 0 && done.laneMilliseconds > 0);
    assert.equal((await readRows(t, table)).length, 50 + appended);
  });

  test('that the engine gives up because of other writers is not done', async (t) => {
    const native = watchCommits(async (call, name) => {
      if (name === 'optimize') throw new Error('Too many concurrent writers');
      return call();
    });
    const fixture = await openWriteFixture(t, { native });
    const table = await fixture.create(toItems(50));
    const { background } = fixture.writes;
    const done = await background.optimize(table.location, { blocksWriters: true, cutoff: undefined });
    assert.equal(done, undefined);
  });

  test('reports how long it kept writers waiting', async (t) => {
    const { fixture, background, table } = await openTable(t, toItems(50));
    await fixture.update([['score', '2']], 'id = 1');
    const done = await background.optimize(table.location, { blocksWriters: true, cutoff: undefined });
    assert.ok(done !== undefined && done.laneMilliseconds > 0);
  });
});

suite('a commit of maintenance whose files were cut short', () => {
  const truncateIndexes = async (fixture: WriteFixture): Promise<void> => {
    const folder = join(locationUri(fixture.location()), '_indices');
    for (const name of await readdir(folder, { recursive: true })) {
      if (name.endsWith('.lance')) await truncate(join(folder, name), 100);
    }
  };
  /** Cuts the files of an index right after its commit. */
  const openCutting = async (t: TestContext, afterwards: (fixture: WriteFixture) => Promise<unknown>) => {
    let opened: WriteFixture | undefined;
    const native = watchCommits(async (call, name) => {
      const reply = await call();
      if (name !== 'createIndex' || opened === undefined) return reply;
      await truncateIndexes(opened);
      await afterwards(opened);
      return reply;
    });
    const fixture = (opened = await openWriteFixture(t, { native }));
    return { fixture, table: await fixture.create(toItems(50)) };
  };
  const build = async (fixture: WriteFixture, table: TableState) =>
    assert.rejects(
      fixture.writes.background.buildIndex(table, request('id', BTREE), () => {}),
      refusal('ServiceUnavailable', /did not store the data/),
    );

  test('is reverted', async (t) => {
    const { fixture, table } = await openCutting(t, async () => {});
    await build(fixture, table);
    assert.deepEqual(await fixture.engine.indexes.list(table), []);
    assert.deepEqual([await fixture.version(), (await readRows(t, table)).length], [3, 50]);
  });

  test('costs none of the writes that followed it: its index is dropped', async (t) => {
    const { fixture, table } = await openCutting(t, async (fixture) => fixture.insert(toItems(5)));
    await build(fixture, table);
    assert.deepEqual(await fixture.engine.indexes.list(table), []);
    assert.equal((await readRows(t, table)).length, 55);
  });
});
