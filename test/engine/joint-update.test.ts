import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Float64, Int32, Schema, Struct, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';
import { openParts } from '../../src/engine/parts.ts';
import { updateRows } from '../../src/engine/update-rows.ts';
import type { UpdateOutcome } from '../../src/engine/update-rows.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { EngineLimits } from '../../src/model/limits.ts';
import { ENGINE_LIMITS, openApart, openTable, readRows, sql } from './engine-room.ts';
import { optional, required, toItems, toPeople, toTable } from './sample-tables.ts';
import { watchUpdates } from './watched-native.ts';
import type { AroundUpdate } from './watched-native.ts';

/** Updates of a table that all wait behind one that is running, and then have their turn. */
async function openCrowd(t: TestContext, table: Table, around?: AroundUpdate, limits: Partial<EngineLimits> = {}) {
  const room = await openTable(t, table);
  const settings = { storageOptions: {}, querySeconds: 30, spoolFolder: room.root, storages: room.storages };
  const native = watchUpdates(around ?? (async (update) => update()));
  const parts = openParts(native, { ...settings, limits: { ...ENGINE_LIMITS, ...limits } });
  t.after(async () => {
    await parts.tables.close();
    await parts.connections.close();
  });
  const target = { place: room.place(), branch: undefined };
  const update = async (predicate: string, column: string, expression: string): Promise<UpdateOutcome> =>
    updateRows(parts, target, {
      assignments: [{ path: [column], expression: sql(expression) }],
      predicate: sql(predicate),
    });
  return {
    ...room,
    parts,
    target,
    update,
    rows: async () => (await readRows(t, room.table)).toSorted((one, other) => Number(one['id']) - Number(other['id'])),
    /** Answers in the order of the requests; what is refused is its kind. */
    together: async (updates: readonly (readonly [predicate: string, column: string, expression: string])[]) => {
      const free = parts.lanes.run(target.place, async () => new Promise(setImmediate));
      const answers = await Promise.allSettled(updates.map(async (each) => update(...each)));
      await free;
      return answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : kindOf(answer.reason)));
    },
  };
}

function kindOf(error: unknown): string {
  assert.ok(error instanceof ServiceError, String(error));
  return error.kind;
}

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

test('runs updates of different rows as one, each with its own count and all with one version', async (t) => {
  const table = toTable({ id: [new Int32(), [1, 2, 2, 3, null]], n: [new Int32(), [0, 0, 0, 0, 0]] });
  const { together, rows } = await openCrowd(t, table);
  const answers = await together([1, 2, 9, 3].map((id) => [`id = ${id}`, 'n', 'n + 1'] as const));
  assert.deepEqual(answers, [
    { rowsUpdated: 1, version: 2 },
    { rowsUpdated: 2, version: 2 },
    { rowsUpdated: 0, version: 2 },
    { rowsUpdated: 1, version: 2 },
  ]);
  assert.deepEqual(
    (await rows()).map((row) => row['n']),
    [0, 1, 1, 1, 1],
  );
});

test('writes to each row the value of its own update', async (t) => {
  const { together, rows } = await openCrowd(t, toItems(4));
  const names = ["'it''s'", "''", "'c'", "'ü 😀'"];
  const answers = await together(names.map((name, id) => [`id = ${id}`, 'name', name] as const));
  assert.deepEqual(new Set(answers.map((answer) => Object(answer).version)), new Set([2]));
  assert.deepEqual(
    (await rows()).map((row) => row['name']),
    ["it's", '', 'c', 'ü 😀'],
  );
});

test('writes to a column that may not be null', async (t) => {
  const schema = new Schema([required('id', new Int32()), required('x', new Float64())]);
  const columns = { id: vectorFromArray([1, 2], new Int32()), x: vectorFromArray([0, 0], new Float64()) };
  const { together, rows } = await openCrowd(t, new Table(schema, columns));
  await together([
    ['id = 1', 'x', '1.5'],
    ['id = 2', 'x', '-7'],
  ]);
  assert.deepEqual(await rows(), [
    { id: 1, x: 1.5 },
    { id: 2, x: -7 },
  ]);
});

