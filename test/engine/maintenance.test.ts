import assert from 'node:assert/strict';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { isRead } from '../../src/arrow/results/result-framing.ts';
import type { Optimization, OptimizeRequest } from '../../src/engine/engine.ts';
import { parseFieldPath } from '../../src/model/field-path.ts';
import { locationUri } from '../../src/model/table.ts';
import type { TableState } from '../../src/model/table.ts';
import type { TestEngine } from './test-engine.ts';
import {
  commitPlan,
  latest,
  openApart,
  openTable,
  openTestEngine,
  readRows,
  sql,
  toQuery,
  toStream,
} from './test-engine.ts';
import { watchCommits } from './watched-native.ts';
import { refusal } from '../support/refusal.ts';
import { toItems } from './sample-tables.ts';

const NO_TIMEOUT = { seconds: undefined, signal: () => new AbortController().signal };
const ALL_OLD = { blocksWriters: true, cutoff: Infinity };

type Scene = TestEngine & { readonly table: TableState };

async function openScene(t: TestContext, rows: number): Promise<Scene> {
  return openTable(t, toItems(rows));
}

async function update({ engine, table }: Scene, predicate?: string): Promise<void> {
  const assignments = [{ path: parseFieldPath('score'), expression: sql('score + 1') }];
  const request = { assignments, predicate: predicate === undefined ? undefined : sql(predicate) };
  await commitPlan(engine, table, engine.commits.update(table, request));
}

async function optimize({ engine, table }: Scene, request: OptimizeRequest): Promise<Optimization | undefined> {
  return (await engine.maintenance.startOptimize(table.location, request)).finish();
}

test('a compaction leaves one fragment and the same rows, and the next read sees its version', async (t) => {
  const scene = await openScene(t, 50);
  const { engine, table } = scene;
  for (let id = 0; id < 10; id += 1) await update(scene, `id = ${id}`);
  const before = await engine.maintenance.assess(table.location);
  assert.deepEqual([before.fragments, before.smallFragments, before.rows], [11, 11, 50]);
  const rows = await readRows(t, table);
  const done = await optimize(scene, { blocksWriters: true, cutoff: undefined });
  assert.deepEqual([done?.fragmentsRemoved, done?.fragmentsAdded, done?.versionsRemoved], [11, 1, 0]);
  const after = await engine.maintenance.assess(table.location);
  assert.deepEqual([after.fragments, after.rows, after.version], [1, 50, done?.version]);
  assert.equal((await engine.describeTable(table)).version, done?.version);
  const byId = (one: Record<string, unknown>, other: Record<string, unknown>) =>
    Number(one['id']) - Number(other['id']);
  assert.deepEqual((await readRows(t, table)).toSorted(byId), rows.toSorted(byId));
});

test('versions can be listed while old ones are removed', async (t) => {
  const scene = await openScene(t, 3);
  const { engine, table } = scene;
  for (let version = 2; version <= 200; version += 1)
    await commitPlan(engine, table, engine.commits.delete(sql('id = 9')));
  const removal = { isRunning: true };
  const removing = optimize(scene, ALL_OLD).finally(() => (removal.isRunning = false));
  while (removal.isRunning) {
    const versions = await engine.versions.list(table);
    assert.equal(versions.at(-1)?.version, 200);
    const history = await engine.maintenance.readHistory(table.location);
    assert.equal(history.versions.at(-1)?.version, 200);
  }
  assert.equal((await removing)?.versionsRemoved, 199);
});

test('the latest version can be cloned while old ones are removed', async (t) => {
  const scene = await openScene(t, 3);
  const { engine, table, location } = scene;
  for (let version = 2; version <= 200; version += 1)
    await commitPlan(engine, table, engine.commits.delete(sql('id = 9')));
  const removal = { isRunning: true };
  const removing = optimize(scene, ALL_OLD).finally(() => (removal.isRunning = false));
  for (let clone = 1; removal.isRunning; clone += 1)
    assert.equal(await engine.lifecycle.clone(table, location(`clone${clone}`)), 200);
  await removing;
  const copied = await readdir(join(locationUri(location('clone1')), '_transactions'));
  assert.equal(copied.length, 1);
});

test('a compaction is completed although a tag is deleted while the engine reads all tags', async (t) => {
  let failures = 2;
  const native = watchCommits(async (call, name) => {
    if (name === 'optimize' && failures-- > 0)
      throw new Error('lance error: Not found: root/t.lance/_refs/tags/a.json');
    return call();
  });
  const { engine, location, ...rest } = await openTestEngine(t, {}, native);
  const scene = { engine, location, ...rest, table: latest(location()) };
  await engine.createTable(scene.table.location, await toStream(toItems(3)), {});
  await update(scene, 'id = 1');
  const done = await optimize(scene, { blocksWriters: false, cutoff: undefined });
  assert.deepEqual([done?.fragmentsRemoved, done?.fragmentsAdded], [2, 1]);
});

