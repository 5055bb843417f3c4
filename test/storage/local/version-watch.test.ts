import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { mkdir, rm, statfs, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { watchVersions } from '../../../src/storage/local/version-watch.ts';
import type { VersionWatch } from '../../../src/storage/storage.ts';
import { locationUri } from '../../../src/model/table.ts';
import { commitPlan, openTable, sql } from '../../engine/test-engine.ts';
import { toItems } from '../../engine/sample-tables.ts';
import { eventually } from '../../support/eventually.ts';
import { makeFolder } from '../../support/temporary-folder.ts';

const LONG_AGO = 1_600_000_000.25;

/** The clock of file times ticks at least once in this time. */
const TICK_MILLISECONDS = 20;

async function openFolder(t: TestContext): Promise<{ readonly folder: string; readonly watch: VersionWatch }> {
  const root = await makeFolder(t);
  const folder = join(root, 'table.lance', '_versions');
  await mkdir(folder, { recursive: true });
  return { folder, watch: await watchVersions(join(root, 'table.lance')) };
}

const LOCAL = [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630];
const isLocal = LOCAL.includes((await statfs(tmpdir())).type);

test('gives the same stamp while nothing changes, and another one after', { skip: !isLocal }, async (t) => {
  const { folder, watch } = await openFolder(t);
  await utimes(folder, LONG_AGO, LONG_AGO);
  const before = watch.read();
  assert.equal(before?.isSettled, true);
  assert.deepEqual(watch.read(), before);
  await writeFile(join(folder, '2.manifest'), '');
  assert.notEqual(watch.read()?.text, before?.text);
});

test(
  'reads of one turn of the event loop share a stamp, and the next turn sees a change',
  { skip: !isLocal },
  async (t) => {
    const { folder, watch } = await openFolder(t);
    await utimes(folder, LONG_AGO, LONG_AGO);
    const before = watch.read();
    mkdirSync(join(folder, 'new'));
    assert.equal(watch.read(), before);
    await new Promise((resolve) => setImmediate(resolve));
    assert.notEqual(watch.read()?.text, before?.text);
  },
);

test('a stamp settles only some time after the change: another may share its time', { skip: !isLocal }, async (t) => {
  const { folder, watch } = await openFolder(t);
  // Again when the process stood still for that long in between.
  let files = 1;
  await eventually(async () => {
    files += 1;
    await writeFile(join(folder, `${files}.manifest`), '');
    return watch.read()?.isSettled === false;
  });
});

for (const [title, seconds] of [
  ['in the future', Date.now() / 1000 + 3600.25],
  ['without a fraction: many changes may share a second', Math.floor(LONG_AGO)],
] as const) {
  test(`a stamp never settles when its time is ${title}`, { skip: !isLocal }, async (t) => {
    const { folder, watch } = await openFolder(t);
    await utimes(folder, seconds, seconds);
    assert.equal(watch.read()?.isSettled, false);
  });
}

test('tells a folder that was made again from the one before', { skip: !isLocal }, async (t) => {
  const { folder, watch } = await openFolder(t);
  await utimes(folder, LONG_AGO, LONG_AGO);
  const before = watch.read()?.text;
  await rm(folder, { recursive: true });
  await sleep(TICK_MILLISECONDS);
  await mkdir(folder);
  await utimes(folder, LONG_AGO, LONG_AGO);
  assert.ok(before !== undefined);
  assert.notEqual(watch.read()?.text, before);
});

test("finds the versions that the engine wrote, by the engine's names", { skip: !isLocal }, async (t) => {
  const { engine, location } = await openTable(t, toItems(3));
  const watch = await watchVersions(locationUri(location()));
  const update = { assignments: [{ path: ['score'] as const, expression: sql('2') }], predicate: undefined };
  const target = { location: location(), branch: undefined };
  await commitPlan(engine, target, engine.commits.update(target, update));
  assert.deepEqual(
    [0, 1, 2, 3].map((version) => watch.has(version)),
    [false, true, true, false],
  );
});

test('gives no stamp without a folder', async (t) => {
  const { folder, watch } = await openFolder(t);
  await rm(folder, { recursive: true });
  assert.equal(watch.read(), undefined);
});
