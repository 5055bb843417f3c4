import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { TableActivity } from '../../../src/maintenance/table-activity.ts';
import { planMaintenance } from '../../../src/maintenance/maintenance-plan.ts';
import { manifestName } from '../../../src/storage/format/manifest.ts';
import type { ObjectSettings } from '../../../src/storage/object/object-stores.ts';
import { toItems } from '../../engine/sample-tables.ts';
import { eventually } from '../../support/eventually.ts';
import { testLimits } from '../../support/limits.ts';
import { refusal } from '../../support/refusal.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import { openWriteFixture } from '../../writes/write-fixture.ts';
import { NO_OBJECT_STORES, toObjectSettings } from './test-stores.ts';

const ROOT = 's3://bucket/root';

/** A table of 20 rows in three versions: created, updated, ten rows deleted. */
async function openScene(t: TestContext, settings: Partial<ObjectSettings> = {}) {
  const emulator = await S3Emulator.start(t, { copyBytesMax: 5000 });
  const objects = toObjectSettings(emulator, { copyBytesMax: 5000, ...settings });
  const fixture = await openWriteFixture(t, { objects, root: ROOT });
  await fixture.create(toItems(20));
  await fixture.update([['score', '7']], 'id < 5');
  await fixture.delete('id >= 10');
  const storage = fixture.storages.of(ROOT);
  return { emulator, fixture, storage, location: fixture.location(), objects };
}

const countRows = async ({ fixture }: Awaited<ReturnType<typeof openScene>>, directory?: string): Promise<number> =>
  (await fixture.engine.versions.stats(fixture.state(directory))).numRows;

test('the commits of a table are read from its manifests', { skip: NO_OBJECT_STORES }, async (t) => {
  const { storage, location } = await openScene(t);
  const commits = (await storage.readCommits(location, undefined, 0)) ?? [];
  assert.deepEqual(
    commits.map(({ version, kind, readVersion, rows }) => [version, kind, readVersion, rows]),
    [
      [1, 'overwrite', 0, 20],
      [2, 'update', 1, 20],
      [3, 'delete', 2, 10],
    ],
  );
  assert.deepEqual(await storage.readCommits(location, undefined, 2), commits.slice(2));
  assert.deepEqual(await storage.readCommits({ ...location, directory: 'missing' }, undefined, 0), []);
});

test('the size of a version is that of its data files, and its rows without deleted ones', async (t) => {
  if (NO_OBJECT_STORES !== false) return t.skip(NO_OBJECT_STORES);
  const { emulator, storage, location, fixture } = await openScene(t);
  const bytesOf = (path: string): number => emulator.objects.get(path)?.content.length ?? 0;
  const files = emulator.objects.paths('bucket/root/table.lance/data/');
  assert.equal(files.length, 2);
  const [first, second] = [
    await storage.measureVersion(location, undefined, 1),
    await storage.measureVersion(location, undefined, 2),
  ];
  assert.deepEqual([first?.rows, second?.rows], [20, 20]);
  assert.ok(files.some((path) => bytesOf(path) === first?.bytes));
  // The first file still has the rows that were updated or deleted.
  const total = files.reduce((sum, path) => sum + bytesOf(path), 0);
  assert.equal(second?.bytes, total);
  assert.deepEqual(await storage.measureVersion(location, undefined, 3), { rows: 10, bytes: total });
  assert.deepEqual(await fixture.engine.versions.size(fixture.state()), { rows: 10, bytes: total, version: 3 });
  assert.equal(await storage.measureVersion(location, undefined, 4), undefined);
});

test('a list of commits ends at the first old version', { skip: NO_OBJECT_STORES }, async (t) => {
  const { emulator, storage, location } = await openScene(t);
  for (let version = 10; version < 3000; version += 1) {
    const manifest = emulator.objects.get(`bucket/root/table.lance/_versions/${manifestName(3)}`);
    assert.ok(manifest !== undefined);
    emulator.objects.put(`bucket/root/table.lance/_versions/${manifestName(version)}`, manifest.content);
  }
  emulator.log.length = 0;
  assert.equal((await storage.readCommits(location, undefined, 2998))?.length, 1);
  assert.deepEqual(
    emulator.log.map(({ method }) => method),
    ['GET', 'GET'],
  );
});

