import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { DISK } from '../../../src/storage/sync/file-sync.ts';
import type { FileSync } from '../../../src/storage/sync/file-sync.ts';
import { locationUri } from '../../../src/model/table.ts';
import { refusal } from '../../support/refusal.ts';
import { latest, toStream } from '../../engine/test-engine.ts';
import { toItems } from '../../engine/sample-tables.ts';
import { openWriteFixture as openTestEngine } from '../../writes/write-fixture.ts';
import type { WriteFixture } from '../../writes/write-fixture.ts';

/** A disk that tells what was synced, and may be told to wait or to fail. */
class TestDisk implements FileSync {
  readonly synced: string[] = [];
  gate: Promise<void> | undefined;
  fault: Error | undefined;
  failures = 0;

  async sync(path: string): Promise<void> {
    await this.gate;
    if (this.fault !== undefined) {
      this.failures += 1;
      throw this.fault;
    }
    await DISK.sync(path);
    this.synced.push(path);
  }
}

type Entries = ReadonlyMap<string, number>;

/** Every file and folder at and below a path, with its inode: one that was replaced is a new one. */
async function listEntries(path: string): Promise<Entries> {
  const entries = new Map<string, number>();
  const walk = async (each: string): Promise<void> => {
    const found = await lstat(each).catch(() => undefined);
    if (found === undefined) return;
    entries.set(each, found.ino);
    if (found.isDirectory()) for (const name of await readdir(each)) await walk(join(each, name));
  };
  await walk(path);
  return entries;
}

/** What the engine does without: see power-loss.test.ts. */
const EXPENDABLE = /\/_transactions(?:\/|$)|\/_versions\/latest_version_hint\.json$/;

function assertSynced(before: Entries, after: Entries, synced: readonly string[]): void {
  const made = [...after].filter(([path, inode]) => before.get(path) !== inode).map(([path]) => path);
  assert.ok(made.length > 0, 'the write made nothing');
  for (const path of made) {
    if (EXPENDABLE.test(path)) {
      assert.ok(!synced.includes(path), `${path} was synced`);
      continue;
    }
    assert.ok(synced.includes(path), `${path} was not synced`);
    const parent = synced.lastIndexOf(dirname(path));
    assert.ok(parent >= 0, `the folder of ${path} was not synced`);
    if (isFile(path)) assert.ok(parent > synced.indexOf(path), `the folder of ${path} was synced before it`);
  }
}

function isFile(path: string): boolean {
  return statSync(path).isFile();
}

type Write = (fixture: WriteFixture) => Promise<unknown>;

function target(fixture: WriteFixture, branch?: string) {
  return { location: fixture.location(), branch };
}

async function increment(fixture: WriteFixture, branch?: string, directory = 'table') {
  return fixture.update([['id', 'id + 0']], 'id = 1', { directory, ...(branch === undefined ? {} : { branch }) });
}

/** Work that is one file of the engine's own, such as a tag. */
async function exclusive(fixture: WriteFixture, work: () => Promise<unknown>) {
  return fixture.writes.exclusive(fixture.location(), work);
}

