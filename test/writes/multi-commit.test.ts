import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Journal } from '../../src/catalog/catalog.ts';
import { NotOwner } from '../../src/errors/service-error.ts';
import type { WriteStep } from '../../src/writes/writes.ts';
import { cutAfter, openApart, openFixture, openLong, withChunks } from '../engine/test-engine.ts';
import { toItems } from '../engine/sample-tables.ts';
import { watchCommits } from '../engine/watched-native.ts';
import { eventually } from '../support/eventually.ts';
import { refusal } from '../support/refusal.ts';
import { countRows, openWriteFixture } from './write-fixture.ts';
import type { WriteFixture, WriteFixtureSettings } from './write-fixture.ts';

const ROWS = 50;

/** A fixture with a table of the same rows, in one version. */
async function openMulti(t: TestContext, settings: WriteFixtureSettings = {}): Promise<WriteFixture> {
  const fixture = await openWriteFixture(t, settings);
  await fixture.create(await openFixture('multi'));
  return fixture;
}

async function assertSpoolEmpty({ folder }: WriteFixture): Promise<void> {
  assert.deepEqual(await readdir(join(folder, 'uploads', String(process.pid))), []);
}

async function assertUndone(t: TestContext, fixture: WriteFixture): Promise<void> {
  assert.equal(await countRows(t, fixture), ROWS);
  assert.equal((await fixture.table()).heldVersion, undefined);
  assert.deepEqual(await fixture.catalog.journal.pending(), []);
  await assertSpoolEmpty(fixture);
}

/** The engine, whose additions fail from the given one on. */
function failingFrom(count: number) {
  let calls = 0;
  return watchCommits(async (call, name) => {
    if (name === 'add') calls += 1;
    if (name === 'add' && calls >= count) throw new Error('No space left on device.');
    return call();
  });
}

/** What readers see at each step: the version through the service, and that of the engine itself. */
async function watchSteps(t: TestContext, mode: 'append' | 'overwrite') {
  const seen: Partial<Record<WriteStep, { served: number; held: number | undefined; latest: number }>> = {};
  const opened: { fixture?: WriteFixture } = {};
  const onStep = async (step: WriteStep): Promise<void> => {
    const { fixture } = opened;
    if (fixture === undefined || (step !== 'commit' && step !== 'sync' && step !== 'record')) return;
    const apart = await openApart(t, fixture.state());
    const { heldVersion: held } = await fixture.table();
    seen[step] = { served: await fixture.version(), held, latest: await apart.version() };
  };
  const fixture = await openMulti(t, { onStep });
  opened.fixture = fixture;
  const success = await fixture.insert(await openLong(), { mode });
  return { fixture, success, seen };
}

