import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { TableLocation, TableState } from '../../../src/model/table.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { NO_OBJECT_STORES, toObjectSettings } from '../../storage/object/test-stores.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import { commitPlan, openTestEngine, toStream } from '../test-engine.ts';
import { toItems } from '../sample-tables.ts';

interface Scene {
  readonly engine: Engine;
  readonly versions: Engine['versions'];
  readonly location: TableLocation;
  readonly latest: TableState;
}

type Kind = 'path' | 'address' | 'object store';

/** A table of two versions. */
async function openScene(t: TestContext, kind: Kind, options: Record<string, string> = {}): Promise<Scene> {
  const emulator = kind === 'object store' ? await S3Emulator.start(t) : undefined;
  const remote = emulator && { storageOptions: emulator.storageOptions, objects: toObjectSettings(emulator) };
  const { engine, root: folder } = await openTestEngine(t, remote);
  const root = { path: folder, address: `file://${folder}`, 'object store': 's3://bucket/root' }[kind];
  const location: TableLocation = { kind: 'listed', root, directory: 'table' };
  await engine.createTable(location, await toStream(toItems(3)), options);
  const target = { location, branch: undefined };
  await commitPlan(engine, target, engine.commits.restore(target, 1));
  return { engine, versions: engine.versions, location, latest: { location, branch: undefined, version: undefined } };
}

const ALL = { after: undefined, limit: undefined };

for (const kind of ['path', 'address', 'object store'] as const) {
  const title = kind === 'object store' ? 'on an object store' : `on a local disk that is given as ${kind}`;
  suite(title, { skip: kind === 'object store' && NO_OBJECT_STORES }, () => {
    test('tags know their branch', async (t) => {
      const { versions, location, latest } = await openScene(t, kind);
      await versions.createBranch({ ...latest, version: 1 }, 'side');
      await versions.createTag({ location, branch: 'side' }, { tag: 'a', version: 1 });
      await versions.createTag({ location, branch: undefined }, { tag: 'b', version: 2 });
      const tags = await versions.listTags(location, ALL);
      assert.deepEqual(
        tags.map(({ name, version, branch }) => [name, version, branch]),
        [
          ['a', 1, 'side'],
          ['b', 2, undefined],
        ],
      );
      assert.equal((await versions.requireTag(location, 'a')).branch, 'side');
      assert.ok(tags.every(({ manifestBytes }) => manifestBytes > 0));
      assert.ok(tags.every(({ createdAt }) => createdAt !== undefined));
    });

    test('tags and branches can be listed while others are deleted', async (t) => {
      const { engine, versions, location, latest } = await openScene(t, kind);
      await versions.createTag(latest, { tag: 'kept', version: 1 });
      await versions.createBranch(latest, 'kept');
      const change = { isRunning: true };
      const changeOthers = async () => {
        for (let turn = 1; turn <= 20; turn += 1) {
          await versions.createTag(latest, { tag: 'first', version: 1 });
          await versions.createBranch(latest, 'first');
          await versions.removeTag(location, 'first');
          await versions.removeBranch(location, 'first');
        }
      };
      const changing = changeOthers().finally(() => (change.isRunning = false));
      const names = (found: readonly { readonly name: string }[]) => found.map(({ name }) => name).join();
      const isExpected = /^(?:first,)?kept$/;
      const watch = async (look: () => Promise<void>) => {
        while (change.isRunning) await look();
      };
      await Promise.all([
        changing,
        watch(async () => assert.match(names(await versions.listTags(location, ALL)), isExpected)),
        watch(async () => assert.match(names(await versions.listBranches(location, ALL)), isExpected)),
        watch(async () => {
          const page = await versions.listTags(location, { after: undefined, limit: 1 });
          assert.match(names(page), /^(?:first|kept)$/);
        }),
        watch(async () => void (await engine.maintenance.readHistory(location))),
      ]);
    });

    test('branches know when and where they started', async (t) => {
      const { versions, location, latest } = await openScene(t, kind);
      assert.equal(await versions.createBranch(latest, 'one'), 2);
      assert.equal(await versions.createBranch({ location, branch: 'one', version: 2 }, 'two/three'), 2);
      const branches = await versions.listBranches(location, ALL);
      assert.deepEqual(
        branches.map(({ name, parentBranch, parentVersion }) => [name, parentBranch, parentVersion]),
        [
          ['one', undefined, 2],
          ['two/three', 'one', 2],
        ],
      );
      for (const { createdAtSeconds } of branches) assert.ok(Math.abs(createdAtSeconds - Date.now() / 1000) < 600);
      assert.equal(await versions.removeBranch(location, 'two/three'), 2);
    });

    test('a deleted branch is gone, and those whose names lie below its own are not', async (t) => {
      const { versions, location, latest } = await openScene(t, kind);
      const below = ['one/two', 'one/data', 'one/data/three'];
      for (const name of ['one', ...below]) await versions.createBranch(latest, name);
      await versions.removeBranch(location, 'one');
      await assert.rejects(versions.list({ ...latest, branch: 'one' }), { kind: 'TableBranchNotFound' });
      for (const branch of below) assert.equal((await versions.list({ ...latest, branch })).length, 1);
      assert.equal(await versions.createBranch({ ...latest, version: 1 }, 'one'), 1);
      assert.equal((await versions.list({ ...latest, branch: 'one' }))[0]?.version, 1);
      for (const branch of below) assert.equal((await versions.list({ ...latest, branch })).length, 1);
    });
  });
}