const WRITES: readonly (readonly [name: string, write: Write])[] = [
  ['an update', async (fixture) => increment(fixture)],
  ['an update again', async (fixture) => increment(fixture)],
  ['an insert', async (fixture) => insert(fixture, 3)],
  ['an insert of several commits', async (fixture) => insert(fixture, 5000)],
  ['a delete', async (fixture) => fixture.delete('id = 2')],
  ['a merge', async (fixture) => fixture.merge(toItems(2))],
  ['an overwrite', async (fixture) => fixture.insert(toItems(6), { mode: 'overwrite' })],
  ['an overwrite of several commits', async (fixture) => insert(fixture, 5000, 'overwrite')],
  ['a new column', async (fixture) => fixture.addColumn('twice', 'id * 2')],
  ['an index', async (fixture) => buildIndex(fixture)],
  ['the same index again', async (fixture) => buildIndex(fixture)],
  ['an update beside an index', async (fixture) => increment(fixture)],
  ['a dropped index', async (fixture) => fixture.dropIndex('by_id')],
  [
    'a tag',
    async (fixture) =>
      exclusive(fixture, async () => fixture.engine.versions.createTag(target(fixture), { tag: 'first', version: 1 })),
  ],
  [
    'a moved tag',
    async (fixture) =>
      exclusive(fixture, async () => fixture.engine.versions.updateTag(target(fixture), { tag: 'first', version: 2 })),
  ],
  [
    'a branch',
    async (fixture) =>
      exclusive(fixture, async () => fixture.engine.versions.createBranch(latest(fixture.location()), 'a/data')),
  ],
  ['an update of a branch', async (fixture) => increment(fixture, 'a/data')],
  ['a second update of a branch', async (fixture) => increment(fixture, 'a/data')],
  ['restored contents', async (fixture) => fixture.restore(1)],
  ['schema metadata', async (fixture) => fixture.schemaMetadata({ owner: 'us' })],
  [
    'field metadata',
    async (fixture) => fixture.fieldMetadata([{ path: ['id'], metadata: { unit: 'm' }, replace: false }]),
  ],
];

async function insert(fixture: WriteFixture, rows: number, mode: 'append' | 'overwrite' = 'append') {
  return fixture.insert(await toStream(toItems(rows), { chunkBytes: 2048 }), { mode });
}

async function buildIndex(fixture: WriteFixture) {
  const spec = { kind: 'scalar', type: 'BTREE' } as const;
  const request = { column: ['id'], name: 'by_id', replace: true, spec } as const;
  return fixture.writes.background.buildIndex(target(fixture), request, () => {});
}

test('every file and folder that a commit made is synced before it is told, folders after their files', async (t) => {
  const disk = new TestDisk();
  const fixture = await openTestEngine(t, { disk });
  const folder = locationUri(fixture.location());
  const write = async (name: string, work: Write): Promise<void> =>
    t.test(name, async () => {
      const before = await listEntries(folder);
      disk.synced.length = 0;
      await work(fixture);
      const synced = [...disk.synced];
      assertSynced(before, await listEntries(folder), synced);
    });
  await write('a create of several commits', async (each) =>
    each.create(await toStream(toItems(500), { chunkBytes: 2048 })),
  );
  for (const [name, work] of WRITES) await write(name, work);
});

test('an insert costs four syncs: its data, its manifest, and the folders of both', async (t) => {
  const disk = new TestDisk();
  const fixture = await openTestEngine(t, { disk });
  await fixture.create(toItems(3));
  await insert(fixture, 1);
  disk.synced.length = 0;
  await insert(fixture, 1);
  assert.equal(disk.synced.length, 4);
});

test('a tag that is called like the hint of versions is synced', async (t) => {
  const disk = new TestDisk();
  const fixture = await openTestEngine(t, { disk });
  await fixture.create(toItems(3));
  const tag = { tag: 'latest_version_hint', version: 1 };
  await exclusive(fixture, async () => fixture.engine.versions.createTag(target(fixture), tag));
  const path = join(locationUri(fixture.location()), '_refs', 'tags', 'latest_version_hint.json');
  assert.ok(disk.synced.includes(path));
});

test('a clone is synced whole, with its own entry', async (t) => {
  const disk = new TestDisk();
  const fixture = await openTestEngine(t, { disk });
  await fixture.create(toItems(3));
  disk.synced.length = 0;
  const clone = fixture.location('clone');
  await fixture.writes.cloneTable(fixture.location(), clone, async () =>
    fixture.engine.lifecycle.clone(latest(fixture.location()), clone),
  );
  const synced = [...disk.synced];
  assertSynced(new Map(), await listEntries(locationUri(fixture.location('clone'))), synced);
});

test('the first write to a table of a former process is synced as well', async (t) => {
  const first = await openTestEngine(t);
  await first.create(toItems(3));
  const disk = new TestDisk();
  const fixture = await openTestEngine(t, { disk, folder: first.folder });
  const folder = locationUri(fixture.location());
  const before = await listEntries(folder);
  await increment(fixture);
  assertSynced(before, await listEntries(folder), [...disk.synced]);
});

