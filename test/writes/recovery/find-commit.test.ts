import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Journal } from '../../../src/catalog/catalog.ts';
import { locationUri } from '../../../src/model/table.ts';
import type { TableLocation } from '../../../src/model/table.ts';
import { manifestName } from '../../../src/storage/format/manifest.ts';
import type { SucceededWrite, WriteStep } from '../../../src/writes/writes.ts';
import { openApart, readRows } from '../../engine/test-engine.ts';
import { toItems } from '../../engine/sample-tables.ts';
import { loseReplies, watchCommits } from '../../engine/watched-native.ts';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/refusal.ts';
import { openWriteFixture } from '../write-fixture.ts';
import type { WriteFixture, WriteFixtureSettings } from '../write-fixture.ts';

/** A fixture with a table of four items, in one version. */
async function openItems(t: TestContext, settings: WriteFixtureSettings): Promise<WriteFixture> {
  const fixture = await openWriteFixture(t, settings);
  await fixture.create(toItems(4));
  return fixture;
}

/** How often the engine has committed since the table was made, by its manifests. */
async function countCommits(location: TableLocation): Promise<number> {
  const names = await readdir(join(locationUri(location), '_versions'));
  return names.filter((name) => name.endsWith('.manifest')).length - 1;
}

function shown({ kind, version, fields }: SucceededWrite) {
  return { kind, version, fields };
}

suite('a write whose reply was lost after its commit is a success, applied once', () => {
  const WRITES: Readonly<
    Record<string, readonly [write: (fixture: WriteFixture) => Promise<SucceededWrite>, fields: object]>
  > = {
    'an insert': [async (fixture) => fixture.insert(toItems(3)), { num_inserted_rows: 3 }],
    'an overwrite': [async (fixture) => fixture.insert(toItems(2), { mode: 'overwrite' }), { num_inserted_rows: 2 }],
    'an update': [async (fixture) => fixture.update([['score', 'score + 1']], 'id < 3'), { updated_rows: 3 }],
    'an update of no row': [async (fixture) => fixture.update([['score', '1']], 'id = 99'), { updated_rows: 0 }],
    'a delete': [async (fixture) => fixture.delete('id >= 2'), { num_deleted_rows: 2 }],
    'a restore': [async (fixture) => fixture.restore(1), {}],
    'a new column': [async (fixture) => fixture.addColumn('twice', 'id * 2'), {}],
  };
  for (const [name, [write, fields]] of Object.entries(WRITES)) {
    test(name, async (t) => {
      const lost = loseReplies();
      const fixture = await openItems(t, { native: lost.native });
      assert.deepEqual(shown(await write(fixture)), { kind: 'committed', version: 2, fields });
      assert.equal(await countCommits(fixture.location()), 1);
      lost.isLosing = false;
      assert.equal((await fixture.insert(toItems(1).select(await namesOf(fixture)))).version, 3, 'the table goes on');
    });
  }

  test('a dropped index, which is distinguished from a built one', async (t) => {
    const lost = loseReplies();
    const fixture = await openItems(t, { native: lost.native });
    const spec = { kind: 'scalar', type: 'BTREE' } as const;
    const build = async (name: string) =>
      fixture.writes.background.buildIndex(fixture.state(), { column: ['id'], name, replace: true, spec }, () => {});
    lost.isLosing = false;
    await build('first');
    lost.isLosing = true;
    assert.deepEqual(shown(await fixture.dropIndex('first')), { kind: 'committed', version: 3, fields: {} });
    assert.deepEqual(await fixture.engine.indexes.list(fixture.state()), []);
  });

  test('updates that shared a commit, each with its own count', async (t) => {
    const lost = loseReplies();
    const fixture = await openItems(t, { native: lost.native });
    const results = await fixture.behindWrite(
      [0, 1, 99].map((id) => async () => fixture.update([['score', 'score + 1']], `id = ${id}`)),
    );
    assert.deepEqual(
      results.map((result) => (result.status === 'fulfilled' ? shown(result.value) : result.reason)),
      [1, 1, 0].map((count) => ({ kind: 'committed', version: 2, fields: { updated_rows: count } })),
    );
    assert.equal(await countCommits(fixture.location()), 1);
    const scores = (await readRows(t, fixture.state())).toSorted(
      (one, other) => Number(one['id']) - Number(other['id']),
    );
    assert.deepEqual(
      scores.map(({ score }) => score),
      [2, 2, 1, 1],
    );
  });

  test('inserts that shared a commit, each with its own count', async (t) => {
    const lost = loseReplies();
    const fixture = await openItems(t, { native: lost.native });
    const results = await fixture.behindWrite([1, 2, 3].map((count) => async () => fixture.insert(toItems(count))));
    assert.deepEqual(
      results.map((result) => (result.status === 'fulfilled' ? shown(result.value) : result.reason)),
      [1, 2, 3].map((count) => ({ kind: 'committed', version: 2, fields: { num_inserted_rows: count } })),
    );
    assert.equal(await countCommits(fixture.location()), 1);
    assert.equal((await readRows(t, fixture.state())).length, 10);
  });
});

