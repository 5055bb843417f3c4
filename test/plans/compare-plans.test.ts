import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { comparePlans, recallOf } from '../../src/plans/compare-plans.ts';
import { listSteps, resultRows, ownTimes, timeShares, totalTime } from '../../src/plans/plan-steps.ts';
import { AnalysedTable, VECTOR } from './analysed-table.ts';

let table: AnalysedTable;

before(async () => {
  table = await AnalysedTable.start(4000);
  await table.index({ column: 'vec', index_type: 'IVF_FLAT', num_partitions: 4 });
});
after(async () => table.close());

const SEARCH = { vector: VECTOR, k: 20, columns: { column_names: ['id'] } };

test('aligns two plans step by step; a step of only one plan has no counterpart', async () => {
  const [exact, indexed] = [await table.analyze({ ...SEARCH, bypass_vector_index: true }), await table.analyze(SEARCH)];
  const { steps, rows, bytesRead, time } = comparePlans(exact, indexed);
  assert.deepEqual(rows, { first: 20, second: 20, ratio: 1 });
  assert.equal(bytesRead.first > 0, true);
  assert.deepEqual([time.first, time.second], [totalTime(exact), totalTime(indexed)]);
  const lonely = (side: 'first' | 'second'): readonly (string | undefined)[] =>
    steps
      .filter((pair) => pair[side === 'first' ? 'second' : 'first'] === undefined)
      .map((pair) => pair[side]?.operator);
  assert.ok(lonely('first').includes('KNNVectorDistance'));
  assert.ok(lonely('second').includes('ANNSubIndex'));
  assert.ok(
    steps.some(({ first, second }) => first?.operator === 'ProjectionExec' && second?.operator === 'ProjectionExec'),
  );
  assert.deepEqual(
    steps.flatMap(({ first }) => (first === undefined ? [] : [first])),
    listSteps(exact),
  );
  assert.deepEqual(
    steps.flatMap(({ second }) => (second === undefined ? [] : [second])),
    listSteps(indexed),
  );
});

test('a plan beside itself differs in nothing', async () => {
  const plan = await table.analyze(SEARCH);
  const { steps, time } = comparePlans(plan, plan);
  assert.equal(time.ratio, 1);
  assert.ok(steps.every(({ first, second }) => first === second));
});

test('the parts of the time sum up to the whole, and those of an exact search lie in reading and comparing', async () => {
  const plan = await table.analyze({ ...SEARCH, bypass_vector_index: true });
  const shares = timeShares(plan);
  const sum = [...shares.values()].reduce((total, share) => total + share, 0);
  assert.ok(Math.abs(sum - 1) < 1e-9);
  // A step that runs on several threads may take longer than the whole.
  assert.ok([...ownTimes(plan).values()].every((time) => time >= 0));
  assert.equal(resultRows(plan), 20);
});

test('recall is the part of the exact rows that were found', async () => {
  const exact = await table.ids({ ...SEARCH, bypass_vector_index: true });
  assert.equal(recallOf(await table.ids({ ...SEARCH, nprobes: 4 }), exact), 1);
  assert.equal(recallOf(exact.slice(0, 5), exact), 0.25);
  assert.equal(recallOf(['1', 2n, 2], [1, 2]), 1);
  assert.equal(recallOf([], []), undefined);
});
