import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { NotOwner } from '../../src/errors/service-error.ts';
import { Jobs } from '../../src/jobs/jobs.ts';
import { Maintenance } from '../../src/maintenance/maintenance.ts';
import type { MaintenanceLimits } from '../../src/model/limits.ts';
import { toItems } from '../engine/sample-tables.ts';
import { openLong } from '../engine/test-engine.ts';
import { eventually } from '../support/eventually.ts';
import { testLimits } from '../support/limits.ts';
import { refusal } from '../support/refusal.ts';
import { openWriteFixture } from '../writes/write-fixture.ts';
import type { WriteFixtureSettings } from '../writes/write-fixture.ts';

/** Versions may be removed as soon as they are replaced. Without pauses, and without a scan. */
const EAGER = {
  ...testLimits().maintenance,
  quietSeconds: 0.1,
  scanSeconds: 3600,
  dutyPercent: 100,
  readerSeconds: 0,
  retentionSeconds: 0,
  versionsMin: 1,
};

/** A table of 50 rows that is maintained. */
async function openMaintained(t: TestContext, limits: Partial<MaintenanceLimits>, settings: WriteFixtureSettings = {}) {
  const fixture = await openWriteFixture(t, settings);
  const { engine, catalog, writes } = fixture;
  const telemetry = { emit: () => {} };
  let ids = 0;
  const jobs = new Jobs({
    limits: { ...testLimits().jobs, runningMax: 1 },
    telemetry,
    now: Date.now,
    makeId: () => `job${(ids += 1)}`,
    hasTable: async () => true,
  });
  const clock = { aheadMilliseconds: 0 };
  const maintenance = new Maintenance({
    engine,
    catalog,
    jobs,
    telemetry,
    background: writes.background,
    limits: { ...EAGER, ...limits },
    now: () => Date.now() + clock.aheadMilliseconds,
    tuner: { tuneChanged: async () => {} },
    owns: async () => true,
  });
  writes.onCommit = async (table, options) => maintenance.recordCommit(table, options);
  t.after(async () => maintenance.close());
  const { location } = await fixture.create(toItems(50));
  const listVersions = async (): Promise<readonly number[]> =>
    (await engine.maintenance.readHistory(location)).versions.map(({ version }) => version);
  return { fixture, jobs, maintenance, clock, listVersions };
}

test('the scan removes the old versions of a table that has few commits, also when it is idle', async (t) => {
  const limits = { scanSeconds: 0.1, retentionSeconds: 1.5 };
  const { fixture, maintenance, listVersions } = await openMaintained(t, limits);
  maintenance.start();
  for (let id = 0; id < 4; id += 1) await fixture.update([['score', 'score + 1']], `id = ${id}`);
  const latest = await fixture.version();
  await eventually(async () => {
    const [oldest = 0] = await listVersions();
    return oldest >= latest;
  });
});

/** Takes the only place for running jobs until it is ended. */
function occupy(jobs: Jobs) {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const subject = { kind: 'work', databaseId: 'other', table: ['other'], tableId: 'other', caller: 'ann' } as const;
  const { outcome } = jobs.start({ ...subject, exclusiveKey: 'other', sameAs: 'other', spec: {} }, async () => {
    await ended;
    return {};
  });
  return async (): Promise<void> => {
    end();
    await outcome;
  };
}

test('a run that has waited for its turn keeps the newest versions of that time', async (t) => {
  const limits = { scanSeconds: 0.1, readerSeconds: 1, versionsMin: 2 };
  const { fixture, jobs, maintenance, listVersions } = await openMaintained(t, limits);
  const update = async () => fixture.update([['score', 'score + 1']], 'id = 1');
  const end = occupy(jobs);
  await sleep(1500);
  for (let version = 2; version <= 3; version += 1) await update();
  maintenance.start();
  await eventually(async () => jobs.counts().waiting === 1);
  for (let version = 4; version <= 5; version += 1) await update();
  await sleep(3500);
  await end();
  let versions: readonly number[] = [];
  await eventually(async () => {
    versions = await listVersions();
    return !versions.includes(1);
  });
  assert.ok(versions.includes(4) && versions.includes(5), versions.join());
});

test('maintenance does not pause for the time that it has waited for other jobs', async (t) => {
  const limits = { scanSeconds: 0.1, dutyPercent: 25 };
  const { fixture, jobs, maintenance, clock, listVersions } = await openMaintained(t, limits);
  const update = async () => fixture.update([['score', 'score + 1']], 'id = 1');
  const isRemoved = async (version: number) => eventually(async () => !(await listVersions()).includes(version));
  const end = occupy(jobs);
  await update();
  maintenance.start();
  await eventually(async () => jobs.counts().waiting === 1);
  clock.aheadMilliseconds = 3_600_000;
  await end();
  await isRemoved(1);
  const { version } = await update();
  await update();
  await isRemoved(version);
});

test('a run on request is refused while a failed long write is not undone, and keeps the version of readers', async (t) => {
  const settings: WriteFixtureSettings = {
    watchCatalog: (catalog) => {
      const record = async (): Promise<never> => Promise.reject(new Error('the reply is lost'));
      const requireOwner = async (): Promise<never> => Promise.reject(new NotOwner());
      return { ...catalog, journal: { ...catalog.journal, record, requireOwner } };
    },
  };
  const { fixture, maintenance, listVersions } = await openMaintained(t, {}, settings);
  const overwrite = fixture.insert(await openLong(), { mode: 'overwrite' });
  await assert.rejects(overwrite, refusal('ServiceUnavailable'));
  const table = await fixture.table();
  assert.equal(table.heldVersion, 1);
  await assert.rejects(maintenance.run(table, 'ann').outcome, refusal('ServiceUnavailable', /not been rolled back/));
  assert.ok((await listVersions()).includes(1));
});
