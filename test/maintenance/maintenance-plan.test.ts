import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { TableActivity } from '../../src/maintenance/table-activity.ts';
import { planMaintenance } from '../../src/maintenance/maintenance-plan.ts';
import { runMaintenance } from '../../src/maintenance/maintenance-run.ts';
import type { BackgroundWork } from '../../src/writes/writes.ts';
import { toItems } from '../engine/sample-tables.ts';
import { testLimits } from '../support/limits.ts';
import { openWriteFixture } from '../writes/write-fixture.ts';

/** A table of 50 rows. */
async function openItems(t: TestContext) {
  const fixture = await openWriteFixture(t);
  return {
    fixture,
    engine: fixture.engine,
    background: fixture.writes.background,
    table: await fixture.create(toItems(50)),
  };
}

test('removes versions after the compaction is on disk', async (t) => {
  const { fixture, engine, background, table } = await openItems(t);
  for (let id = 0; id < 10; id += 1) await fixture.update([['score', 'score + 1']], `id = ${id}`);
  const condition = await engine.maintenance.assess(table.location);
  const steps: unknown[] = [];
  const optimize: BackgroundWork['optimize'] = async (location, request) => {
    const done = await background.optimize(location, request);
    const { versions } = await engine.maintenance.readHistory(location);
    steps.push([done?.fragmentsAdded, versions.some(({ version }) => version <= condition.version)]);
    return done;
  };
  const context = { engine, background: { optimize }, limits: testLimits().maintenance, now: () => performance.now() };
  const plan = { condition, reasons: [], cutoff: Infinity, blocksWriters: true, onlyAppends: false };
  const done = await runMaintenance(context, table.location, plan);
  assert.deepEqual(steps, [
    [1, true],
    [0, false],
  ]);
  assert.equal(done.isLost, false);
  assert.equal(done.fragmentsRemoved, 11);
  assert.ok(done.versionsRemoved > 0);
});

test('writers pause for its commit only where they add rows and nothing else', async (t) => {
  const { engine, background, table } = await openItems(t);
  const condition = await engine.maintenance.assess(table.location);
  const paused: unknown[] = [];
  const optimize: BackgroundWork['optimize'] = async (location, request) => {
    paused.push(request.pausesWriters);
    return background.optimize(location, request);
  };
  const context = { engine, background: { optimize }, limits: testLimits().maintenance, now: () => performance.now() };
  const plan = { condition, reasons: [], cutoff: undefined, blocksWriters: false };
  for (const onlyAppends of [true, false]) await runMaintenance(context, table.location, { ...plan, onlyAppends });
  await runMaintenance(context, table.location, { ...plan, blocksWriters: true, onlyAppends: true });
  assert.deepEqual(paused, [true, false, false]);
});

test('counts removal time only when there was a removal', async (t) => {
  const { engine, background, table } = await openItems(t);
  const condition = await engine.maintenance.assess(table.location);
  let clock = 0;
  const context = { engine, background, limits: testLimits().maintenance, now: () => (clock += 1) };
  const plan = { condition, reasons: [], blocksWriters: false, onlyAppends: false };
  const compacted = await runMaintenance(context, table.location, { ...plan, cutoff: undefined });
  assert.equal(compacted.removalMilliseconds, 0);
  const removed = await runMaintenance(context, table.location, { ...plan, cutoff: 1000 });
  assert.ok(removed.removalMilliseconds > 0);
});

test('a postponed removal does not postpone the compaction, and is due later', async (t) => {
  const { fixture, engine, background } = await openItems(t);
  for (let id = 0; id < 4; id += 1) await fixture.update([['score', 'score + 1']], `id = ${id}`);
  const limits = {
    ...testLimits().maintenance,
    smallFragmentsMax: 2,
    readerSeconds: 0,
    versionsMax: 2,
    versionsMin: 1,
  };
  const clock = { now: Date.now() + 60_000 };
  const context = { engine, background, limits, now: () => clock.now };
  const activity = new TableActivity(await fixture.table());
  const removeFrom = clock.now + 1000;
  const postponed = await planMaintenance(context, activity, { isForced: false, isHistoryDue: true, removeFrom });
  assert.deepEqual([postponed.reasons, postponed.cutoff], [['fragments'], undefined]);
  assert.equal(activity.historyAt, removeFrom);
  clock.now = removeFrom;
  const due = await planMaintenance(context, activity, { isForced: false, removeFrom });
  assert.equal(typeof due.cutoff, 'number');
});
