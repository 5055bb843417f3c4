import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { TableWatches } from '../../src/maintenance/table-activity.ts';
import { planUpkeep, runUpkeep } from '../../src/maintenance/maintenance-plan.ts';
import type { BackgroundWork } from '../../src/writes/writes.ts';
import { toItems } from '../engine/sample-tables.ts';
import { testLimits } from '../support/limits.ts';
import { openWriteFixture } from '../writes/write-fixture.ts';

/** A room with a table of 50 rows. */
async function openItems(t: TestContext) {
  const room = await openWriteFixture(t);
  return { room, engine: room.engine, background: room.writes.background, table: await room.create(toItems(50)) };
}

test('versions are removed in a step after the merge, which by then is on disk', async (t) => {
  const { room, engine, background, table } = await openItems(t);
  for (let id = 0; id < 10; id += 1) await room.update([['score', 'score + 1']], `id = ${id}`);
  const condition = await engine.maintenance.assess(table.location);
  const steps: unknown[] = [];
  const optimize: BackgroundWork['optimize'] = async (location, request) => {
    const done = await background.optimize(location, request);
    const { versions } = await engine.maintenance.readHistory(location);
    steps.push([done?.fragmentsAdded, versions.some(({ version }) => version <= condition.version)]);
    return done;
  };
  const context = { engine, background: { optimize }, limits: testLimits().maintenance, now: () => performance.now() };
  const plan = { condition, reasons: [], ageMilliseconds: 0, isInLane: true };
  const done = await runUpkeep(context, table.location, plan);
  assert.deepEqual(steps, [
    [1, true],
    [0, false],
  ]);
  assert.equal(done.isLost, false);
  assert.equal(done.fragmentsRemoved, 11);
  assert.ok(done.versionsRemoved > 0);
});

test('time is counted for a removal only when there was one: a rest for it that is under way must not be cut short', async (t) => {
  const { engine, background, table } = await openItems(t);
  const condition = await engine.maintenance.assess(table.location);
  let clock = 0;
  const context = { engine, background, limits: testLimits().maintenance, now: () => (clock += 1) };
  const plan = { condition, reasons: [], isInLane: false };
  const merged = await runUpkeep(context, table.location, { ...plan, ageMilliseconds: undefined });
  assert.equal(merged.removalMilliseconds, 0);
  const removed = await runUpkeep(context, table.location, { ...plan, ageMilliseconds: 1000 });
  assert.ok(removed.removalMilliseconds > 0);
});

test('a removal that is put off leaves the merge to be done, and is due when it may be', async (t) => {
  const { room, engine, background } = await openItems(t);
  for (let id = 0; id < 4; id += 1) await room.update([['score', 'score + 1']], `id = ${id}`);
  const limits = {
    ...testLimits().maintenance,
    smallFragmentsMax: 2,
    readerSeconds: 0,
    versionsMax: 2,
    versionsMin: 1,
  };
  const clock = { now: Date.now() + 60_000 };
  const context = { engine, background, limits, now: () => clock.now };
  const watch = new TableWatches().open(await room.table());
  const removeFrom = clock.now + 1000;
  const putOff = await planUpkeep(context, watch, { isForced: false, removeFrom });
  assert.deepEqual([putOff.reasons, putOff.ageMilliseconds], [['fragments'], undefined]);
  assert.equal(watch.historyAt, removeFrom);
  clock.now = removeFrom;
  const due = await planUpkeep(context, watch, { isForced: false, removeFrom });
  assert.equal(typeof due.ageMilliseconds, 'number');
});
