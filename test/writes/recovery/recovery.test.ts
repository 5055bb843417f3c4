import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { crc32 } from 'node:zlib';
import type { Catalog, Journal } from '../../../src/catalog/catalog.ts';
import { invalidInput } from '../../../src/errors/service-error.ts';
import type { WriteStep } from '../../../src/writes/writes.ts';
import { openApart, openFixture, openLong, readRows, sql } from '../../engine/test-engine.ts';
import { toItems } from '../../engine/sample-tables.ts';
import { watchCommits } from '../../engine/watched-native.ts';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/refusal.ts';
import { countRows, openWriteFixture } from '../write-fixture.ts';
import type { WriteFixture, WriteFixtureSettings } from '../write-fixture.ts';

/** A process that stops for good when a write comes to this step, as if it were killed there. */
class Killed {
  readonly fixture: WriteFixture;
  readonly reached: Promise<void>;

  private constructor(fixture: WriteFixture, reached: Promise<void>) {
    this.fixture = fixture;
    this.reached = reached;
  }

  static async open(t: TestContext, at: WriteStep, settings: WriteFixtureSettings = {}): Promise<Killed> {
    let arrive = (): void => {};
    const reached = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const state = { isArmed: false };
    const onStep = async (step: WriteStep): Promise<void> => {
      if (step !== at || !state.isArmed) return;
      arrive();
      await new Promise(() => {});
    };
    const fixture = await openWriteFixture(t, { ...settings, onStep });
    await fixture.create(toItems(3));
    state.isArmed = true;
    return new Killed(fixture, reached);
  }

  /** Starts the writes, and gives the process that follows when one of them was cut short. */
  async cut(t: TestContext, writes: readonly ((fixture: WriteFixture) => Promise<unknown>)[]): Promise<WriteFixture> {
    void this.fixture.behindWrite(writes.map((write) => async () => write(this.fixture)));
    await this.reached;
    return openWriteFixture(t, { folder: this.fixture.folder });
  }
}

const KEYED = { key: 'k', digest: 'd' };
const KEYLESS = { digest: 'd' };

