import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine, UpdateRequest, WriteTarget } from '../../../src/engine/engine.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import {
  commitPlan,
  connectApart,
  ENGINE_LIMITS,
  latest,
  openApart,
  openFixture,
  openTestEngine,
  openTable,
  readRows,
  sql,
  toQuery,
  toStream,
} from '../test-engine.ts';
import { toItems } from '../sample-tables.ts';

/** Longer than it takes for the time stamp of a folder to count as proof. */
const SETTLE_MILLISECONDS = 150;

async function update(engine: Engine, target: WriteTarget, request: UpdateRequest) {
  return commitPlan(engine, target, engine.commits.update(target, request));
}

test('reads see every write of another process at once', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  const apart = await openApart(t, table);
  for (let round = 0; round < 50; round += 1) {
    // Some writes come while the last stamp still counts as proof, some right after another write.
    if (round % 10 === 0) await sleep(SETTLE_MILLISECONDS);
    await engine.describeTable(table);
    const { version } = await apart.update('id = 1', [['score', 'score + 1']]);
    assert.equal((await engine.describeTable(table)).version, version);
  }
});

test('concurrent reads beside another writer never go back', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  const apart = await openApart(t, table);
  const writer = { acknowledged: 1, isWriting: true };
  const read = async (): Promise<void> => {
    while (writer.isWriting) {
      const atLeast = writer.acknowledged;
      const { version } = await engine.describeTable(table);
      assert.ok(version >= atLeast, `read version ${version} after ${atLeast} was acknowledged`);
    }
  };
  const write = async (): Promise<void> => {
    for (let round = 0; round < 40; round += 1) {
      writer.acknowledged = (await apart.update('id = 1', [['score', 'score + 1']])).version;
    }
    writer.isWriting = false;
  };
  await Promise.all([write(), read(), read(), read()]);
});

test('sees a schema that another process changed', async (t) => {
  const { engine, location, table } = await openTable(t, toItems(3));
  await engine.describeTable(table);
  const connection = await connectApart(t, location().root);
  const { file } = (await (await openFixture('plain')).chunks[Symbol.asyncIterator]().next()).value ?? {};
  assert.ok(file !== undefined);
  await connection.createTable(location().directory, file, 'overwrite', [], {});
  const { schema } = await engine.describeTable(table);
  assert.deepEqual(
    schema.fields.map((field) => field.name),
    ['id', 's', 'vec'],
  );
  await assert.rejects(
    update(
      engine,
      { location: location(), branch: undefined },
      { assignments: [{ path: ['score'], expression: sql('2') }], predicate: undefined },
    ),
    (error) => error instanceof ServiceError && error.kind === 'TableColumnNotFound',
  );
});

test('sees a table that another process dropped and created again', async (t) => {
  const { engine, location, table } = await openTable(t, toItems(3));
  await engine.analyzeQuery(table, toQuery({}));
  await sleep(SETTLE_MILLISECONDS);
  await engine.analyzeQuery(table, toQuery({}));
  const connection = await connectApart(t, location().root);
  await connection.dropTable(location().directory, []);
  const { file } = (await (await openFixture('plain')).chunks[Symbol.asyncIterator]().next()).value ?? {};
  assert.ok(file !== undefined);
  await connection.createTable(location().directory, file, 'create', [], {});
  const { version, schema } = await engine.describeTable(table);
  assert.equal(version, 1);
  assert.equal(schema.fields.at(-1)?.name, 'vec');
  const request = { assignments: [{ path: ['s'] as const, expression: sql("'x'") }], predicate: undefined };
  assert.equal((await update(engine, { location: location(), branch: undefined }, request)).rowsUpdated, 50);
  assert.equal((await readRows(t, table)).length, 50);
});

test('sees a table that another process created again with fewer versions', async (t) => {
  const { engine, location, table } = await openTable(t, toItems(3));
  const target = { location: location(), branch: undefined };
  const request = { assignments: [{ path: ['score'] as const, expression: sql('2') }], predicate: undefined };
  for (let round = 0; round < 5; round += 1) await update(engine, target, request);
  const connection = await connectApart(t, location().root);
  await connection.dropTable(location().directory, []);
  const { file } = (await (await toStream(toItems(7))).chunks[Symbol.asyncIterator]().next()).value ?? {};
  assert.ok(file !== undefined);
  await connection.createTable(location().directory, file, 'create', [], {});
  assert.equal((await engine.describeTable(table)).version, 1);
  assert.deepEqual(await update(engine, target, request), { rowsUpdated: 7, version: 2 });
  assert.equal((await readRows(t, table)).length, 7);
});

