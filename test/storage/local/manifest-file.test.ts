import assert from 'node:assert/strict';
import { readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { manifestName } from '../../../src/storage/format/manifest.ts';
import { locationUri } from '../../../src/model/table.ts';
import { refusal } from '../../support/refusal.ts';
import { commitPlan, latest, openTestEngine, readRows, sql, toStream } from '../../engine/test-engine.ts';
import type { TestEngine } from '../../engine/test-engine.ts';
import { toItems } from '../../engine/sample-tables.ts';

type Tear = (path: string) => Promise<void>;

const TEARS: readonly (readonly [string, Tear])[] = [
  ['empty', async (path) => truncate(path)],
  ['cut in the middle', async (path) => truncate(path, Math.floor((await readFile(path)).length / 2))],
  ['short of its last byte', async (path) => truncate(path, (await readFile(path)).length - 1)],
  ['all zeros', async (path) => writeFile(path, Buffer.alloc((await readFile(path)).length))],
];

async function bump(fixture: TestEngine, branch?: string): Promise<void> {
  const assignments = [{ path: ['score'], expression: sql('score + 1') }] as const;
  const target = { location: fixture.location(), branch };
  await commitPlan(
    fixture.engine,
    target,
    fixture.engine.commits.update(target, { assignments, predicate: undefined }),
  );
}

/** A fixture with a table of three versions, seen by an engine that has not opened it yet. */
async function reopen(t: TestContext, branch?: string) {
  const first = await openTestEngine(t);
  await first.engine.createTable(first.location(), await toStream(toItems(3)), {});
  if (branch !== undefined) await first.engine.versions.createBranch(latest(first.location()), branch);
  for (const _ of [2, 3]) await bump(first, branch);
  const quarantined: unknown[] = [];
  const { engine } = await openTestEngine(t, { onQuarantine: (found) => quarantined.push(found) });
  const folder = locationUri(first.location());
  const versions = join(folder, ...(branch === undefined ? [] : ['tree', branch]), '_versions');
  return { ...first, engine, folder, versions, quarantined };
}

for (const [name, tear] of TEARS) {
  test(`serves the version before when the newest manifest is ${name}, and goes on from there`, async (t) => {
    const fixture = await reopen(t);
    await tear(join(fixture.versions, manifestName(3)));
    assert.equal((await fixture.engine.describeTable(latest(fixture.location()))).version, 2);
    assert.deepEqual(fixture.quarantined, [{ directory: 'table', branch: undefined, version: 3 }]);
    assert.equal((await readdir(join(fixture.folder, '_quarantine'))).length, 1);
    await bump(fixture);
    assert.equal((await fixture.engine.describeTable(latest(fixture.location()))).version, 3);
    assert.deepEqual(
      (await readRows(t, latest(fixture.location()))).map(({ score }) => score),
      [3, 3, 3],
    );
  });
}

test('a torn manifest is found by the first write as well', async (t) => {
  const fixture = await reopen(t);
  await truncate(join(fixture.versions, manifestName(3)));
  await bump(fixture);
  assert.deepEqual(
    (await readRows(t, latest(fixture.location()))).map(({ score }) => score),
    [3, 3, 3],
  );
});

test('several torn manifests are moved aside one after the other', async (t) => {
  const fixture = await reopen(t);
  for (const version of [2, 3]) await truncate(join(fixture.versions, manifestName(version)));
  assert.equal((await fixture.engine.describeTable(latest(fixture.location()))).version, 1);
  assert.equal(fixture.quarantined.length, 2);
});

test('the only manifest stays where it is: the table is damaged, not gone', async (t) => {
  const fixture = await reopen(t);
  for (const version of [1, 2, 3]) await truncate(join(fixture.versions, manifestName(version)));
  await assert.rejects(fixture.engine.describeTable(latest(fixture.location())), refusal('Internal'));
  assert.equal(fixture.quarantined.length, 2);
});

test('a branch goes back to its version before', async (t) => {
  const fixture = await reopen(t, 'side');
  await truncate(join(fixture.versions, manifestName(3)));
  assert.equal((await fixture.engine.describeTable({ ...latest(fixture.location()), branch: 'side' })).version, 2);
  assert.deepEqual(fixture.quarantined, [{ directory: 'table', branch: 'side', version: 3 }]);
});

test('a manifest that is whole stays where it is, whatever else is wrong', async (t) => {
  const fixture = await reopen(t);
  await rm(join(fixture.folder, 'data'), { recursive: true });
  await fixture.engine.describeTable(latest(fixture.location()));
  await assert.rejects(
    fixture.engine.describeTable({ ...latest(fixture.location()), version: 9 }),
    refusal('TableVersionNotFound'),
  );
  assert.deepEqual(fixture.quarantined, []);
  assert.equal((await readdir(fixture.versions)).filter((name) => name.endsWith('.manifest')).length, 3);
});

test('a name of no branch moves nothing aside, wherever it points to', async (t) => {
  const fixture = await reopen(t);
  const other = fixture.location('other');
  await fixture.engine.createTable(other, await toStream(toItems(3)), {});
  const torn = join(locationUri(other), '_versions', manifestName(2));
  await truncate(join(fixture.versions, manifestName(3)), 0);
  await writeFile(torn, '');
  for (const branch of ['../..', '../../other.lance', '..', 'a\u0000b', '/tmp']) {
    await assert.rejects(fixture.engine.describeTable({ location: fixture.location(), branch, version: undefined }));
  }
  assert.deepEqual(await readFile(torn), Buffer.alloc(0));
});