suite('a write that a crash cut short', () => {
  for (const [name, options] of [
    ['with a key', KEYED],
    ['without a key', KEYLESS],
  ] as const) {
    for (const step of ['sync', 'record'] as const) {
      test(`after its commit, at ${step}, is recorded at the start, and replayed ${name}`, async (t) => {
        const killed = await Killed.open(t, step);
        const fixture = await killed.cut(t, [async (each) => each.insert(toItems(2), options)]);
        assert.deepEqual(await fixture.catalog.journal.pending(), []);
        const again = await fixture.insert(toItems(2), options);
        assert.deepEqual([again.kind, again.version, again.fields], ['replayed', 2, { num_inserted_rows: 2 }]);
        const transaction = await fixture.catalog.transactions.find(again.transactionId ?? '');
        assert.deepEqual([transaction?.version, transaction?.operation], [2, 'insert_into_table']);
        assert.equal(await countRows(t, fixture), 5);
      });
    }

    test(`before its commit is removed at the start, and applied when it comes again ${name}`, async (t) => {
      const killed = await Killed.open(t, 'commit');
      const fixture = await killed.cut(t, [async (each) => each.insert(toItems(2), options)]);
      assert.deepEqual(await fixture.catalog.journal.pending(), []);
      assert.equal(await fixture.version(), 1);
      const again = await fixture.insert(toItems(2), options);
      assert.deepEqual([again.kind, again.version], ['committed', 2]);
      assert.equal(await countRows(t, fixture), 5);
    });
  }

  test('gives each of those that shared its commit its own result', async (t) => {
    const killed = await Killed.open(t, 'record');
    const fixture = await killed.cut(
      t,
      [1, 2, 3].map((rows) => async (each) => each.insert(toItems(rows), { key: `k${rows}`, digest: `d${rows}` })),
    );
    for (const rows of [1, 2, 3]) {
      const again = await fixture.insert(toItems(rows), { key: `k${rows}`, digest: `d${rows}` });
      assert.deepEqual([again.kind, again.version, again.fields], ['replayed', 2, { num_inserted_rows: rows }]);
    }
    assert.equal(await countRows(t, fixture), 9);
  });

  test('gets its counts back from its commit, for every kind of write', async (t) => {
    const cases: readonly (readonly [write: (fixture: WriteFixture) => Promise<unknown>, fields: object])[] = [
      [async (fixture) => fixture.update([['score', '2']], 'id < 2', KEYED), { updated_rows: 2 }],
      [async (fixture) => fixture.delete('id = 0', KEYED), { num_deleted_rows: 1 }],
      [async (fixture) => fixture.insert(toItems(1), { ...KEYED, mode: 'overwrite' }), { num_inserted_rows: 1 }],
      [async (fixture) => fixture.restore(1, KEYED), {}],
      [async (fixture) => fixture.addColumn('twice', 'id * 2', KEYED), {}],
    ];
    for (const [write, fields] of cases) {
      const killed = await Killed.open(t, 'record');
      const fixture = await killed.cut(t, [write]);
      const entry = await fixture.catalog.journal.findByKey('ann', 'k');
      assert.deepEqual([entry?.state, entry?.version, entry?.outcome], ['committed', 2, JSON.stringify(fields)]);
    }
  });

  test('that took several commits is undone, before its first commit and after its last', async (t) => {
    for (const step of ['commit', 'sync', 'record'] as const) {
      const killed = await Killed.open(t, step);
      const { fixture: before } = killed;
      await before.create(await openFixture('multi'), 'long');
      const long = async (each: WriteFixture) => each.insert(await openLong(), { ...KEYED, directory: 'long' });
      void long(before);
      await killed.reached;
      assert.equal((await before.table('long')).heldVersion, 1);
      const fixture = await openWriteFixture(t, { folder: before.folder });
      assert.equal((await fixture.table('long')).heldVersion, undefined);
      assert.deepEqual(await fixture.catalog.journal.pending(), []);
      assert.equal((await readRows(t, fixture.state('long'))).length, 50);
      const again = await long(fixture);
      assert.deepEqual([again.kind, again.fields], ['committed', { num_inserted_rows: 50 }]);
      assert.equal((await readRows(t, fixture.state('long'))).length, 100);
    }
  });

  test('that took several commits and cannot be undone at the start keeps writers out until it is, and costs no later write', async (t) => {
    const killed = await Killed.open(t, 'record');
    const { fixture: before } = killed;
    await before.create(await openFixture('multi'), 'long');
    void before.insert(await openLong(), { ...KEYED, directory: 'long' });
    await killed.reached;
    const fault = { isAway: true };
    const native = watchCommits(async (call, name) => {
      if (name === 'restore' && fault.isAway) throw new Error('The storage has gone.');
      return call();
    });
    const fixture = await openWriteFixture(t, { folder: before.folder, native });
    const insert = async () => fixture.tryInsert(await openFixture('multi'), { directory: 'long' });
    const early = await insert();
    fault.isAway = false;
    await eventually(async () => (await fixture.catalog.journal.pending()).length === 0);
    assert.equal((await insert()).kind, 'committed');
    const rows = 50 + 50 + (early.kind === 'committed' ? 50 : 0);
    assert.equal((await readRows(t, fixture.state('long'))).length, rows);
    assert.equal((await fixture.table('long')).heldVersion, undefined);
  });

  test('is distinguished from commits of other programs', async (t) => {
    const killed = await Killed.open(t, 'commit');
    void killed.fixture.delete('id = 0', KEYED);
    await killed.reached;
    const apart = await openApart(t, killed.fixture.state());
    await apart.update('id = 1', [['score', '9']]);
    const fixture = await openWriteFixture(t, { folder: killed.fixture.folder });
    assert.equal((await fixture.delete('id = 0', KEYED)).kind, 'committed');
    assert.equal(await countRows(t, fixture), 2);
  });

  test('that two commits can be meant by stays in doubt, and nothing is applied twice', async (t) => {
    const killed = await Killed.open(t, 'commit');
    const { fixture: before } = killed;
    void before.delete('id = 0', KEYED);
    await killed.reached;
    const apart = await openApart(t, before.state());
    await apart.delete('id = 1');
    await apart.delete('id = 2');
    const fixture = await openWriteFixture(t, { folder: before.folder });
    await assert.rejects(fixture.delete('id = 0', KEYED), refusal('ServiceUnavailable', /not known yet/));
    assert.equal(await countRows(t, fixture), 1);
    assert.equal((await fixture.update([['score', '2']])).version, 4, 'other writes go on');
  });

  test('before the next write was recorded is distinguished from that one', async (t) => {
    const state = { records: 0 };
    const onStep = async (step: WriteStep): Promise<void> => {
      if (step === 'record' && state.records++ === 0) await new Promise(() => {});
    };
    const before = await openWriteFixture(t, { onStep });
    await before.create(toItems(3));
    void before.insert(toItems(2), KEYED);
    await eventually(async () => state.records === 1);
    assert.equal((await before.insert(toItems(2), { digest: 'next' })).version, 3);
    const fixture = await openWriteFixture(t, { folder: before.folder });
    const again = await fixture.insert(toItems(2), KEYED);
    assert.deepEqual([again.kind, again.version], ['replayed', 2]);
    assert.equal(await countRows(t, fixture), 7);
  });

  test('keeps the properties that it sets, and its name in the feed', async (t) => {
    const killed = await Killed.open(t, 'record');
    const { fixture: before } = killed;
    const plan = before.engine.commits.delete(sql('id = 0'));
    void before.writes.run({
      request: before.request('delete_from_table', KEYED),
      table: await before.table(),
      branch: undefined,
      recordedAs: 'purge',
      plan,
      properties: { purged: 'yes' },
      rule: { from: 'removed-rows', names: ['num_deleted_rows'] },
      toFields: ({ rowsDeleted }) => ({ num_deleted_rows: rowsDeleted }),
    });
    await killed.reached;
    const fixture = await openWriteFixture(t, { folder: before.folder });
    assert.equal((await fixture.table()).properties['purged'], 'yes');
    const entry = await fixture.catalog.journal.findByKey(fixture.request('delete_from_table', KEYED).caller, 'k');
    const transaction = await fixture.catalog.transactions.find(entry?.transactionId ?? '');
    assert.deepEqual([transaction?.operation, entry?.outcome], ['purge', '{"num_deleted_rows":1}']);
  });

  test('of a table that is gone since is forgotten', async (t) => {
    const killed = await Killed.open(t, 'record');
    void killed.fixture.insert(toItems(2), KEYED);
    await killed.reached;
    const { fixture: before } = killed;
    await before.catalog.tables.drop(await before.table(), ENTRY);
    const fixture = await openWriteFixture(t, { folder: before.folder });
    assert.deepEqual(await fixture.catalog.journal.pending(), []);
  });
});