for (const mode of ['append', 'overwrite'] as const) {
  suite(`a long ${mode}`, () => {
    test('is seen all at once: readers stay at the base version until it is recorded', async (t) => {
      const { fixture, success, seen } = await watchSteps(t, mode);
      assert.ok(success.version > 3, 'the stream was one commit');
      assert.deepEqual(success.fields, { num_inserted_rows: ROWS });
      assert.deepEqual(seen.commit, { served: 1, held: 1, latest: 1 });
      assert.deepEqual(seen.record, { served: 1, held: 1, latest: success.version });
      assert.equal(await fixture.version(), success.version);
      assert.equal((await fixture.table()).heldVersion, undefined);
      assert.equal(await countRows(t, fixture), mode === 'append' ? 2 * ROWS : ROWS);
      await assertSpoolEmpty(fixture);
    });

    test('that breaks off commits nothing and leaves nothing on disk', async (t) => {
      const fixture = await openMulti(t);
      const failure = new Error('the sender went away');
      await assert.rejects(fixture.insert(cutAfter(await openLong(), 3, failure), { mode }), failure);
      assert.equal(await fixture.version(), 1);
      await assertUndone(t, fixture);
    });

    for (const count of mode === 'append' ? [1, 2, 3] : [1, 2]) {
      test(`whose commit ${count} fails is undone, and the table goes on`, async (t) => {
        const fixture = await openMulti(t, { native: failingFrom(count) });
        await assert.rejects(fixture.insert(await openLong(), { mode }), refusal('Internal'));
        await assertUndone(t, fixture);
        assert.equal((await fixture.update([['id', 'id']])).fields['updated_rows'], ROWS);
        assert.equal(await countRows(t, fixture), ROWS);
      });
    }

    test('of which the engine stored fewer rows than were sent is undone', async (t) => {
      const fixture = await openMulti(t);
      const lying = withChunks(await openLong(), (chunk) => ({ ...chunk, rows: chunk.rows + 1 }));
      await assert.rejects(fixture.insert(lying, { mode }), refusal('InvalidInput'));
      await assertUndone(t, fixture);
    });

    test('gives a branch separate rows', async (t) => {
      const fixture = await openMulti(t);
      await fixture.engine.versions.createBranch(fixture.state(), 'trial');
      await fixture.insert(await openLong(), { mode, branch: 'trial' });
      assert.equal(await countRows(t, fixture, 'trial'), mode === 'append' ? 2 * ROWS : ROWS);
      assert.equal(await fixture.version(), 1);
    });

    test('heeds If-Match', async (t) => {
      const fixture = await openMulti(t);
      await assert.rejects(
        fixture.insert(await openLong(), { mode, expectedVersion: 7 }),
        refusal('PreconditionFailed'),
      );
      assert.equal(await fixture.version(), 1);
      assert.equal((await fixture.insert(await openLong(), { mode, expectedVersion: 1 })).kind, 'committed');
    });

    test('is applied once with a key', async (t) => {
      const fixture = await openMulti(t);
      const first = await fixture.insert(await openLong(), { mode, key: 'k', digest: 'd' });
      const again = await fixture.insert(await openLong(), { mode, key: 'k', digest: 'd' });
      assert.deepEqual([first.kind, again.kind], ['committed', 'replayed']);
      assert.deepEqual([again.version, again.fields], [first.version, first.fields]);
      assert.equal(await fixture.version(), first.version);
    });

    test('that the catalog does not let begin changes nothing', async (t) => {
      const catalogAway = new Error('the catalog is away');
      const fixture = await openMulti(t, withJournal({ begin: async () => Promise.reject(catalogAway) }));
      await assert.rejects(fixture.insert(await openLong(), { mode }), refusal('Internal'));
      assert.equal(await fixture.version(), 1);
      await assertUndone(t, fixture);
    });

    test('that cannot be recorded is undone', async (t) => {
      const catalogAway = new Error('the catalog is away');
      const fixture = await openMulti(t, withJournal({ record: async () => Promise.reject(catalogAway) }));
      await assert.rejects(fixture.insert(await openLong(), { mode }), refusal('Internal'));
      await assertUndone(t, fixture);
    });

    test('whose recording succeeded and only its reply was lost is a success', async (t) => {
      const fixture = await openMulti(t, {
        watchCatalog: (catalog) => {
          const record: Journal['record'] = async (...args) => {
            await catalog.journal.record(...args);
            throw new Error('the reply is lost');
          };
          return { ...catalog, journal: { ...catalog.journal, record } };
        },
      });
      const success = await fixture.insert(await openLong(), { mode });
      assert.deepEqual([success.kind, success.fields], ['committed', { num_inserted_rows: ROWS }]);
      assert.equal(await fixture.version(), success.version);
      assert.equal((await fixture.table()).heldVersion, undefined);
    });

    test('that was recorded although the catalog then stays away is seen by all once it is back', async (t) => {
      const away = { isAway: false, hasBeen: false };
      const gone = new Error('the catalog is away');
      const fixture = await openMulti(t, {
        watchCatalog: (catalog) => {
          const record: Journal['record'] = async (...args) => {
            const recorded = await catalog.journal.record(...args);
            if (away.hasBeen) return recorded;
            away.isAway = true;
            away.hasBeen = true;
            throw gone;
          };
          const find: Journal['find'] = async (id) => (away.isAway ? Promise.reject(gone) : catalog.journal.find(id));
          const pending: Journal['pending'] = async (id) =>
            away.isAway ? Promise.reject(gone) : catalog.journal.pending(id);
          return { ...catalog, journal: { ...catalog.journal, record, find, pending } };
        },
      });
      await assert.rejects(fixture.insert(await openLong(), { mode }), refusal('ServiceUnavailable'));
      // The undo is given up after a while, and the next writer is refused.
      await eventually(async () => fixture.writes.queues.running === 0);
      away.isAway = false;
      await eventually(async () => (await fixture.version()) > 3);
      assert.equal(await countRows(t, fixture), mode === 'append' ? 2 * ROWS : ROWS);
      await eventually(async () =>
        fixture.update([['id', 'id']]).then(
          () => true,
          () => false,
        ),
      );
    });

    test('whose recording is unclear when another node takes its table over is in doubt, not refused', async (t) => {
      const fixture = await openMulti(
        t,
        withJournal({
          record: async () => Promise.reject(new Error('the reply is lost')),
          requireOwner: async () => Promise.reject(new NotOwner()),
        }),
      );
      await assert.rejects(fixture.insert(await openLong(), { mode }), refusal('ServiceUnavailable'));
      assert.equal((await fixture.table()).heldVersion, 1, 'readers stay at the base version');
    });

    test('whose undo fails is reported as failed at once, and other writers wait until it is undone', async (t) => {
      const away = { refusals: 3 };
      const fixture = await openMulti(t, {
        native: failingFrom(2),
        watchCatalog: (catalog) => {
          const abortHeld: Journal['abortHeld'] = async (...args) => {
            away.refusals -= 1;
            if (away.refusals >= 0) throw new Error('the catalog is away');
            await catalog.journal.abortHeld(...args);
          };
          return { ...catalog, journal: { ...catalog.journal, abortHeld } };
        },
      });
      await assert.rejects(fixture.insert(await openLong(), { mode }), refusal('Internal'));
      assert.ok(away.refusals > 0, 'the caller waited for the catalog');
      assert.equal(await countRows(t, fixture), ROWS);
      const { version } = await fixture.update([['id', 'id + 1000']]);
      assert.equal(away.refusals, -1);
      assert.equal(await fixture.version(), version, 'what a writer is told of must be seen');
      await assertUndone(t, fixture);
    });
  });
}