test('a result that is still being read pins its version; when it is over or left, it does not', async (t) => {
  const scene = await openScene(t, 200);
  const { engine, table } = scene;
  const pinned = async () => (await engine.maintenance.readHistory(table.location)).keptFromVersion;
  assert.equal(await pinned(), Infinity);
  const [first, second] = [
    await engine.rows.query(table, toQuery({}), NO_TIMEOUT),
    await engine.rows.query(table, toQuery({}), NO_TIMEOUT),
  ];
  await update(scene);
  assert.equal(await pinned(), 1);
  for await (const file of first.files) assert.ok(file.length > 0);
  assert.equal(await pinned(), 1);
  assert.ok(!isRead(second.files));
  await second.files[Symbol.asyncIterator]().return?.();
  assert.equal(await pinned(), Infinity);
});

test('a tag pins its version, and a removal that would take it is refused as a conflict', async (t) => {
  const scene = await openScene(t, 5);
  const { engine, table } = scene;
  await engine.versions.createTag(table, { tag: 'kept', version: 1 });
  await update(scene);
  assert.equal((await engine.maintenance.readHistory(table.location)).keptFromVersion, 1);
  await assert.rejects(optimize(scene, ALL_OLD), { kind: 'ConcurrentModification' });
  await engine.versions.removeTag(table.location, 'kept');
  const done = await optimize(scene, ALL_OLD);
  assert.ok(done !== undefined && done.versionsRemoved > 0);
  const { versions, diskBytes } = await engine.maintenance.readHistory(table.location);
  assert.equal(versions.length, 1);
  assert.ok(diskBytes !== undefined && diskBytes > 0);
});

test('branches keep their rows when the versions that they started at are removed', async (t) => {
  const scene = await openScene(t, 30);
  const { engine, table } = scene;
  await engine.versions.createBranch(table, 'side');
  for (let turn = 0; turn < 5; turn += 1) await update(scene);
  await optimize(scene, ALL_OLD);
  const side = await openApart(t, { ...table, branch: 'side' });
  assert.equal(await side.countRows(), 30);
  assert.equal(await side.countRows('score = 1'), 30);
});

test('sweeps old unfinished files of dead writers; keeps recent files and those of a version', async (t) => {
  const { engine, table } = await openScene(t, 5);
  const folder = join(locationUri(table.location), '_versions');
  const [old, young] = ['5.manifest#1', '6.manifest#1'];
  for (const name of [old, young, '.tmp_kept']) await writeFile(join(folder, name), 'half');
  await utimes(join(folder, old), 1, 1);
  const named = (await readdir(folder)).filter((name) => name !== old);
  assert.equal(await engine.maintenance.sweep(table.location, 60_000), 1);
  assert.deepEqual((await readdir(folder)).toSorted(), named.toSorted());
});

test('a version that is being removed cannot be restored, tagged, branched from or cloned; others can', async (t) => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const native = watchCommits(async (call, name) => {
    if (name === 'optimize') await held;
    return call();
  });
  const { engine, location } = await openTestEngine(t, {}, native);
  const table = latest(location());
  await engine.createTable(table.location, await toStream(toItems(3)), {});
  for (let version = 2; version <= 4; version += 1)
    await commitPlan(engine, table, engine.commits.delete(sql('id = 9')));
  const { finish } = await engine.maintenance.startOptimize(table.location, { ...ALL_OLD, blocksWriters: false });
  const refused = refusal('ServiceUnavailable', /being removed, and version 2 /);
  await assert.rejects(commitPlan(engine, table, engine.commits.restore(table, 2)), refused);
  await assert.rejects(engine.versions.createTag(table, { tag: 'old', version: 2 }), refused);
  await assert.rejects(engine.versions.createBranch({ ...table, version: 2 }, 'old'), refused);
  await assert.rejects(engine.lifecycle.clone({ ...table, version: 2 }, location('old')), refused);
  await engine.versions.createTag(table, { tag: 'new', version: 4 });
  assert.equal(await engine.lifecycle.clone({ ...table, version: 4 }, location('new')), 4);
  release();
  await finish();
  await assert.rejects(commitPlan(engine, table, engine.commits.restore(table, 2)), refusal('TableVersionNotFound'));
});