test('a commit whose files are missing or cut short is not intact', { skip: NO_OBJECT_STORES }, async (t) => {
  const { emulator, fixture, storage, location } = await openScene(t);
  const inspect = async (version: number) => storage.inspectCommit(location, undefined, version);
  assert.deepEqual(await inspect(1), { kind: 'overwrite', addedRows: 20, isIntact: true, indexNames: [] });
  assert.equal((await inspect(3))?.isIntact, true);
  await fixture.writes.background.buildIndex(
    fixture.state(),
    { column: ['id'], name: 'ids', spec: { kind: 'scalar', type: 'BTREE' }, replace: false },
    () => {},
  );
  assert.deepEqual((await inspect(4))?.indexNames, ['ids']);
  assert.equal((await inspect(4))?.isIntact, true);
  assert.equal(await inspect(5), undefined);
  const cut = (paths: readonly string[]): void => {
    const [path = assert.fail('no file')] = paths;
    const { content } = emulator.objects.get(path) ?? assert.fail(path);
    emulator.objects.put(path, content.subarray(0, content.length - 1));
  };
  cut(emulator.objects.paths('bucket/root/table.lance/_indices/'));
  assert.equal((await inspect(4))?.isIntact, false);
  cut(emulator.objects.paths('bucket/root/table.lance/_deletions/').slice(-1));
  assert.equal((await inspect(3))?.isIntact, false);
  for (const path of emulator.objects.paths('bucket/root/table.lance/data/')) emulator.objects.remove(path);
  assert.equal((await inspect(1))?.isIntact, false);
});

test('a clone is a table of its own, without the files of other versions', { skip: NO_OBJECT_STORES }, async (t) => {
  const scene = await openScene(t);
  const { emulator, fixture, location } = scene;
  const target = fixture.location('clone');
  const data = emulator.objects.paths('bucket/root/table.lance/data/').length;
  await fixture.writes.cloneTable(location, target, async () =>
    fixture.engine.lifecycle.clone({ ...fixture.state(), version: 1 }, target),
  );
  assert.equal(await countRows(scene, 'clone'), 20);
  assert.ok(emulator.objects.paths('bucket/root/clone.lance/data/').length < data);
  await fixture.writes.removeTable(location);
  assert.deepEqual(emulator.objects.paths('bucket/root/table.lance/'), []);
  assert.equal(await countRows(scene, 'clone'), 20);
});

test('a clone that fails leaves nothing behind', { skip: NO_OBJECT_STORES }, async (t) => {
  const { emulator, fixture, location } = await openScene(t);
  const target = fixture.location('clone');
  emulator.faults.add('error-before', { method: 'PUT', path: /clone\.lance\/_versions/ }, 100);
  const source = { location, branch: undefined, version: 3 };
  await assert.rejects(fixture.storages.clone(source, target), refusal('ServiceUnavailable'));
  assert.deepEqual(emulator.objects.paths('bucket/root/clone.lance/'), []);
  assert.deepEqual(emulator.objects.uploads(), []);
});

test('versions are deleted, but not within the retention of object stores', { skip: NO_OBJECT_STORES }, async (t) => {
  const scene = await openScene(t, { retentionSecondsMin: 600 });
  const { fixture, objects } = scene;
  const target = { location: scene.location, branch: undefined };
  const ranges = [{ start: 1, end: 3 }];
  await assert.rejects(fixture.engine.versions.remove(target, ranges), refusal('InvalidTableState', /600 s/));
  const later = await openWriteFixture(t, { objects: { ...objects, retentionSecondsMin: 0 }, root: ROOT });
  assert.deepEqual(await later.engine.versions.remove(target, ranges), { versions: [1, 2], latest: 3 });
  assert.deepEqual(
    (await later.engine.versions.list(later.state())).map(({ version }) => version),
    [3],
  );
  assert.equal(await countRows(scene), 10);
});

test(
  'maintenance keeps versions for the retention of object stores, whatever its own limits say',
  { skip: NO_OBJECT_STORES },
  async (t) => {
    const limits = {
      ...testLimits().maintenance,
      readerSeconds: 0,
      retentionSeconds: 0,
      versionsMin: 1,
      versionsMax: 1,
    };
    const planCutoff = async (retentionSecondsMin: number) => {
      const { fixture } = await openScene(t, { retentionSecondsMin });
      const now = (): number => Date.now() + 590_000;
      const context = { engine: fixture.engine, background: fixture.writes.background, limits, now };
      const activity = new TableActivity(await fixture.table());
      return (await planMaintenance(context, activity, { isForced: true, removeFrom: 0 })).cutoff;
    };
    assert.equal(typeof (await planCutoff(0)), 'number');
    assert.equal(await planCutoff(600), undefined);
  },
);

