import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { connect } from '@lancedb/lancedb';
import { assert as check, asyncProperty, constantFrom, integer, array, record } from 'fast-check';
import { locationUri } from '../../../src/model/table.ts';
import { toTableState } from '../../../src/operations/shared/table-state.ts';
import type { WriteStep } from '../../../src/writes/writes.ts';
import { toItems } from '../../engine/sample-tables.ts';
import { copyFirstVersion, listStaged, stageVersion } from '../../support/staged-version.ts';
import type { StagedVersion } from '../../support/staged-version.ts';
import { openWriteFixture } from '../write-fixture.ts';
import type { WriteFixture } from '../write-fixture.ts';

const TABLES = ['one', 'other'] as const;
const KEYED = { key: 'k', digest: 'd', metadata: { author: 'Ann' } };

/** A step of the protocol, and which of its occurrences: a batch commits and syncs each table. */
interface Moment {
  readonly step: WriteStep;
  readonly occurrence: number;
}

const MOMENTS: readonly Moment[] = [
  { step: 'own', occurrence: 1 },
  { step: 'begin', occurrence: 1 },
  { step: 'commit', occurrence: 1 },
  { step: 'commit', occurrence: 2 },
  { step: 'sync', occurrence: 1 },
  { step: 'sync', occurrence: 2 },
  { step: 'record', occurrence: 1 },
];

/** Stops a process for good at a moment, as if it were killed there. */
class Stop {
  readonly reached: Promise<void>;
  moment: Moment | undefined;
  #seen = 0;
  #arrive = (): void => {};

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#arrive = resolve;
    });
  }

  readonly onStep = async (step: WriteStep): Promise<void> => {
    if (step !== this.moment?.step) return;
    this.#seen += 1;
    if (this.#seen !== this.moment.occurrence) return;
    this.#arrive();
    await new Promise(() => {});
  };
}

async function openTables(t: TestContext, stop: Stop): Promise<WriteFixture> {
  const fixture = await openWriteFixture(t, { onStep: stop.onStep });
  for (const directory of TABLES) await fixture.create(toItems(9), directory);
  return fixture;
}

async function stage(fixture: WriteFixture, id: number): Promise<readonly StagedVersion[]> {
  const staged: StagedVersion[] = [];
  for (const directory of TABLES) {
    const location = locationUri(fixture.location(directory));
    staged.push(await stageVersion(location, async (table) => table.delete(`id = ${id}`)));
  }
  return staged;
}

/** What readers of the service see of each table. */
async function readAll(fixture: WriteFixture): Promise<readonly number[]> {
  const rows: number[] = [];
  for (const directory of TABLES) {
    const state = toTableState(await fixture.table(directory), {});
    rows.push((await fixture.engine.versions.size(state)).rows);
  }
  return rows;
}

/** Of each table, how many versions have metadata in the catalog. */
async function countMetadata(fixture: WriteFixture): Promise<readonly number[]> {
  const tables = await Promise.all(TABLES.map(async (directory) => fixture.table(directory)));
  return Promise.all(tables.map(async ({ id }) => (await fixture.catalog.versionMetadata.listVersions(id)).length));
}