test('says that the table is gone when another process removed it', async (t) => {
  const { engine, location, table } = await openTable(t, toItems(3));
  await engine.describeTable(table);
  const connection = await connectApart(t, location().root);
  await connection.dropTable(location().directory, []);
  await assert.rejects(
    engine.describeTable(table),
    (error) => error instanceof ServiceError && error.kind === 'TableNotFound',
  );
});

test('a pinned version does not change during writes to the latest', async (t) => {
  const { engine, location, table } = await openTable(t, toItems(3));
  const pinned = { ...table, version: 1 };
  const increment = { assignments: [{ path: ['score'] as const, expression: sql('score + 1') }], predicate: undefined };
  const reads = async (): Promise<void> => {
    for (let round = 0; round < 20; round += 1) assert.equal((await engine.describeTable(pinned)).version, 1);
  };
  const writes = async (): Promise<void> => {
    for (let round = 0; round < 20; round += 1) {
      const { version } = await update(engine, { location: location(), branch: undefined }, increment);
      assert.equal((await engine.describeTable(table)).version, version);
    }
  };
  await Promise.all([reads(), reads(), writes()]);
});

test('a branch has separate versions and does not change main', async (t) => {
  const { engine, location, table } = await openTable(t, toItems(3));
  const apart = await openApart(t, table);
  await (await apart.branches()).create('trial');
  const branch = { ...table, branch: 'trial' };
  const request = { assignments: [{ path: ['score'] as const, expression: sql('9') }], predicate: undefined };
  const { version } = await update(engine, { location: location(), branch: 'trial' }, request);
  assert.equal((await engine.describeTable(branch)).version, version);
  assert.equal((await engine.describeTable(table)).version, 1);
  assert.deepEqual(
    (await readRows(t, branch)).map((row) => row['score']),
    [9, 9, 9],
  );
  assert.deepEqual(
    (await readRows(t, table)).map((row) => row['score']),
    [1, 1, 1],
  );
  await engine.analyzeQuery({ ...branch, version }, toQuery({}));
});

for (const [title, change, kind] of [
  ['a version that is not there', { version: 99 }, 'TableVersionNotFound'],
  ['version 0', { version: 0 }, 'TableVersionNotFound'],
  ['a branch that is not there', { branch: 'nowhere' }, 'TableBranchNotFound'],
  ['a branch name that leads elsewhere', { branch: '../../x' }, 'InvalidInput'],
] as const) {
  test(`refuses ${title}`, async (t) => {
    const { engine, table } = await openTable(t, toItems(3));
    await assert.rejects(
      engine.describeTable({ ...table, ...change }),
      (error) => error instanceof ServiceError && error.kind === kind && !error.message.includes('tiltyard-engine-'),
    );
  });
}

test('refuses a table without data', async (t) => {
  const { engine, location } = await openTestEngine(t);
  await assert.rejects(
    engine.describeTable(latest(location())),
    (error) => error instanceof ServiceError && error.kind === 'TableNotFound',
  );
});

test('serves more tables than it keeps open, concurrently', async (t) => {
  const { engine, location } = await openTestEngine(t, { limits: { ...ENGINE_LIMITS, openTablesMax: 2 } });
  const names = ['a', 'b', 'c', 'd', 'e'];
  for (const name of names) await engine.createTable(location(name), await toStream(toItems(3)), {});
  const use = async (name: string): Promise<void> => {
    for (let round = 0; round < 10; round += 1) {
      await engine.analyzeQuery(latest(location(name)), toQuery({ filter: sql('id = 1') }));
      const request = { assignments: [{ path: ['score'] as const, expression: sql('2') }], predicate: sql('id = 1') };
      await update(engine, { location: location(name), branch: undefined }, request);
    }
  };
  await Promise.all([...names, ...names].map(use));
  for (const name of names) assert.equal((await engine.describeTable(latest(location(name)))).version, 21);
});

test('readers of a recorded version get the current table, not an earlier one in its place', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  const apart = await connectApart(t, table.location.root);
  const former = await apart.openTable(table.location.directory, [], {});
  const file = await former.query().execute(10, -1);
  for (let round = 0; round < 3; round += 1) await former.update('id = 1', [['score', 'score + 1']]);
  const recorded = (tableId: string, version: number) => ({ ...table, recorded: { tableId, version } });
  assert.equal((await engine.describeTable(recorded('former', 4))).version, 4);
  // Another node does this: nothing tells this one to close its handle.
  const rows = await file.next();
  assert.ok(rows !== null);
  await apart.dropTable(table.location.directory, []);
  await apart.createTable(table.location.directory, rows, 'create', [], {});
  assert.equal((await engine.describeTable(recorded('present', 1))).version, 1);
});