suite('a refused write whose entry could not be removed at once', () => {
  for (const [name, options] of [
    ['with a key', KEYED],
    ['without a key', KEYLESS],
  ] as const) {
    test(`is applied when it comes again after a crash ${name}: the next writer's commit is not taken for it`, async (t) => {
      const fault = { isAway: false, refuses: true };
      const native = watchCommits(async (call, each) => {
        if (each !== 'add' || !fault.refuses) return call();
        fault.refuses = false;
        throw invalidInput('The rows do not fit.');
      });
      const watchCatalog = (catalog: Catalog): Catalog => {
        const remove: Journal['remove'] = async (ids) => {
          if (fault.isAway) throw new Error('The catalog has gone.');
          return catalog.journal.remove(ids);
        };
        return { ...catalog, journal: { ...catalog.journal, remove } };
      };
      const before = await openWriteFixture(t, { native, watchCatalog });
      await before.create(toItems(3));
      fault.isAway = true;
      await assert.rejects(before.insert(toItems(2), options), refusal('InvalidInput', /do not fit/));
      assert.equal((await before.catalog.journal.pending()).length, 1);
      assert.equal((await before.insert(toItems(2), { digest: 'next', caller: 'bob' })).version, 2);
      assert.deepEqual(await before.catalog.journal.pending(), []);
      const fixture = await openWriteFixture(t, { folder: before.folder });
      const again = await fixture.insert(toItems(2), options);
      assert.deepEqual([again.kind, again.version], ['committed', 3]);
      assert.equal(await countRows(t, fixture), 7);
    });
  }
});

const ENTRY = { operation: 'drop_table', caller: 'ann', version: 0, requestId: 'request' };