async function namesOf(fixture: WriteFixture): Promise<string[]> {
  const { schema } = await fixture.engine.describeTable(fixture.state());
  return schema.fields.map(({ name }) => name).filter((name) => name !== 'twice');
}

suite('a write that failed without a commit', () => {
  const failing = () =>
    watchCommits(async () => {
      throw new Error('The storage has gone.');
    });

  test('is refused, and leaves nothing in the journal', async (t) => {
    const fixture = await openItems(t, { native: failing() });
    assert.equal((await fixture.tryUpdate([['score', '2']])).kind, 'refused');
    assert.equal((await fixture.tryInsert(toItems(1))).kind, 'refused');
    assert.equal(await fixture.version(), 1);
    await eventually(async () => (await fixture.catalog.journal.pending()).length === 0);
  });

  test('may be sent again with its key', async (t) => {
    let isFailing = true;
    const native = watchCommits(async (call) => {
      if (isFailing) throw new Error('The storage has gone.');
      return call();
    });
    const fixture = await openItems(t, { native });
    const options = { key: 'k', digest: 'd' };
    assert.equal((await fixture.tryUpdate([['score', '2']], undefined, options)).kind, 'refused');
    isFailing = false;
    assert.equal((await fixture.update([['score', '2']], undefined, options)).kind, 'committed');
  });

  test('is not taken for the commit of another program', async (t) => {
    const rival: { write?: () => Promise<unknown> } = {};
    const native = watchCommits(async () => {
      await rival.write?.();
      throw new Error('The storage has gone.');
    });
    const fixture = await openItems(t, { native });
    const apart = await openApart(t, fixture.state());
    rival.write = async () => apart.delete('id = 0');
    assert.equal((await fixture.tryUpdate([['score', '2']])).kind, 'refused');
  });
});

/** A table whose newest manifest cannot be read while it is verified, until `repair` is called. */
async function openUnreadable(t: TestContext) {
  const lost = loseReplies();
  const manifest: { path?: string; original?: Buffer } = {};
  const onStep = async (step: WriteStep): Promise<void> => {
    if (step !== 'verify' || manifest.path === undefined || manifest.original !== undefined) return;
    manifest.original = await readFile(manifest.path);
    await writeFile(manifest.path, 'unreadable');
  };
  const fixture = await openItems(t, { native: lost.native, onStep });
  const path = join(locationUri(fixture.location()), '_versions', manifestName(2));
  manifest.path = path;
  const repair = async (): Promise<void> => {
    lost.isLosing = false;
    assert.ok(manifest.original !== undefined);
    await writeFile(path, manifest.original);
  };
  return { fixture, repair };
}

