import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { tableToIPC } from 'apache-arrow';
import type { OpenTable } from '../../../src/engine/engine.ts';
import { toItems } from '../../engine/sample-tables.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import { openWriteFixture } from '../../writes/write-fixture.ts';
import { NO_OBJECT_STORES, toObjectSettings } from './test-stores.ts';

const ROOT = 's3://bucket/root';
const SKIP = { skip: NO_OBJECT_STORES };

/** A table of 20 rows in three versions: created, updated, ten rows deleted. */
async function openScene(t: TestContext) {
  const emulator = await S3Emulator.start(t);
  const fixture = await openWriteFixture(t, { objects: toObjectSettings(emulator), root: ROOT });
  await fixture.create(toItems(20));
  await fixture.update([['score', '7']], 'id < 5');
  await fixture.delete('id >= 10');
  const location = fixture.location();
  const target = { location, branch: undefined };
  const storage = fixture.storages.of(ROOT);
  const restore = async (version: number, baseVersion: number): Promise<boolean> => {
    const { restoreVersion } = storage;
    if (restoreVersion === undefined) throw new Error('There is no exact restore.');
    return restoreVersion(location, undefined, { version, baseVersion });
  };
  const stats = async () => fixture.engine.versions.stats(fixture.state());
  return { emulator, fixture, location, target, storage, restore, stats };
}

test('the contents of a version are committed again, and the engine goes on from there', SKIP, async (t) => {
  const { fixture, target, location, storage, restore, stats } = await openScene(t);
  assert.equal(await restore(2, 3), true);
  assert.equal(await fixture.engine.findLatestVersion(target), 4);
  assert.equal((await stats()).numRows, 20);
  const [commit] = (await storage.readCommits(location, undefined, 3)) ?? [];
  assert.deepEqual(
    [commit?.version, commit?.kind, commit?.readVersion, commit?.restoredVersion, commit?.rows],
    [4, 'restore', 3, 2, 20],
  );
  for (let round = 0; round < 5; round += 1) await fixture.update([['score', 'score + 1']], 'id < 12');
  await fixture.delete('id = 19');
  assert.equal((await stats()).numRows, 19);
  assert.equal(await restore(10, 10), true);
  await fixture.engine.maintenance.sweep(location, 0);
  assert.equal((await stats()).numRows, 19);
});

test('many restores do not make the manifest longer', SKIP, async (t) => {
  const { emulator, fixture, restore, stats } = await openScene(t);
  const sizes = [];
  for (let version = 3; version < 13; version += 1) {
    assert.equal(await restore(version, version), true);
    const manifests = emulator.objects.paths().filter((path) => path.includes('/_versions/'));
    // Names count down: the newest is the first.
    sizes.push(emulator.objects.get(manifests.toSorted()[0] ?? '')?.content.length ?? 0);
  }
  assert.ok(Math.max(...sizes) - Math.min(...sizes) < 100, `sizes of the manifests: ${sizes.join()}`);
  assert.equal((await stats()).numRows, 10);
  await fixture.update([['score', 'score + 1']], 'id < 5');
  assert.equal((await stats()).numRows, 10);
});

test('it is refused when another commit was faster, and changes nothing then', SKIP, async (t) => {
  const { fixture, target, restore, stats } = await openScene(t);
  assert.equal(await restore(1, 2), false);
  assert.equal(await fixture.engine.findLatestVersion(target), 3);
  assert.equal((await stats()).numRows, 10);
  await assert.rejects(fixture.engine.restoreVersion(target, 1, 2), (error) => fixture.engine.isConflict(error));
});

test('a reply that is lost does not hide that it was made', SKIP, async (t) => {
  const { emulator, fixture, target } = await openScene(t);
  for (const fault of ['error-after', 'reset-after'] as const) {
    emulator.faults.add(fault, { method: 'PUT', path: /_versions/ });
    const before = (await fixture.engine.findLatestVersion(target)) ?? 0;
    assert.equal(await fixture.engine.restoreVersion(target, before), before + 1);
    assert.equal(await fixture.engine.findLatestVersion(target), before + 1);
  }
});

/** Commits of a process that does not know of what others commit meanwhile. */
const LATE: Readonly<Record<string, (table: OpenTable) => Promise<unknown>>> = {
  append: async ({ native }) => native.add(Buffer.from(tableToIPC(toItems(3), 'file')), 'append'),
  update: async ({ native }) => native.update('id = 1', [['score', 'score + 100']]),
  delete: async ({ native }) => native.delete('id = 1'),
};

for (const [name, run] of Object.entries(LATE)) {
  test(`a late ${name} that was on its way when the latest version was committed again is refused`, SKIP, async (t) => {
    const { emulator, fixture, target, stats } = await openScene(t);
    const held = emulator.faults.hold({ method: 'PUT', path: /_versions/ });
    const late = fixture.engine.useLatest(target, run);
    await held.reached;
    assert.equal(await fixture.engine.restoreVersion(target, 3, 3), 4);
    held.release();
    await assert.rejects(late);
    assert.equal(await fixture.engine.findLatestVersion(target), 4);
    assert.equal((await stats()).numRows, 10);
  });
}