suite('a response of the process before', () => {
  /** A process that has committed a write without a key, and ended before it answered, or after. */
  async function openAnswered(t: TestContext, isMarked: boolean): Promise<WriteFixture> {
    const fixture = await openWriteFixture(t);
    await fixture.create(toItems(3));
    const { response } = await fixture.insert(toItems(2), KEYLESS);
    assert.ok(response !== undefined);
    if (isMarked) await fixture.writes.responses.mark(response);
    return fixture;
  }

  test('that was never begun is given to the next request of the same words, once', async (t) => {
    const before = await openAnswered(t, false);
    const fixture = await openWriteFixture(t, { folder: before.folder });
    assert.equal((await fixture.insert(toItems(2), KEYLESS)).kind, 'replayed');
    assert.equal((await fixture.insert(toItems(2), KEYLESS)).kind, 'committed');
  });

  test('that was begun is not given again: the same words are a new request', async (t) => {
    const before = await openAnswered(t, true);
    const fixture = await openWriteFixture(t, { folder: before.folder });
    assert.equal((await fixture.insert(toItems(2), KEYLESS)).kind, 'committed');
    assert.deepEqual(
      (await fixture.catalog.journal.keyless()).map(({ version }) => version),
      [3],
    );
  });

  test('that was never begun survives several restarts, but not its window', async (t) => {
    const clock = { now: Date.now() };
    const now = (): number => clock.now;
    const first = await openWriteFixture(t, { now, journal: { windowSeconds: 60 } });
    await first.create(toItems(3));
    await first.insert(toItems(2), KEYLESS);
    const second = await openWriteFixture(t, { now, folder: first.folder, journal: { windowSeconds: 60 } });
    clock.now += 59_000;
    const third = await openWriteFixture(t, { now, folder: second.folder, journal: { windowSeconds: 60 } });
    assert.equal((await third.catalog.journal.keyless()).length, 1);
    clock.now += 60_000;
    await eventually(async () => (await third.catalog.journal.keyless()).length === 0);
    const fourth = await openWriteFixture(t, { now, folder: third.folder, journal: { windowSeconds: 60 } });
    assert.equal((await fourth.insert(toItems(2), KEYLESS)).kind, 'committed');
  });

  const LOST: Readonly<Record<string, (marksFile: string) => Promise<unknown>>> = {
    'of another generation': async (marksFile) => {
      const other = await readFile(marksFile);
      const text = other.toString('latin1');
      await writeFile(
        marksFile,
        withHeader(text, (header) => header.replace(/ [0-9a-f-]{36} /, ` ${'0'.repeat(36)} `)),
      );
    },
    'of another boot of the machine': async (marksFile) => {
      const text = (await readFile(marksFile)).toString('latin1');
      await writeFile(
        marksFile,
        withHeader(text, (header) => `${header.slice(0, -36)}${'0'.repeat(36)}`),
      );
    },
    'that is damaged': async (marksFile) => writeFile(marksFile, 'damaged'),
  };
  for (const [name, change] of Object.entries(LOST)) {
    test(`is a new request when it comes again without a key, and the marks are in a file ${name}`, async (t) => {
      const before = await openAnswered(t, false);
      await change(join(before.folder, 'marks'));
      const fixture = await openWriteFixture(t, { folder: before.folder });
      assert.equal((await fixture.insert(toItems(2), KEYLESS)).kind, 'committed');
      assert.equal(await countRows(t, fixture), 7);
    });
  }

  test('with a key is replayed whatever happened to the marks', async (t) => {
    const before = await openWriteFixture(t);
    await before.create(toItems(3));
    await before.insert(toItems(2), KEYED);
    await writeFile(join(before.folder, 'marks'), 'damaged');
    const fixture = await openWriteFixture(t, { folder: before.folder });
    assert.equal((await fixture.insert(toItems(2), KEYED)).kind, 'replayed');
  });
});

/** The file with another header, as it would have been written. */
function withHeader(text: string, change: (header: string) => string): string {
  const SLOT_BYTES = 128;
  const header = change(text.slice(0, SLOT_BYTES).trimEnd().slice(0, -9));
  const sum = crc32(header).toString(16).padStart(8, '0');
  return `${header} ${sum}`.padEnd(SLOT_BYTES) + text.slice(SLOT_BYTES);
}

test('a failure of the recovery leaves the entry in doubt, and it is resolved in the background', async (t) => {
  const killed = await Killed.open(t, 'record');
  void killed.fixture.insert(toItems(2), KEYED);
  await killed.reached;
  let isAway = true;
  const fixture = await openWriteFixture(t, {
    folder: killed.fixture.folder,
    watchCatalog: (catalog) => ({
      ...catalog,
      journal: {
        ...catalog.journal,
        record: async (...args) => {
          if (isAway) throw new Error('the catalog is away');
          return catalog.journal.record(...args);
        },
      },
    }),
  });
  await assert.rejects(fixture.insert(toItems(2), KEYED), refusal('ServiceUnavailable', /not known yet/));
  isAway = false;
  await eventually(async () => (await fixture.catalog.journal.pending()).length === 0);
  assert.equal((await fixture.insert(toItems(2), KEYED)).kind, 'replayed');
});