test('the retention is longer than the engine repeats a request', { skip: NO_OBJECT_STORES }, async (t) => {
  const emulator = await S3Emulator.start(t);
  const options = { ...emulator.storageOptions, client_retry_timeout: '900' };
  const objects = toObjectSettings(emulator, { options, retentionSecondsMin: 600 });
  const { storages } = await openWriteFixture(t, { objects });
  assert.equal(storages.of(ROOT).retentionSecondsMin, 1800);
});

test('compaction, index refresh and clean-up work', { skip: NO_OBJECT_STORES }, async (t) => {
  const scene = await openScene(t);
  const { emulator, fixture, storage, location } = scene;
  for (let id = 0; id < 5; id += 1) await fixture.update([['score', 'score + 1']], `id = ${id}`);
  const before = await storage.measureTable(location);
  emulator.objects.startUpload('bucket/root/table.lance/data/torn.lance', new Date(Date.now() - 60_000));
  const done = await fixture.writes.background.optimize(location, {
    blocksWriters: true,
    cutoff: undefined,
  });
  assert.ok(done !== undefined && done.fragmentsRemoved > 1);
  const cleaned = await fixture.writes.background.optimize(location, {
    blocksWriters: false,
    cutoff: Infinity,
  });
  assert.ok(cleaned !== undefined && cleaned.versionsRemoved > 3);
  assert.ok((await storage.measureTable(location)) < before);
  assert.equal(await fixture.engine.maintenance.sweep(location, 30_000), 1);
  assert.equal(await countRows(scene), 10);
});

test(
  'a write whose commit cannot be looked at is in doubt, and resolved when the store is back',
  { skip: NO_OBJECT_STORES },
  async (t) => {
    const scene = await openScene(t);
    const { emulator, fixture } = scene;
    emulator.faults.add('error-before', { method: 'GET', path: new RegExp(manifestName(4)) }, 1000);
    const write = async () => fixture.tryInsert(toItems(5), { digest: 'same' });
    assert.equal((await write()).kind, 'in-doubt');
    emulator.faults.clear();
    await eventually(async () => (await write()).kind === 'replayed');
    assert.equal(await countRows(scene), 15);
  },
);

test('a commit whose files the store lost is taken back', { skip: NO_OBJECT_STORES }, async (t) => {
  const scene = await openScene(t);
  const { emulator, fixture } = scene;
  const held = emulator.faults.hold({ method: 'PUT', path: new RegExp(manifestName(4)) });
  const before = new Set(emulator.objects.paths());
  const writing = fixture.tryInsert(toItems(5));
  await held.reached;
  for (const path of emulator.objects.paths()) if (!before.has(path)) emulator.objects.remove(path);
  held.release();
  const result = await writing;
  assert.equal(result.kind, 'refused');
  assert.equal(await countRows(scene), 10);
  await fixture.insert(toItems(5));
  assert.equal(await countRows(scene), 15);
});

test('a folder is removed with everything in it, and nothing beside it', { skip: NO_OBJECT_STORES }, async (t) => {
  const { emulator, storage, location } = await openScene(t);
  emulator.objects.put('bucket/root/table.lance2/data/x', Buffer.from('x'));
  await storage.removeFolder(location);
  assert.deepEqual(emulator.objects.paths(), ['bucket/root/table.lance2/data/x']);
  await storage.removeFolder(location);
});

test('a version with files outside of its directory is refused', { skip: NO_OBJECT_STORES }, async (t) => {
  const { emulator, storage, location } = await openScene(t);
  await storage.refuseForeignFiles(location, 3);
  const path = `bucket/root/table.lance/_versions/${manifestName(3)}`;
  const { content } = emulator.objects.get(path) ?? assert.fail();
  emulator.objects.put(path, withBasePath(content));
  await assert.rejects(storage.refuseForeignFiles(location, 3), refusal('InvalidInput', /outside its directory/));
});

/** Adds `base_paths`, an empty message, to the manifest that a file ends with. */
function withBasePath(file: Buffer): Buffer {
  const start = Number(file.readBigUInt64LE(file.length - 16));
  const length = file.readUInt32LE(start);
  const head = Buffer.from(file.subarray(0, start + 4));
  head.writeUInt32LE(length + 3, start);
  // Field 18, of bytes: tag 146, as a varint.
  return Buffer.concat([
    head,
    file.subarray(start + 4, start + 4 + length),
    Buffer.from([0x92, 0x01, 0]),
    file.subarray(-16),
  ]);
}
