import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { locationUri } from '../../../src/model/table.ts';
import type { WriteStep } from '../../../src/writes/writes.ts';
import { toItems } from '../../engine/sample-tables.ts';
import { stageVersion } from '../../support/staged-version.ts';
import type { StagedVersion } from '../../support/staged-version.ts';
import { countRows, openWriteFixture } from '../write-fixture.ts';
import type { WriteFixture } from '../write-fixture.ts';

const KEYED = { key: 'k', digest: 'd', metadata: { author: 'Ann' } };

async function stage(fixture: WriteFixture, predicate = 'id = 0'): Promise<StagedVersion> {
  return stageVersion(locationUri(fixture.location()), async (table) => table.delete(predicate));
}

/** A process that stops for good when the commit of an external writer comes to this step, and the one that follows. */
async function killAt(t: TestContext, at: WriteStep): Promise<{ staged: StagedVersion; next: WriteFixture }> {
  let arrive = (): void => {};
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  let isArmed = false;
  const onStep = async (step: WriteStep): Promise<void> => {
    if (step !== at || !isArmed) return;
    arrive();
    await new Promise(() => {});
  };
  const fixture = await openWriteFixture(t, { onStep });
  await fixture.create(toItems(3));
  const staged = await stage(fixture);
  isArmed = true;
  void fixture.trySubmit(staged, KEYED);
  await reached;
  return { staged, next: await openWriteFixture(t, { folder: fixture.folder }) };
}

async function versionsWithMetadata(fixture: WriteFixture): Promise<readonly number[]> {
  return fixture.catalog.versionMetadata.listVersions((await fixture.table()).id);
}

suite('the commit of an external writer that a crash cut short', () => {
  for (const step of ['sync', 'record'] as const) {
    test(`at ${step} is recorded at the next start with its metadata, and replayed to the same request`, async (t) => {
      const { staged, next } = await killAt(t, step);
      assert.deepEqual(await next.catalog.journal.pending(), []);
      assert.deepEqual(await versionsWithMetadata(next), [2]);
      const again = await next.submit(staged, KEYED);
      assert.deepEqual([again.kind, again.version, again.fields], ['replayed', 2, { bytes: staged.manifest_size }]);
      assert.equal(await countRows(t, next), 2);
    });
  }

  for (const step of ['begin', 'commit'] as const) {
    test(`at ${step} has changed nothing, and succeeds when it comes again`, async (t) => {
      const { staged, next } = await killAt(t, step);
      assert.deepEqual(await next.catalog.journal.pending(), []);
      assert.equal(await countRows(t, next), 3);
      assert.deepEqual(await versionsWithMetadata(next), []);
      const again = await next.submit(staged, KEYED);
      assert.deepEqual([again.kind, again.version], ['committed', 2]);
      assert.deepEqual(await versionsWithMetadata(next), [2]);
      assert.equal(await countRows(t, next), 2);
    });
  }

  test('is not taken for the commit of another writer with the same number', async (t) => {
    const { staged, next } = await killAt(t, 'begin');
    const other = await stage(next, 'id = 1');
    assert.equal((await next.submit(other)).version, 2);
    const refused = await next.trySubmit(staged, KEYED);
    assert.ok('error' in refused);
    assert.deepEqual([refused.kind, refused.error.kind], ['refused', 'TableVersionAlreadyExists']);
    assert.equal(await countRows(t, next), 2);
  });
});

test('a commit that the disk refuses changes nothing, and says so', async (t) => {
  if (process.getuid?.() === 0) return t.skip('Root writes to any folder.');
  const fixture = await openWriteFixture(t);
  await fixture.create(toItems(3));
  const staged = await stage(fixture);
  const versions = join(locationUri(fixture.location()), '_versions');
  await chmod(versions, 0o500);
  const refused = await fixture.trySubmit(staged);
  await chmod(versions, 0o700);
  assert.equal(refused.kind, 'refused');
  assert.equal(await fixture.version(), 1);
});

test('commits of external writers wait in the queue of the table, with all other writes', async (t) => {
  const fixture = await openWriteFixture(t);
  await fixture.create(toItems(3));
  const staged = await stage(fixture);
  const results = await fixture.behindWrite([
    async () => fixture.trySubmit(staged),
    async () => fixture.tryUpdate([['id', 'id + 10']]),
  ]);
  const versions = results.map((each) =>
    each.status === 'fulfilled' && 'version' in each.value ? each.value.version : 0,
  );
  assert.deepEqual(versions, [2, 3]);
  assert.equal(await countRows(t, fixture), 2);
});

test('two commits of external writers that wait behind one another: the first wins', async (t) => {
  const fixture = await openWriteFixture(t);
  await fixture.create(toItems(3));
  const [one, other] = [await stage(fixture), await stage(fixture, 'id = 1')];
  const results = await fixture.behindWrite([async () => fixture.trySubmit(one), async () => fixture.trySubmit(other)]);
  assert.deepEqual(
    results.map((each) => (each.status === 'fulfilled' ? each.value.kind : each.status)),
    ['committed', 'refused'],
  );
  assert.deepEqual(await fixture.catalog.journal.pending(), []);
});
