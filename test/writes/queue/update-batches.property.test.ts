import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Bool, Float32, Float64, Int32, Int64, Int8, Uint64, Utf8, tableToIPC } from 'apache-arrow';
import type { Table } from 'apache-arrow';
import fc from 'fast-check';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { openApart, readRows } from '../../engine/test-engine.ts';
import { toTable } from '../../engine/sample-tables.ts';
import { openWriteFixture } from '../write-fixture.ts';
import type { WriteFixture } from '../write-fixture.ts';

interface Update {
  readonly predicate: string | undefined;
  readonly pairs: readonly (readonly [column: string, expression: string])[];
}

const BIG = 2n ** 62n;

/** Keys that are unique, that stand in several rows, and that are null; columns of several types to be changed. */
function toSample(): Table {
  const rows = Array.from({ length: 10 }, (_, index) => index);
  return toTable({
    row: [new Int32(), rows],
    id: [new Int32(), rows.map((row) => (row === 9 ? null : row % 6))],
    key: [new Utf8(), [null, 'a', "it's", '', 'a', 'b', 'ü', "''", 'B', 'c']],
    big: [new Int64(), rows.map((row) => BigInt(row - 5) * BIG)],
    nat: [new Uint64(), rows.map((row) => BigInt(row))],
    n: [new Int32(), rows],
    tiny: [new Int8(), rows],
    x: [new Float64(), rows.map((row) => row / 2)],
    y: [new Float32(), rows.map((row) => row / 3)],
    flag: [new Bool(), rows.map((row) => row % 2 === 0)],
    text: [new Utf8(), rows.map((row) => `t${row}`)],
  });
}

const predicates = fc.oneof(
  { weight: 10, arbitrary: fc.nat(7).map((id) => `id = ${id}`) },
  {
    weight: 3,
    arbitrary: fc.constantFrom('a', "it''s", '', 'b', 'ü', "''''", 'B', 'zz').map((key) => `key = '${key}'`),
  },
  { weight: 3, arbitrary: fc.integer({ min: -5, max: 4 }).map((big) => `big = ${BigInt(big) * BIG}`) },
  { weight: 3, arbitrary: fc.nat(11).map((nat) => `${nat} = \`nat\``) },
  fc.constantFrom(undefined, 'id > 3', 'id = NULL', "id = 'x'", 'nope = 1', 'nat = -1', 'tiny = 300', 'key IS NULL'),
  fc.constantFrom('id = 01', '(id) = 2', 'ID = 3', 'id = 4.0', 'id = 2 OR id = 3'),
);

const assignments = fc.oneof(
  {
    weight: 6,
    arbitrary: pair('n', fc.constantFrom('n + 1', 'n * 2', '12 / (n - 4)', '1 / 0', '99999999999', 'nope')),
  },
  { weight: 6, arbitrary: pair('n', fc.integer({ min: -9, max: 9 }).map(String)) },
  { weight: 3, arbitrary: pair('tiny', fc.integer({ min: -130, max: 130 }).map(String)) },
  {
    weight: 3,
    arbitrary: pair('x', fc.constantFrom('1', '2.5', '-3', '1e2', '-0', '9007199254740993', "'7'", 'NULL')),
  },
  { weight: 3, arbitrary: pair('y', fc.constantFrom('0.1', '16777217', '-2', 'y + 0.1', '1e40')) },
  { weight: 3, arbitrary: pair('flag', fc.constantFrom('true', 'FALSE', 'NOT flag', '1', 'NULL')) },
  { weight: 3, arbitrary: pair('text', fc.constantFrom("'a'", "'it''s'", "''", "text || '!'", '5', 'NULL')) },
  pair('id', fc.constantFrom('id + 1', '3')),
  pair('nope', fc.constant('1')),
);

const updates: fc.Arbitrary<Update> = fc.record({
  predicate: predicates,
  pairs: fc.uniqueArray(assignments, { minLength: 1, maxLength: 2, selector: ([column]) => column }),
});