test('keeps the order of updates of one row', async (t) => {
  const { together, rows } = await openCrowd(t, toItems(2));
  const answers = await together([
    ['id = 0', 'score', 'score + 1'],
    ['id = 1', 'score', 'score + 1'],
    ['id = 0', 'score', 'score * 10'],
    ['id = 1', 'score', 'score * 10'],
  ]);
  assert.deepEqual(
    answers.map((answer) => Object(answer).version),
    [2, 2, 3, 3],
  );
  assert.deepEqual(
    (await rows()).map((row) => row['score']),
    [20, 20],
  );
});

test('gives a fault to the update that has it, and to no other', async (t) => {
  const { together, rows } = await openCrowd(t, toItems(6));
  const answers = await together(
    range(6).map((id) => [`id = ${id}`, 'name', id === 3 ? "CAST(1 / 0 AS STRING) || 'x'" : "name || '!'"] as const),
  );
  assert.deepEqual(
    answers.map((answer) => (typeof answer === 'string' ? answer : answer.rowsUpdated)),
    [1, 1, 1, 'InvalidInput', 1, 1],
  );
  assert.deepEqual(
    (await rows()).map((row) => row['name']),
    ['item 0!', 'item 1!', 'item 2!', 'item 3', 'item 4!', 'item 5!'],
  );
});

test('gives a fault of one row to its update alone, though all have the same expression', async (t) => {
  const { together, rows } = await openCrowd(t, toItems(8));
  const answers = await together(range(8).map((id) => [`id = ${id}`, 'score', '12 / (id - 5)'] as const));
  assert.deepEqual(
    answers.map((answer) => (typeof answer === 'string' ? answer : answer.rowsUpdated)),
    [1, 1, 1, 1, 1, 'InvalidInput', 1, 1],
  );
  assert.deepEqual(
    (await rows()).map((row) => row['score']),
    [-2, -3, -4, -6, -12, 1, 12, 6],
  );
});

test('refuses all of them when the column is not there', async (t) => {
  const { together, engine, table } = await openCrowd(t, toItems(2));
  const answers = await together(range(3).map((id) => [`id = ${id}`, 'nope', '1'] as const));
  assert.deepEqual(new Set(answers), new Set(['TableColumnNotFound']));
  assert.equal((await engine.describeTable(table)).version, 1);
});

test('keeps null structs null', async (t) => {
  const { together, rows } = await openCrowd(t, toPeople(11));
  await together([0, 5, 7, 10].map((id) => [`id = ${id}`, 'note', `'seen ${id}'`] as const));
  for (const { id, note, person } of await rows()) {
    assert.equal(person === null, Number(id) % 5 === 0, `person of ${String(id)}`);
    assert.equal(note, [0, 5, 7, 10].includes(Number(id)) ? `seen ${String(id)}` : `note ${String(id)}`);
  }
});

test('runs updates of many rows one after the other', async (t) => {
  const ids = range(2600).map((index) => Math.floor(index / 1300));
  const { together } = await openCrowd(t, toTable({ id: [new Int32(), ids], n: [new Int32(), ids.map(() => 0)] }));
  assert.deepEqual(await together(range(2).map((id) => [`id = ${id}`, 'n', 'n + 1'] as const)), [
    { rowsUpdated: 1300, version: 2 },
    { rowsUpdated: 1300, version: 3 },
  ]);
});

test('runs no more together than the limit says, and none when it is one', async (t) => {
  for (const [updateGroupMax, versions] of [
    [2, [2, 2, 3, 3, 4]],
    [1, [2, 3, 4, 5, 6]],
  ] as const) {
    const { together } = await openCrowd(t, toItems(5), undefined, { updateGroupMax });
    const answers = await together(range(5).map((id) => [`id = ${id}`, 'score', '2'] as const));
    assert.deepEqual(
      answers.map((answer) => Object(answer).version),
      versions,
    );
  }
});

