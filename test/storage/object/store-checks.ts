import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { connect } from '@lancedb/lancedb';
import type { TableLocation } from '../../../src/model/table.ts';
import { probeConditionalWrites } from '../../../src/storage/object/probe.ts';
import type { ObjectSettings } from '../../../src/storage/object/object-stores.ts';
import type { FoundObject, ObjectStore } from '../../../src/storage/object/object-store.ts';
import { toItems } from '../../engine/sample-tables.ts';
import { refusal } from '../../support/refusal.ts';
import { openWriteFixture } from '../../writes/write-fixture.ts';
import type { WriteFixture } from '../../writes/write-fixture.ts';
import { collect } from './test-stores.ts';

const KEYS = ['plain', 'a b/c+d', "it's (1)*!", 'ü/✓', 'a&b<c>"d"', '100%', 'a=b?c#d'];

/** What every kind of store must do, in a bucket that is empty. */
export async function checkObjects(store: ObjectStore, bucket: string): Promise<void> {
  for (const key of KEYS) {
    assert.equal(await store.get(key), undefined);
    assert.equal(await store.measure(key), undefined);
    await store.put(key, Buffer.from(key));
    assert.equal((await store.get(key))?.toString(), key);
    assert.equal(await store.measure(key), Buffer.byteLength(key));
    await store.copy({ bucket, key, bytes: key.length }, `copy/${key}`);
    assert.equal((await store.get(`copy/${key}`))?.toString(), key);
  }
  const listed = await collect(store.list('copy/'));
  assert.deepEqual(listed.map(({ key }) => key).toSorted(), KEYS.map((key) => `copy/${key}`).toSorted());
  for (const { key, bytes } of listed) assert.equal(bytes, Buffer.byteLength(key) - 'copy/'.length);
  for (const { modifiedAtMilliseconds } of listed) assert.ok(Math.abs(modifiedAtMilliseconds - Date.now()) < 600_000);
  assert.equal((await collect(store.list('copy/', 2))).length, 2);
  await store.remove([...KEYS, 'missing']);
  await store.remove(['copy/plain']);
  assert.equal((await collect(store.list(''))).length, KEYS.length - 1);
  await checkRanges(store);
  await checkUploads(store);
  await checkConditions(store);
  await store.remove((await collect(store.list(''))).map(({ key }) => key));
  assert.deepEqual(await collect(store.list('')), []);
}

async function checkRanges(store: ObjectStore): Promise<void> {
  await store.put('range', Buffer.from('0123456789'));
  const part = await store.getRange('range', 7, 2);
  assert.deepEqual([part?.content.toString(), part?.objectBytes], ['78', 10]);
  assert.equal((await store.getRange('range', 8, 100))?.content.toString(), '89');
  assert.equal(await store.getRange('range', 10, 1), undefined);
  assert.equal(await store.getRange('missing', 0, 1), undefined);
}

/** Larger than one part. */
const UPLOAD_BYTES = 20 * 2 ** 20;

async function checkUploads(store: ObjectStore): Promise<void> {
  const content = Buffer.alloc(
    UPLOAD_BYTES,
    Uint8Array.from({ length: 251 }, (_, index) => index),
  );
  for (const bytes of [0, 10, UPLOAD_BYTES]) {
    const readPart = async (start: number, length: number): Promise<Buffer> => content.subarray(start, start + length);
    await store.upload('upload/a b', { bytes, readPart });
    assert.ok((await store.get('upload/a b'))?.equals(content.subarray(0, bytes)));
  }
}

async function checkConditions(store: ObjectStore): Promise<void> {
  assert.equal(await store.putIfAbsent('key', Buffer.from('one')), true);
  assert.equal(await store.putIfAbsent('key', Buffer.from('two')), false);
  assert.equal(await store.putIfAbsent('key', Buffer.from('one')), false);
  assert.equal((await store.get('key'))?.toString(), 'one');
  await checkChanges(store);
  await probeConditionalWrites(store, 'probe');
  assert.deepEqual(await collect(store.list('probe')), []);
}

/** Of an object that others may change at the same time. */
async function checkChanges(store: ObjectStore): Promise<void> {
  assert.equal(await store.find('changed'), undefined);
  await store.put('changed', Buffer.from('one'));
  const one = await findObject(store);
  assert.equal(await store.putIf('changed', Buffer.from('two'), one.isUnchanged), true);
  assert.equal(await store.putIf('changed', Buffer.from('late'), one.isUnchanged), false);
  assert.equal((await store.get('changed'))?.toString(), 'two');
  const two = await findObject(store);
  await store.remove(['changed']);
  assert.equal(await store.putIf('changed', Buffer.from('late'), two.isUnchanged), false);
  assert.equal(await store.get('changed'), undefined);
}

/** Not every store has them. */
export async function checkConditionalRemoval(store: ObjectStore): Promise<void> {
  await store.put('changed', Buffer.from('one'));
  const one = await findObject(store);
  await store.put('changed', Buffer.from('two'));
  assert.equal(await store.removeIf('changed', one.isUnchanged), false);
  assert.equal((await store.get('changed'))?.toString(), 'two');
  assert.equal(await store.removeIf('changed', (await findObject(store)).isUnchanged), true);
  assert.equal(await store.get('changed'), undefined);
}