test('a restore that waited names what it takes from the version that it follows', async (t) => {
  const { engine, location } = await openScene(t, 'path');
  const target = { location, branch: undefined };
  const restore = engine.commits.restore(target, 1);
  await commitPlan(
    engine,
    target,
    engine.commits.addColumns([{ kind: 'null', name: 'late', type: { kind: 'utf8', layout: 'plain' } }], 10),
  );
  assert.deepEqual(await commitPlan(engine, target, restore), { version: 4, columns: ['late'], indexes: [] });
});

test('reports sizes of manifests and removes versions', async (t) => {
  for (const kind of ['path', 'address'] as const) {
    const { versions, location, latest } = await openScene(t, kind);
    const [first] = await versions.list(latest);
    assert.ok(first !== undefined);
    const path = first.manifestPath.replace(/^file:\/\//, '');
    assert.equal(await versions.measure(location, first), (await stat(path)).size);
    await versions.remove({ location, branch: undefined }, [{ start: 1, end: 2 }]);
    await assert.rejects(stat(path), { code: 'ENOENT' });
  }
  if (NO_OBJECT_STORES !== false) return;
  const remote = await openScene(t, 'object store');
  const [same] = await remote.versions.list(remote.latest);
  assert.ok(same !== undefined);
  assert.ok(((await remote.versions.measure(remote.location, same)) ?? 0) > 100);
  await remote.versions.remove({ location: remote.location, branch: undefined }, [{ start: 1, end: 2 }]);
  assert.equal(await remote.versions.measure(remote.location, same), undefined);
  assert.deepEqual(
    (await remote.versions.list(remote.latest)).map(({ version }) => version),
    [2],
  );
});

test('the manifests of old tables are named by their numbers', async (t) => {
  const { versions, location, latest } = await openScene(t, 'path', { new_table_enable_v2_manifest_paths: 'false' });
  const listed = await versions.list(latest);
  assert.deepEqual(
    listed.map(({ manifestPath }) => manifestPath.slice(manifestPath.lastIndexOf('/') + 1)),
    ['1.manifest', '2.manifest'],
  );
  for (const { manifestPath } of listed) assert.ok((await stat(manifestPath)).isFile());
  assert.deepEqual(await versions.remove({ location, branch: undefined }, [{ start: 0, end: 2 }]), {
    versions: [1],
    latest: 2,
  });
  assert.equal((await versions.list(latest)).length, 1);
});

test('lists no later version while readers are held at one', async (t) => {
  const { versions, latest } = await openScene(t, 'path');
  const listed = await versions.list({ ...latest, version: 1 });
  assert.deepEqual(
    listed.map(({ version }) => version),
    [1],
  );
});