test('keeps updates of branches and of the main branch apart', async (t) => {
  const { parts, target, rows, table } = await openCrowd(t, toItems(4));
  await (await (await openApart(t, table)).branches()).create('side');
  const free = parts.lanes.run(target.place, async () => new Promise(setImmediate));
  const answers = await Promise.all(
    range(4).map(async (id) =>
      updateRows(
        parts,
        { ...target, branch: id < 2 ? 'side' : undefined },
        { assignments: [{ path: ['name'], expression: sql("'new'") }], predicate: sql(`id = ${id}`) },
      ),
    ),
  );
  await free;
  assert.deepEqual(
    answers.map(({ rowsUpdated }) => rowsUpdated),
    [1, 1, 1, 1],
  );
  assert.deepEqual(
    (await rows()).map((row) => row['name']),
    ['item 0', 'item 1', 'new', 'new'],
  );
  const side = await readRows(t, { ...table, branch: 'side' });
  assert.deepEqual(
    side.filter((row) => row['name'] === 'new').map((row) => row['id']),
    [0, 1],
  );
});

test('counts the rows that were really updated when another process writes in between', async (t) => {
  const table = toTable({ id: [new Int32(), [1, 2, 2, 3]], n: [new Int32(), [0, 0, 0, 0]] });
  const more = tableToIPC(toTable({ id: [new Int32(), [1, 3, 3]], n: [new Int32(), [0, 0, 0]] }), 'file');
  let rival: (() => Promise<unknown>) | undefined;
  const {
    together,
    rows,
    table: state,
  } = await openCrowd(t, table, async (update) => {
    await rival?.();
    return update();
  });
  const apart = await openApart(t, state);
  rival = async () => {
    rival = undefined;
    await apart.add(Buffer.from(more), 'append');
    await apart.update('id = 2', [['n', 'n + 100']]);
  };
  const answers = await together([1, 2, 3].map((id) => [`id = ${id}`, 'n', 'n + 1'] as const));
  const sums = new Map<unknown, number>();
  for (const { id, n } of await rows()) sums.set(id, (sums.get(id) ?? 0) + (Number(n) % 100));
  assert.deepEqual(
    answers.map((answer) => Object(answer).rowsUpdated),
    [1, 2, 3].map((id) => sums.get(id)),
  );
  assert.deepEqual(new Set(answers.map((answer) => Object(answer).version)), new Set([4]));
});

test('does not run updates again whose answer was lost after the commit', async (t) => {
  let isLost = true;
  const { together, rows } = await openCrowd(t, toItems(3), async (update) => {
    const answer = await update();
    if (!isLost) return answer;
    isLost = false;
    throw new Error('the answer is lost');
  });
  const answers = await together(range(3).map((id) => [`id = ${id}`, 'score', 'score + 1'] as const));
  assert.deepEqual(answers, ['Internal', 'Internal', 'Internal']);
  assert.deepEqual(
    (await rows()).map((row) => row['score']),
    [2, 2, 2],
  );
});

test('runs updates one by one that failed together before the commit', async (t) => {
  let calls = 0;
  const { together, rows } = await openCrowd(t, toItems(3), async (update) => {
    calls += 1;
    if (calls === 1) throw new Error('something broke');
    return update();
  });
  const answers = await together(range(3).map((id) => [`id = ${id}`, 'score', 'score + 1'] as const));
  assert.deepEqual(
    answers.map((answer) => Object(answer).rowsUpdated),
    [1, 1, 1],
  );
  assert.deepEqual(
    (await rows()).map((row) => row['score']),
    [2, 2, 2],
  );
});

test('reads the rows that an update of the group has acknowledged', async (t) => {
  const inner = new Struct([optional('a', new Utf8())]);
  const table = toTable({ id: [new Int32(), [1, 2]], s: [inner, [null, { a: 'x' }]], n: [new Int32(), [0, 0]] });
  const { together, parts, target } = await openCrowd(t, table);
  await together([1, 2].map((id) => [`id = ${id}`, 'n', '5'] as const));
  const version = await parts.tables.use({ ...target, version: undefined }, async ({ native }) => native.version());
  assert.equal(version, 2);
});