suite('a batch that a crash cuts short', () => {
  for (const moment of MOMENTS) {
    test(`at ${moment.step} ${moment.occurrence} is seen by no reader, and succeeds when it comes again`, async (t) => {
      const stop = new Stop();
      const fixture = await openTables(t, stop);
      const staged = await stage(fixture, 0);
      stop.moment = moment;
      void fixture.tryBatch(TABLES, staged, KEYED);
      await stop.reached;
      assert.deepEqual(await readAll(fixture), [9, 9], 'before recovery');
      const next = await openWriteFixture(t, { folder: fixture.folder });
      assert.deepEqual(await next.catalog.journal.pending(), []);
      assert.deepEqual(await readAll(next), [9, 9], 'after recovery');
      assert.deepEqual(await countMetadata(next), [0, 0]);
      for (const directory of TABLES) assert.equal((await next.table(directory)).heldVersion, undefined);
      const again = await next.tryBatch(TABLES, await stage(next, 0), KEYED);
      assert.equal(again.kind, 'committed');
      assert.deepEqual(await readAll(next), [8, 8]);
      assert.deepEqual(await countMetadata(next), [1, 1]);
    });
  }

  test('after its record is seen by all readers, and replayed', async (t) => {
    const fixture = await openTables(t, new Stop());
    const staged = await stage(fixture, 0);
    assert.equal((await fixture.tryBatch(TABLES, staged, KEYED)).kind, 'committed');
    const next = await openWriteFixture(t, { folder: fixture.folder });
    assert.deepEqual(await readAll(next), [8, 8]);
    assert.equal((await next.tryBatch(TABLES, staged, KEYED)).kind, 'replayed');
    assert.deepEqual(await readAll(next), [8, 8]);
  });

  test('leaves no version of a table that had none, and its files for another attempt', async (t) => {
    const stop = new Stop();
    const fixture = await openTables(t, stop);
    const declared = await fixture.declare('fresh');
    const [one] = await stage(fixture, 0);
    const first = await copyFirstVersion(locationUri(fixture.location('other')), locationUri(declared.location));
    assert.ok(one !== undefined);
    stop.moment = { step: 'record', occurrence: 1 };
    void fixture.tryBatch(['one', 'fresh'], [one, first], KEYED);
    await stop.reached;
    const next = await openWriteFixture(t, { folder: fixture.folder });
    assert.equal(await next.engine.lifecycle.hasData(declared.location), false);
    assert.equal((await listStaged(locationUri(declared.location))).length, 1);
    const restaged = await stageVersion(locationUri(next.location('one')), async (table) => table.delete('id = 0'));
    assert.equal((await next.tryBatch(['one', 'fresh'], [restaged, first], KEYED)).kind, 'committed');
    assert.equal((await next.engine.versions.size(toTableState(await next.table('fresh'), {}))).rows, 9);
  });
});

test('a batch that conflicts at its last table takes the others back, and says so', async (t) => {
  const fixture = await openTables(t, new Stop());
  const staged = await stage(fixture, 0);
  // Between the check of the base versions and the commit, a program that does not go through the service is faster.
  let commits = 0;
  const racing = await openWriteFixture(t, {
    folder: fixture.folder,
    onStep: async (step) => {
      if (step !== 'commit') return;
      commits += 1;
      if (commits === 2) await commitDirectly(racing);
    },
  });
  const refused = await racing.tryBatch(TABLES, staged, KEYED);
  assert.equal(refused.kind, 'refused');
  assert.ok('error' in refused && refused.error.kind === 'TableVersionAlreadyExists');
  assert.deepEqual(await racing.catalog.journal.pending(), []);
  const rows = await readAll(racing);
  assert.deepEqual(rows.toSorted(), [8, 9]);
  assert.deepEqual(await countMetadata(racing), [0, 0]);
});

/** Commits to the table whose turn it is second, in the order of ids. */
async function commitDirectly(fixture: WriteFixture): Promise<void> {
  const tables = await Promise.all(TABLES.map(async (directory) => fixture.table(directory)));
  const second = tables.toSorted((one, other) => (one.id < other.id ? -1 : 1))[1];
  if (second === undefined) throw new Error('There are two tables.');
  const connection = await connect(fixture.root);
  await (await connection.openTable(second.location.directory)).delete('id = 5');
  connection.close();
}

test('whatever is killed at any time, readers see the rows of all batches up to one, the same in both tables', async (t) => {
  const round = record({
    moment: constantFrom(undefined, ...MOMENTS),
    updates: integer({ min: 0, max: 1 }),
  });
  await check(
    asyncProperty(array(round, { minLength: 1, maxLength: 4 }), async (rounds) => {
      let stop = new Stop();
      let fixture = await openTables(t, stop);
      let rows = 9;
      for (const [index, { moment, updates }] of rounds.entries()) {
        for (let each = 0; each < updates; each += 1) {
          await fixture.update([['id', 'id']], undefined, { directory: TABLES[index % 2] ?? 'one' });
        }
        const staged = await stage(fixture, 9 - rows);
        stop.moment = moment;
        const running = fixture.tryBatch(TABLES, staged, { key: `k${index}`, digest: `d${index}` });
        if (moment === undefined) {
          assert.equal((await running).kind, 'committed');
          rows -= 1;
        } else {
          await stop.reached;
          const { folder } = fixture;
          stop = new Stop();
          fixture = await openWriteFixture(t, { folder, onStep: stop.onStep });
        }
        assert.deepEqual(await readAll(fixture), [rows, rows]);
      }
    }),
    { numRuns: 3 },
  );
});