function withJournal(failing: Partial<Journal>): WriteFixtureSettings {
  return { watchCatalog: (catalog) => ({ ...catalog, journal: { ...catalog.journal, ...failing } }) };
}

test('writes wait for a long insert, and follow it', async (t) => {
  const fixture = await openMulti(t);
  const long = fixture.insert(await openLong());
  await eventually(async () => fixture.writes.queues.running === 1);
  const [{ version }, update] = await Promise.all([long, fixture.update([['id', 'id']])]);
  assert.equal(update.version, version + 1);
  assert.equal(update.fields['updated_rows'], 2 * ROWS);
});

test('an overwrite of data that is not there is written as if the table were new', async (t) => {
  const fixture = await openWriteFixture(t);
  await fixture.create(toItems(3));
  await fixture.writes.removeTable(fixture.location());
  const short = await fixture.insert(toItems(4), { mode: 'overwrite' });
  assert.deepEqual([short.version, short.fields], [1, { num_inserted_rows: 4 }]);
  assert.equal(await countRows(t, fixture), 4);
});

test('a long overwrite of data that is not there is written as if the table were new, and leaves nothing when it fails', async (t) => {
  const fixture = await openMulti(t);
  await fixture.writes.removeTable(fixture.location());
  const lying = withChunks(await openLong(), (chunk) => ({ ...chunk, rows: chunk.rows + 1 }));
  await assert.rejects(fixture.insert(lying, { mode: 'overwrite' }), refusal('InvalidInput'));
  assert.deepEqual(await readdir(fixture.root), []);
  assert.deepEqual(await fixture.catalog.journal.pending(), []);
  const next = await openWriteFixture(t, { folder: fixture.folder });
  await next.insert(await openLong(), { mode: 'overwrite' });
  assert.equal(await countRows(t, next), ROWS);
});

test('a long overwrite that another program beats to the next version leaves what that has written', async (t) => {
  const opened: { fixture?: WriteFixture } = {};
  const onStep = async (step: WriteStep): Promise<void> => {
    if (step !== 'commit' || opened.fixture === undefined) return;
    await (await openApart(t, opened.fixture.state())).delete('id = 0');
  };
  const fixture = await openMulti(t, { onStep });
  const before = await countRows(t, fixture);
  opened.fixture = fixture;
  await assert.rejects(fixture.insert(await openLong(), { mode: 'overwrite' }), refusal('ConcurrentModification'));
  assert.deepEqual(await fixture.catalog.journal.pending(), []);
  assert.ok((await countRows(t, fixture)) < before);
});

test('an overwrite in one commit holds no readers', async (t) => {
  const held: unknown[] = [];
  const opened: { fixture?: WriteFixture } = {};
  const onStep = async (step: WriteStep): Promise<void> => {
    if (step === 'record') held.push((await opened.fixture?.table())?.heldVersion);
  };
  const fixture = await openWriteFixture(t, { onStep });
  opened.fixture = fixture;
  await fixture.create(toItems(3));
  await fixture.insert(toItems(4), { mode: 'overwrite' });
  assert.deepEqual(held, [undefined]);
});
