import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Float64, Int32, Schema, Struct, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';
import type { SucceededWrite } from '../../../src/writes/writes.ts';
import { openApart, readRows } from '../../engine/test-engine.ts';
import { optional, required, toItems, toPeople, toTable } from '../../engine/sample-tables.ts';
import { watchCommits } from '../../engine/watched-native.ts';
import { eventually } from '../../support/eventually.ts';
import { kindOf } from '../../support/refusal.ts';
import { openWriteFixture } from '../write-fixture.ts';
import type { WriteFixtureSettings } from '../write-fixture.ts';

type Update = readonly [predicate: string, column: string, expression: string];

/** Updates of a table that all wait behind a write that is running, and then have their turn. */
async function openCrowd(t: TestContext, data: Table, settings: WriteFixtureSettings = {}) {
  const fixture = await openWriteFixture(t, settings);
  const table = await fixture.create(data);
  const update = async ([predicate, column, expression]: Update, branch?: string): Promise<SucceededWrite> =>
    fixture.update([[column, expression]], predicate, branch === undefined ? {} : { branch });
  return {
    fixture,
    table,
    update,
    rows: async () => (await readRows(t, table)).toSorted((one, other) => Number(one['id']) - Number(other['id'])),
    /** Outcomes in the order of the requests; what is refused is its kind. */
    together: async (updates: readonly Update[]) => {
      const results = await fixture.behindWrite(updates.map((each) => async () => update(each)));
      return results.map((result) => (result.status === 'fulfilled' ? toOutcome(result.value) : kindOf(result.reason)));
    },
  };
}

function toOutcome({ version, fields }: SucceededWrite) {
  return { rowsUpdated: fields['updated_rows'], version };
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

test('writes the value of each update to its row', async (t) => {
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

test('runs the same sum of the same row as one, as often as it was asked for', async (t) => {
  const { together, rows } = await openCrowd(t, toItems(2));
  const answers = await together(range(20).map(() => ['id = 0', 'score', 'score + 1'] as const));
  // More than sixteen are not nested into one expression.
  assert.deepEqual(
    answers.map((answer) => (typeof answer === 'string' ? answer : [answer.rowsUpdated, answer.version])),
    range(20).map((index) => [1, index < 16 ? 2 : 3]),
  );
  assert.deepEqual(
    (await rows()).map((row) => row['score']),
    [21, 1],
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
  const { together, fixture } = await openCrowd(t, toItems(2));
  const answers = await together(range(3).map((id) => [`id = ${id}`, 'nope', '1'] as const));
  assert.deepEqual(new Set(answers), new Set(['TableColumnNotFound']));
  assert.equal(await fixture.version(), 1);
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
    const { together } = await openCrowd(t, toItems(5), { limits: { updateGroupMax } });
    const answers = await together(range(5).map((id) => [`id = ${id}`, 'score', '2'] as const));
    assert.deepEqual(
      answers.map((answer) => Object(answer).version),
      versions,
    );
  }
});

test('keeps updates of branches and of the main branch apart', async (t) => {
  const { fixture, update, rows, table } = await openCrowd(t, toItems(4));
  await fixture.engine.versions.createBranch(table, 'side');
  const results = await fixture.behindWrite(
    range(4).map((id) => async () => update([`id = ${id}`, 'name', "'new'"], id < 2 ? 'side' : undefined)),
  );
  for (const result of results) assert.equal(result.status, 'fulfilled');
  assert.deepEqual(fixture.batches, [2, 2]);
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
  const native = watchCommits(async (call) => {
    await rival?.();
    return call();
  });
  const { together, rows, table: state } = await openCrowd(t, table, { native });
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

test('runs updates one by one that failed together before the commit', async (t) => {
  let calls = 0;
  const native = watchCommits(async (call) => {
    calls += 1;
    if (calls === 1) throw new Error('something broke');
    return call();
  });
  const { together, rows } = await openCrowd(t, toItems(3), { native });
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

test('an update with If-Match, and one of a kind that has to run alone, are in no batch', async (t) => {
  const { fixture, rows } = await openCrowd(t, toItems(4));
  const results = await fixture.behindWrite([
    async () => fixture.update([['score', '2']], 'id = 0'),
    async () => fixture.update([['score', '2']], 'id = 1', { expectedVersion: 2 }),
    async () => fixture.update([['score', '2']], 'id = 2'),
    async () => fixture.update([['score', 'score + 1']], 'id > 2'),
  ]);
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value.version : kindOf(result.reason))),
    [2, 3, 4, 5],
  );
  assert.deepEqual(fixture.batches, [1, 1, 1, 1]);
  assert.deepEqual(
    (await rows()).map((row) => row['score']),
    [2, 2, 2, 2],
  );
});

test('what an update of the batch has written is seen by the next read', async (t) => {
  const inner = new Struct([optional('a', new Utf8())]);
  const table = toTable({ id: [new Int32(), [1, 2]], s: [inner, [null, { a: 'x' }]], n: [new Int32(), [0, 0]] });
  const { together, fixture } = await openCrowd(t, table);
  await together([1, 2].map((id) => [`id = ${id}`, 'n', '5'] as const));
  assert.equal(await fixture.version(), 2);
});

test('counts all of 32 updates of one row that come at once', async (t) => {
  const { update, rows } = await openCrowd(t, toItems(3));
  const outcomes = await Promise.all(range(32).map(async () => update(['id = 1', 'score', 'score + 1'])));
  assert.ok(new Set(outcomes.map(({ version }) => version)).size < 32, 'none of them shared a commit');
  assert.equal((await rows()).find((row) => row['id'] === 1)?.['score'], 33);
});

test('counts all updates of two processes that come at once', async (t) => {
  const { update, rows, table } = await openCrowd(t, toItems(3));
  const apart = await openApart(t, table);
  const theirs = async (): Promise<void> => {
    for (let round = 0; round < 10; round += 1) await apart.update('id = 1', [['score', 'score + 1']]);
  };
  const ours = range(10).map(async () => update(['id = 1', 'score', 'score + 1']));
  await Promise.all([theirs(), ...ours]);
  assert.equal((await rows()).find((row) => row['id'] === 1)?.['score'], 21);
});

test('that conflicted, and then cannot share a commit any more, leave nothing pending', async (t) => {
  const table = toTable({ id: [new Int32(), [1, 2]], n: [new Int32(), [0, 0]] });
  const more = toTable({ id: [new Int32(), range(1001).map(() => 1)], n: [new Int32(), range(1001)] });
  let rival: (() => Promise<unknown>) | undefined;
  const native = watchCommits(async (call) => {
    if (rival === undefined) return call();
    await rival();
    throw new Error('lance error: Retryable commit conflict for version 2');
  });
  const { fixture, together, table: state } = await openCrowd(t, table, { native });
  const apart = await openApart(t, state);
  rival = async () => {
    rival = undefined;
    await apart.add(Buffer.from(tableToIPC(more, 'file')), 'append');
  };
  const answers = await together([1, 2].map((id) => [`id = ${id}`, 'n', 'n + 1'] as const));
  assert.deepEqual(
    answers.map((answer) => Object(answer).rowsUpdated),
    [1002, 1],
  );
  await eventually(async () => (await fixture.catalog.journal.pending()).length === 0);
});