/** Some of one make, as programs send them, and some of all kinds. */
const sequences = fc.oneof(
  fc.array(updates, { minLength: 2, maxLength: 8 }),
  fc
    .tuple(assignments, fc.array(predicates, { minLength: 2, maxLength: 10 }))
    .map(([assignment, each]) => each.map((predicate) => ({ predicate, pairs: [assignment] }))),
  fc
    .tuple(fc.constantFrom('n', 'x', 'text'), fc.array(fc.tuple(fc.nat(7), fc.nat(9)), { minLength: 2, maxLength: 10 }))
    .map(([column, each]) => each.map(([id, value]) => toSetting(column, id, value))),
);

function pair(column: string, expressions: fc.Arbitrary<string>): fc.Arbitrary<readonly [string, string]> {
  return expressions.map((expression) => [column, expression] as const);
}

function toSetting(column: string, id: number, value: number): Update {
  return { predicate: `id = ${id}`, pairs: [[column, column === 'text' ? `'v${value}'` : String(value)]] };
}

interface Answer {
  readonly rowsUpdated?: number;
  readonly refusal?: string;
}

async function send(fixture: WriteFixture, directory: string, { predicate, pairs }: Update): Promise<number> {
  return Number((await fixture.update(pairs, predicate, { directory })).fields['updated_rows']);
}

async function answer(fixture: WriteFixture, directory: string, update: Update): Promise<Answer> {
  try {
    return { rowsUpdated: await send(fixture, directory, update) };
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return { refusal: `${error.kind}: ${error.detail}` };
  }
}

async function contentsOf(t: TestContext, fixture: WriteFixture, directory: string) {
  const rows = await readRows(t, fixture.state(directory));
  return rows.toSorted((one, other) => Number(one['row']) - Number(other['row']));
}

test('updates that come at once give the answers and the rows that they give one after the other', async (t) => {
  const fixture = await openWriteFixture(t);
  let commits = 0;
  let answered = 0;
  let rounds = 0;
  const property = fc.asyncProperty(sequences, async (sequence) => {
    rounds += 1;
    const [crowded, quiet] = [`crowded-${rounds}`, `quiet-${rounds}`];
    for (const each of [crowded, quiet]) await fixture.create(toSample(), each);
    const one: Answer[] = [];
    for (const update of sequence) one.push(await answer(fixture, quiet, update));
    const together = await fixture.behindWrite(
      sequence.map((update) => async () => answer(fixture, crowded, update)),
      crowded,
    );
    const many = together.map((each) => (each.status === 'fulfilled' ? each.value : assert.fail(String(each.reason))));
    assert.deepEqual(many, one);
    assert.deepEqual(await contentsOf(t, fixture, crowded), await contentsOf(t, fixture, quiet));
    commits += (await fixture.version(crowded)) - 1;
    answered += many.filter(({ rowsUpdated }) => rowsUpdated !== undefined).length;
  });
  await fc.assert(property, { numRuns: 10, endOnFailure: true });
  assert.ok(commits < answered, `${commits} commits for ${answered} updates`);
});

test('every row counts how often it was updated, while another program adds and changes rows', async (t) => {
  const fixture = await openWriteFixture(t);
  const keys = [0, 1, 2, 3, 4, 5];
  const rows = toTable({ id: [new Int32(), keys], n: [new Int32(), keys.map(() => 0)] });
  const table = await fixture.create(rows);
  const apart = await openApart(t, table);
  const file = Buffer.from(tableToIPC(rows, 'file'));
  const theirs = async (): Promise<void> => {
    for (let round = 0; round < 12; round += 1) {
      await apart.add(file, 'append');
      await apart.update(`id = ${round % 6}`, [['n', 'n + 1000']]);
    }
  };
  const updated = keys.map(() => 0);
  const ours = async (): Promise<void> => {
    for (let round = 0; round < 8; round += 1) {
      const answers = keys.map(async (id) =>
        send(fixture, 'table', { predicate: `id = ${id}`, pairs: [['n', 'n + 1']] }),
      );
      for (const [id, rowsUpdated] of (await Promise.all(answers)).entries()) {
        updated[id] = (updated[id] ?? 0) + rowsUpdated;
      }
    }
  };
  await Promise.all([theirs(), ours()]);
  const sums = keys.map(() => 0);
  for (const row of await readRows(t, table)) {
    sums[Number(row['id'])] = (sums[Number(row['id'])] ?? 0) + (Number(row['n']) % 1000);
  }
  assert.deepEqual(updated, sums);
});