async function findObject(store: ObjectStore): Promise<FoundObject> {
  const found = await store.find('changed');
  assert.ok(found !== undefined);
  return found;
}

/** What the engine and the storage must do together below a root. */
export async function checkTables(t: TestContext, root: string, objects: ObjectSettings): Promise<void> {
  const fixture = await openWriteFixture(t, { objects, root });
  const rowsOf = async (directory?: string): Promise<number> =>
    (await fixture.engine.versions.stats(fixture.state(directory))).numRows;
  const storage = fixture.storages.of(root);
  const location = fixture.location();
  await fixture.create(toItems(20));
  await fixture.update([['score', '7']], 'id < 5');
  await fixture.delete('id >= 10');
  const commits = (await storage.readCommits(location, undefined, 0)) ?? [];
  assert.deepEqual(
    commits.map(({ version, kind, rows }) => [version, kind, rows]),
    [
      [1, 'overwrite', 20],
      [2, 'update', 20],
      [3, 'delete', 10],
    ],
  );
  for (const version of [1, 2, 3]) {
    assert.equal((await storage.inspectCommit(location, undefined, version))?.isIntact, true);
  }
  await fixture.engine.versions.createTag({ location, branch: undefined }, { tag: 'first', version: 1 });
  assert.ok((await fixture.engine.versions.requireTag(location, 'first')).createdAt !== undefined);
  await checkTags(fixture, location, objects);
  const target = fixture.location('clone');
  await fixture.writes.cloneTable(location, target, async () =>
    fixture.engine.lifecycle.clone({ ...fixture.state(), version: 2 }, target),
  );
  assert.deepEqual(await fixture.engine.versions.remove({ location, branch: undefined }, [{ start: 2, end: 3 }]), {
    versions: [2],
    latest: 3,
  });
  assert.ok((await storage.measureTable(location)) > 0);
  assert.equal(await fixture.engine.maintenance.sweep(location, 1000), 0);
  assert.equal(await storage.hasDirectory('clone.lance'), true);
  await fixture.writes.removeTable(location);
  assert.equal(await storage.measureTable(location), 0);
  assert.equal(await rowsOf('clone'), 20);
  await storage.removeFolder(target);
  assert.equal(await storage.hasDirectory('clone.lance'), false);
}

/** Tags of the service are those of the engine, and the other way round. */
async function checkTags({ engine, storages }: WriteFixture, location: TableLocation, objects: ObjectSettings) {
  const { versions } = engine;
  const main = { location, branch: undefined };
  const db = await connect(location.root, { storageOptions: { ...objects.options } });
  const tags = await (await db.openTable(location.directory.replace(/\.lance$/, ''))).tags();
  const describe = async (tag: string) => {
    const file = (await storages.of(location.root).readRefFile(location, 'tags', tag)) ?? {};
    const { createdAt, updatedAt, ...same } = file;
    // The engine leaves out nanoseconds that are zero.
    const times = [createdAt, updatedAt].map((time) => /T[\d:]{8}\.(?:\d{3}){1,3}Z$/.test(String(time)));
    return { same, names: Object.keys(file), times, isNew: createdAt === updatedAt };
  };
  await versions.createTag(main, { tag: 'ours', version: 1 });
  await tags.create('theirs', 1);
  assert.deepEqual(await describe('ours'), await describe('theirs'));
  await versions.updateTag(main, { tag: 'ours', version: 2 });
  await tags.update('theirs', 2);
  assert.deepEqual(await describe('ours'), await describe('theirs'));
  await tags.update('ours', 3);
  await versions.updateTag(main, { tag: 'theirs', version: 3 });
  assert.deepEqual(await describe('ours'), await describe('theirs'));
  const found = await tags.list();
  assert.deepEqual([found['ours']?.version, found['theirs']?.version], [3, 3]);
  await versions.createBranch({ ...main, version: 3 }, 'side');
  await versions.updateTag({ location, branch: 'side' }, { tag: 'ours', version: 3 });
  assert.equal((await versions.requireTag(location, 'ours')).branch, 'side');
  await checkTagRefusals(versions, location);
  for (const tag of ['ours', 'theirs']) await versions.removeTag(location, tag);
  assert.deepEqual(Object.keys(await tags.list()), ['first']);
  await versions.removeBranch(location, 'side');
  db.close();
}

async function checkTagRefusals(versions: WriteFixture['engine']['versions'], location: TableLocation): Promise<void> {
  const main = { location, branch: undefined };
  const refusals = [
    [versions.createTag(main, { tag: 'ours', version: 1 }), refusal('TableTagAlreadyExists', /The tag "ours" already/)],
    [versions.createTag(main, { tag: 'new', version: 9 }), refusal('TableVersionNotFound', /no version 9 on this/)],
    [versions.updateTag(main, { tag: 'ours', version: 9 }), refusal('TableVersionNotFound', /no version 9 on this/)],
    [versions.updateTag(main, { tag: 'none', version: 1 }), refusal('TableTagNotFound', /The tag "none" was not/)],
    [versions.removeTag(location, 'none'), refusal('TableTagNotFound', /The tag "none" was not/)],
    [
      versions.createTag({ location, branch: 'none' }, { tag: 'new', version: 1 }),
      refusal('TableBranchNotFound', /The branch "none" was not/),
    ],
  ] as const;
  await Promise.all(refusals.map(async ([change, expected]) => assert.rejects(change, expected)));
}
