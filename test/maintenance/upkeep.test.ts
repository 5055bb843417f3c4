import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MaintenanceEngine } from '../../src/engine/maintenance-engine.ts';
import { runUpkeep } from '../../src/maintenance/upkeep.ts';
import { parseFieldPath } from '../../src/model/field-path.ts';
import { openTable, sql } from '../engine/engine-room.ts';
import { toItems } from '../engine/sample-tables.ts';
import { testLimits } from '../support/limits.ts';

test('versions are removed in a step after the merge, which by then is on disk', async (t) => {
  const { engine, table } = await openTable(t, toItems(50));
  const assignments = [{ path: parseFieldPath('score'), expression: sql('score + 1') }];
  for (let id = 0; id < 10; id += 1) await engine.updateRows(table, { assignments, predicate: sql(`id = ${id}`) });
  const condition = await engine.maintenance.assess(table.place);
  const steps: unknown[] = [];
  const optimize: MaintenanceEngine['optimize'] = async (place, request) => {
    const done = await engine.maintenance.optimize(place, request);
    const { versions } = await engine.maintenance.readHistory(place);
    steps.push([done?.fragmentsAdded, versions.some(({ version }) => version <= condition.version)]);
    return done;
  };
  const recorded = { ...engine, maintenance: { ...engine.maintenance, optimize } };
  const context = { engine: recorded, limits: testLimits().maintenance, now: () => performance.now() };
  const plan = { condition, reasons: [], ageMilliseconds: 0, isInLane: true };
  const done = await runUpkeep(context, table.place, plan);
  assert.deepEqual(steps, [
    [1, true],
    [0, false],
  ]);
  assert.equal(done.isLost, false);
  assert.equal(done.fragmentsRemoved, 11);
  assert.ok(done.versionsRemoved > 0);
});