suite('a write of which it is not known whether it was committed', () => {
  test('is answered as in doubt; once it is known, the same key gets its result', async (t) => {
    const { fixture, repair } = await openUnreadable(t);
    const options = { key: 'k', digest: 'd' };
    const update = async () => fixture.tryUpdate([['score', 'score + 1']], undefined, options);
    const first = await update();
    assert.ok(first.kind === 'in-doubt', first.kind);
    refusal('ServiceUnavailable', /not known whether the write was applied/)(first.error);
    const second = await update();
    assert.ok('error' in second);
    refusal('ServiceUnavailable', /not known yet/)(second.error);
    await repair();
    await eventually(async () => (await fixture.catalog.journal.pending()).length === 0);
    const third = await update();
    assert.ok(third.kind === 'replayed', third.kind);
    assert.deepEqual([third.version, third.fields], [2, { updated_rows: 4 }]);
    assert.equal(await countCommits(fixture.location()), 1);
  });

  test('is applied once to a request without a key as well', async (t) => {
    const { fixture, repair } = await openUnreadable(t);
    const insert = async () => fixture.tryInsert(toItems(2), { digest: 'd' });
    assert.equal((await insert()).kind, 'in-doubt');
    assert.equal((await insert()).kind, 'refused');
    await repair();
    // Until the doubt has ended it is refused, also right after the commit was recorded.
    let again = await insert();
    await eventually(async () => again.kind !== 'refused' || (again = await insert()).kind !== 'refused');
    assert.ok(again.kind === 'replayed', again.kind);
    assert.deepEqual(again.fields, { num_inserted_rows: 2 });
    assert.equal((await insert()).kind, 'committed', 'that one is a new request');
    assert.equal(await countCommits(fixture.location()), 2);
  });

  test('is so for all that shared the commit', async (t) => {
    const { fixture, repair } = await openUnreadable(t);
    const work = ['a', 'b', 'c'].map((key) => async () => fixture.tryInsert(toItems(1), { key, digest: key }));
    const kindsOf = async () =>
      (await fixture.behindWrite(work)).map((each) => (each.status === 'fulfilled' ? each.value.kind : each.reason));
    assert.deepEqual(await kindsOf(), ['in-doubt', 'in-doubt', 'in-doubt']);
    await repair();
    await eventually(async () => (await fixture.catalog.journal.pending()).length === 0);
    assert.deepEqual(await Promise.all(work.map(async (each) => (await each()).kind)), Array(3).fill('replayed'));
    assert.equal((await readRows(t, fixture.state())).length, 7);
  });

  test('is distinguished from a later write of the same kind', async (t) => {
    const { fixture, repair } = await openUnreadable(t);
    const first = { key: 'first', digest: 'first' };
    assert.equal((await fixture.tryInsert(toItems(2), first)).kind, 'in-doubt');
    await repair();
    assert.equal((await fixture.insert(toItems(2), { key: 'later', digest: 'later' })).version, 3);
    await eventually(async () => (await fixture.catalog.journal.pending()).length === 0);
    const again = await fixture.insert(toItems(2), first);
    assert.deepEqual([again.kind, again.version], ['replayed', 2]);
  });
});

suite('a write that was committed and whose recording fails', () => {
  /** A journal that cannot record while it is told so: before it has, or after. */
  function failRecording() {
    const failing: { how: 'before' | 'after' | undefined } = { how: undefined };
    const settings: WriteFixtureSettings = {
      watchCatalog: (catalog) => {
        const record: Journal['record'] = async (...args) => {
          if (failing.how === 'before') throw new Error('the catalog is away');
          const recorded = await catalog.journal.record(...args);
          if (failing.how === 'after') throw new Error('the reply is lost');
          return recorded;
        };
        return { ...catalog, journal: { ...catalog.journal, record } };
      },
    };
    return { failing, settings };
  }

  for (const how of ['before', 'after'] as const) {
    for (const key of ['k', undefined]) {
      const title = how === 'before' ? 'is in doubt until it is recorded' : 'is in doubt when only the reply was lost';
      test(`${title}, and then replayed ${key === undefined ? 'without' : 'with'} a key`, async (t) => {
        const { failing, settings } = failRecording();
        const fixture = await openItems(t, settings);
        failing.how = how;
        const options = { digest: 'd', ...(key === undefined ? {} : { key }) };
        const insert = async () => fixture.tryInsert(toItems(2), options);
        assert.equal((await insert()).kind, 'in-doubt');
        failing.how = undefined;
        let again = await insert();
        await eventually(async () => {
          if (again.kind !== 'refused') return true;
          again = await insert();
          return false;
        });
        assert.ok(again.kind === 'replayed', again.kind);
        assert.deepEqual([again.version, again.fields], [2, { num_inserted_rows: 2 }]);
        assert.equal((await readRows(t, fixture.state())).length, 6);
      });
    }
  }
});