test('the next write runs while the disk works, and is told no earlier than the one before', async (t) => {
  const disk = new TestDisk();
  const fixture = await openTestEngine(t, { disk });
  await fixture.create(toItems(3));
  let open: () => void = () => {};
  disk.gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const told: string[] = [];
  const writes = ['first', 'second', 'third'].map(async (name) => {
    await increment(fixture);
    told.push(name);
  });
  while ((await fixture.version()) < 4) await new Promise(setImmediate);
  assert.deepEqual(told, []);
  open();
  await Promise.all(writes);
  assert.equal(told[0], 'first');
});

test('a failed sync fails the write and those after it; reads go on, and so do other tables', async (t) => {
  const disk = new TestDisk();
  const fixture = await openTestEngine(t, { disk });
  await fixture.create(toItems(3));
  await fixture.create(toItems(3), 'other');
  disk.fault = new Error('EIO: i/o error, fsync');
  await assert.rejects(increment(fixture), refusal('ServiceUnavailable', /not known whether it was applied/));
  disk.fault = undefined;
  await assert.rejects(increment(fixture), refusal('ServiceUnavailable', /read-only until the server restarts/));
  await assert.rejects(insert(fixture, 2), refusal('ServiceUnavailable', /read-only/));
  await fixture.version();
  await increment(fixture, undefined, 'other');
  // As after a restart.
  await increment(await openTestEngine(t, { folder: fixture.folder }));
});

/** As `open` fails when the process has no file handle left. */
function shortage(): Error {
  return Object.assign(new Error('EMFILE: too many open files, open'), { code: 'EMFILE', syscall: 'open' });
}

test('a sync that finds no free file handle is tried again until there is one', async (t) => {
  const disk = new TestDisk();
  const fixture = await openTestEngine(t, { disk });
  await fixture.create(toItems(3));
  disk.fault = shortage();
  const before = disk.failures;
  const update = increment(fixture);
  while (disk.failures < before + 3) await new Promise(setImmediate);
  disk.fault = undefined;
  await update;
});

test('a lasting lack of file handles fails the write, not the table, and what it made is synced by the next', async (t) => {
  const disk = new TestDisk();
  const fixture = await openTestEngine(t, { disk, shortageMilliseconds: 50 });
  await fixture.create(toItems(3));
  const folder = locationUri(fixture.location());
  const before = await listEntries(folder);
  disk.fault = shortage();
  await assert.rejects(increment(fixture), refusal('ServiceUnavailable', /not known whether it was applied/));
  const made = await listEntries(folder);
  await assert.rejects(increment(fixture), refusal('ServiceUnavailable', /was not applied/));
  assert.deepEqual(await listEntries(folder), made, 'a refused write leaves nothing');
  disk.fault = undefined;
  disk.synced.length = 0;
  await increment(fixture);
  assertSynced(before, await listEntries(folder), [...disk.synced]);
});

test('what a failed sync did not sync is kept, however many other tables are written meanwhile', async (t) => {
  const disk = new TestDisk();
  const fixture = await openTestEngine(t, { disk, shortageMilliseconds: 50, watchedTablesMax: 1 });
  for (const name of ['table', 'other', 'third']) {
    await fixture.create(toItems(3), name);
  }
  const folder = locationUri(fixture.location());
  const before = await listEntries(folder);
  disk.fault = shortage();
  await assert.rejects(increment(fixture), refusal('ServiceUnavailable'));
  disk.fault = undefined;
  for (const name of ['other', 'third', 'other']) await increment(fixture, undefined, name);
  disk.synced.length = 0;
  await increment(fixture);
  assertSynced(before, await listEntries(folder), [...disk.synced]);
});

test('without syncs nothing is synced', async (t) => {
  const disk = new TestDisk();
  const fixture = await openTestEngine(t, { disk, sync: 'os' });
  await fixture.create(toItems(3));
  await increment(fixture);
  assert.deepEqual(disk.synced, []);
});
