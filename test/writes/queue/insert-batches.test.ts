import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { Dictionary, Field, Float64, Int32, Schema, Table, Utf8, vectorFromArray } from 'apache-arrow';
import type { ArrowChunk, CheckedStream } from '../../../src/arrow/stream/checked-stream.ts';
import type { SucceededWrite } from '../../../src/writes/writes.ts';
import { openApart, openFixture, openLong, readRows, toChunk, toStream } from '../../engine/test-engine.ts';
import { toItems, toTable } from '../../engine/sample-tables.ts';
import { watchCommits } from '../../engine/watched-native.ts';
import { kindOf, refusal } from '../../support/refusal.ts';
import { countRows, openWriteFixture } from '../write-fixture.ts';
import type { WriteOptions, WriteFixture, WriteFixtureSettings } from '../write-fixture.ts';

type Insert = readonly [data: Table | CheckedStream, options?: WriteOptions];

/** Rows with these ids, whose other columns tell them apart. */
function toRows(...ids: readonly number[]): Table {
  return toTable({
    id: [new Int32(), ids],
    name: [new Utf8(), ids.map((id) => `item ${id}`)],
    score: [new Float64(), ids.map((id) => id / 2)],
  });
}

async function openItems(t: TestContext, settings: WriteFixtureSettings = {}): Promise<WriteFixture> {
  const fixture = await openWriteFixture(t, settings);
  await fixture.create(toRows(0));
  return fixture;
}

/** Inserts that wait behind a running write; each is its kind, its version and its rows, or why it was refused. */
async function insertTogether(fixture: WriteFixture, inserts: readonly Insert[]): Promise<readonly string[]> {
  const results = await fixture.behindWrite(
    inserts.map(
      ([data, options]) =>
        async () =>
          fixture.insert(data, options),
    ),
  );
  return results.map((result) => (result.status === 'fulfilled' ? shown(result.value) : kindOf(result.reason)));
}

function shown({ kind, version, fields }: SucceededWrite): string {
  return `${kind} ${version}: ${String(fields['num_inserted_rows'])} rows`;
}

async function idsOf(t: TestContext, fixture: WriteFixture, branch?: string): Promise<readonly unknown[]> {
  return (await readRows(t, fixture.state('table', branch))).map(({ id }) => id);
}

suite('inserts that wait for one table', () => {
  test('share one commit: one version, each its own row count, all rows in the order of the requests', async (t) => {
    const fixture = await openItems(t);
    const before = await fixture.engine.maintenance.assess(fixture.location());
    assert.deepEqual(await insertTogether(fixture, [[toRows(1)], [toRows(2, 3, 4)], [toRows(5, 6)]]), [
      'committed 2: 1 rows',
      'committed 2: 3 rows',
      'committed 2: 2 rows',
    ]);
    assert.deepEqual(fixture.batches, [3]);
    assert.deepEqual(
      await readRows(t, fixture.state()),
      [0, 1, 2, 3, 4, 5, 6].map((id) => ({ id, name: `item ${id}`, score: id / 2 })),
    );
    const { fragments } = await fixture.engine.maintenance.assess(fixture.location());
    assert.equal(fragments, before.fragments + 1);
  });

  test('each have a transaction of their own in the feed', async (t) => {
    const fixture = await openItems(t);
    const results = await fixture.behindWrite([1, 2].map((id) => async () => fixture.insert(toRows(id))));
    const ids = results.map((each) => (each.status === 'fulfilled' ? each.value.transactionId : undefined));
    assert.equal(new Set(ids).size, 2);
    for (const id of ids) assert.equal((await fixture.catalog.transactions.find(id ?? ''))?.version, 2);
  });

  test('add nothing for those without rows', async (t) => {
    const fixture = await openItems(t);
    const answers = await insertTogether(fixture, [[toRows(1)], [toRows()], [toRows(2)]]);
    assert.deepEqual(
      answers.map((answer) => answer.slice(answer.indexOf(':'))),
      [': 1 rows', ': 0 rows', ': 1 rows'],
    );
    assert.deepEqual(await idsOf(t, fixture), [0, 1, 2]);
  });

  test('are all seen after a lone one, and share nothing with it', async (t) => {
    const fixture = await openItems(t);
    await fixture.insert(toRows(1));
    await insertTogether(fixture, [[toRows(2)], [toRows(3)]]);
    assert.deepEqual(fixture.batches, [1, 2]);
    assert.deepEqual(await idsOf(t, fixture), [0, 1, 2, 3]);
  });
});

suite('a batch ends before an insert', () => {
  const cases: Readonly<Record<string, readonly [other: Insert, batches: readonly number[], outcome?: string]>> = {
    'with If-Match': [
      [toRows(9), { expectedVersion: 2 }],
      [2, 1, 1],
    ],
    'that If-Match refuses': [[toRows(9), { expectedVersion: 7 }], [2, 1], 'PreconditionFailed'],
    'with another order of columns': [
      [toTable({ score: [new Float64(), [1]], id: [new Int32(), [9]], name: [new Utf8(), ['x']] })],
      [2, 1, 1],
    ],
    'with fewer columns': [[toTable({ id: [new Int32(), [9]] })], [2, 1, 1]],
    'that does not fit the table': [[toTable({ id: [new Utf8(), ['x']] })], [2, 1], 'TableSchemaValidationError'],
  };
  for (const [name, [other, batches, outcome]] of Object.entries(cases)) {
    test(name, async (t) => {
      const fixture = await openItems(t);
      const answers = await insertTogether(fixture, [[toRows(1)], [toRows(2)], other, [toRows(3)]]);
      const last = batches.length + 1;
      assert.deepEqual(answers, [
        'committed 2: 1 rows',
        'committed 2: 1 rows',
        outcome ?? 'committed 3: 1 rows',
        `committed ${last}: 1 rows`,
      ]);
      assert.deepEqual(fixture.batches, batches);
    });
  }

  test('into another branch', async (t) => {
    const fixture = await openItems(t);
    await fixture.engine.versions.createBranch(fixture.state(), 'side');
    await insertTogether(fixture, [
      [toRows(1)],
      [toRows(2), { branch: 'side' }],
      [toRows(3), { branch: 'side' }],
      [toRows(4)],
    ]);
    assert.deepEqual(fixture.batches, [1, 2, 1]);
    assert.deepEqual(await idsOf(t, fixture), [0, 1, 4]);
    assert.deepEqual(await idsOf(t, fixture, 'side'), [0, 2, 3]);
  });

  test('with dictionaries', async (t) => {
    const fixture = await openWriteFixture(t);
    const type = new Dictionary(new Utf8(), new Int32());
    const rows = (text: string) => new Table({ d: vectorFromArray([text], type) });
    await fixture.create(rows('a'));
    assert.deepEqual(await insertTogether(fixture, [[rows('b')], [rows('c')]]), [
      'committed 2: 1 rows',
      'committed 3: 1 rows',
    ]);
    assert.deepEqual(
      (await readRows(t, fixture.state())).map(({ d }) => d),
      ['a', 'b', 'c'],
    );
  });

  test('that overwrites, or takes several commits', async (t) => {
    const fixture = await openWriteFixture(t);
    await fixture.create(await openFixture('multi'));
    const short = async () => openFixture('multi');
    const results = await fixture.behindWrite([
      async () => fixture.insert(await short()),
      async () => fixture.insert(await short(), { mode: 'overwrite' }),
      async () => fixture.insert(await short()),
      async () => fixture.insert(await openLong()),
      async () => fixture.insert(await short()),
    ]);
    for (const result of results) assert.equal(result.status, 'fulfilled');
    assert.deepEqual(fixture.batches, [1, 1, 1, 1]);
    assert.equal(await countRows(t, fixture), 200);
  });

  test('that is past the bounds of members, rows or bytes', async (t) => {
    const one = (await fileOf(toRows(1))).length + 1;
    for (const [limits, batches] of [
      [{ insertGroupMax: 2 }, [2, 2, 1]],
      [{ insertGroupMax: 1 }, [1, 1, 1, 1, 1]],
      [{ insertGroupRowsMax: 3 }, [3, 2]],
      [{ insertGroupBytesMax: 2 * one }, [2, 2, 1]],
    ] as const) {
      const fixture = await openItems(t, { limits });
      await insertTogether(fixture, [[toRows(1)], [toRows(2)], [toRows(3)], [toRows(4)], [toRows(5)]]);
      assert.deepEqual(fixture.batches, batches);
      assert.deepEqual(await idsOf(t, fixture), [0, 1, 2, 3, 4, 5]);
    }
  });

  test('that alone is larger than a batch may be gets a separate commit', async (t) => {
    const fixture = await openItems(t, { limits: { insertGroupRowsMax: 2 } });
    await insertTogether(fixture, [[toRows(1, 2, 3)], [toRows(4)], [toRows(5)]]);
    assert.deepEqual(fixture.batches, [1, 2]);
  });

  test('of another table', async (t) => {
    const fixture = await openItems(t);
    await fixture.create(toRows(0), 'other');
    await insertTogether(fixture, [[toRows(1)], [toRows(2), { directory: 'other' }], [toRows(3)]]);
    assert.deepEqual(await idsOf(t, fixture), [0, 1, 3]);
    assert.equal(await fixture.version('other'), 2);
  });
});

async function fileOf(table: Table): Promise<Buffer> {
  return (await toChunk(await toStream(table))).file;
}

suite('a fault', () => {
  test('reaches only the insert that has it', async (t) => {
    const fixture = await openWriteFixture(t);
    const field = new Field('id', new Int32(), false);
    const strict = (...ids: readonly number[]) =>
      new Table(new Schema([field]), { id: vectorFromArray([...ids], new Int32()) });
    const loose = (...ids: readonly (number | null)[]) => toTable({ id: [new Int32(), ids] });
    await fixture.create(strict(0));
    const answers = await insertTogether(fixture, [[loose(1)], [loose(2)], [loose(null)], [loose(3)], [loose(4, 5)]]);
    assert.deepEqual(
      answers.map((answer) => answer.replace(/ \d+:/, ':')),
      [
        'committed: 1 rows',
        'committed: 1 rows',
        'TableSchemaValidationError',
        'committed: 1 rows',
        'committed: 2 rows',
      ],
    );
    assert.deepEqual(await idsOf(t, fixture), [0, 1, 2, 3, 4, 5]);
  });

  test('of the engine before the commit breaks the batch up, and each insert is tried by itself', async (t) => {
    let calls = 0;
    const native = watchCommits(async (call) => {
      calls += 1;
      if (calls <= 2) throw new Error('something broke');
      return call();
    });
    const fixture = await openItems(t, { native });
    const answers = await insertTogether(fixture, [[toRows(1)], [toRows(2)], [toRows(3)], [toRows(4)]]);
    assert.deepEqual(
      answers,
      Array(4)
        .fill('committed')
        .map((kind, index) => `${kind} ${[2, 3, 4, 4][index]}: 1 rows`),
    );
    assert.deepEqual(await idsOf(t, fixture), [0, 1, 2, 3, 4]);
  });

  test('that keeps failing refuses all of them, and adds nothing', async (t) => {
    const native = watchCommits(async () => Promise.reject(new Error('something broke')));
    const fixture = await openItems(t, { native });
    assert.deepEqual(await insertTogether(fixture, [[toRows(1)], [toRows(2)], [toRows(3)]]), Array(3).fill('Internal'));
    assert.equal(await fixture.version(), 1);
  });

  test('of the journal refuses all of them, and adds nothing', async (t) => {
    const fixture = await openItems(t, {
      watchCatalog: (catalog) => {
        const begin = async (): Promise<void> => Promise.reject(new Error('the catalog is away'));
        return { ...catalog, journal: { ...catalog.journal, begin } };
      },
    });
    assert.deepEqual(await insertTogether(fixture, [[toRows(1)], [toRows(2)]]), ['Internal', 'Internal']);
    assert.equal(await fixture.version(), 1);
  });
});

suite('an insert of which the engine stored fewer rows than were sent', () => {
  /** Its batches hold fewer rows than they say. */
  async function lying(...ids: readonly number[]): Promise<CheckedStream> {
    const stream = await toStream(toRows(...ids));
    async function* chunks(): AsyncGenerator<ArrowChunk> {
      for await (const chunk of stream.chunks) yield { ...chunk, rows: chunk.rows + 1 };
    }
    return { schema: stream.schema, chunks: chunks() };
  }

  test('is refused, and the version before is the latest again', async (t) => {
    const fixture = await openItems(t);
    await assert.rejects(fixture.insert(await lying(1, 2)), refusal('InvalidInput'));
    assert.deepEqual(await idsOf(t, fixture), [0]);
    assert.equal((await fixture.insert(toRows(3))).kind, 'committed');
  });

  test('is refused alone when it shared a commit', async (t) => {
    const fixture = await openItems(t);
    const answers = await insertTogether(fixture, [[toRows(1)], [await lying(2)], [toRows(3)], [toRows(4)]]);
    assert.deepEqual(
      answers.map((answer) => answer.split(' ')[0]),
      ['committed', 'InvalidInput', 'committed', 'committed'],
    );
    assert.deepEqual(await idsOf(t, fixture), [0, 1, 3, 4]);
  });

  test('is distinguished from one next to which another program has added rows', async (t) => {
    const rival: { write?: () => Promise<unknown> } = {};
    const native = watchCommits(async (call) => {
      await rival.write?.();
      return call();
    });
    const fixture = await openItems(t, { native });
    const apart = await openApart(t, fixture.state());
    rival.write = async () => apart.add(await fileOf(toRows(8, 9)), 'append');
    assert.equal(shown(await fixture.insert(toRows(1))), 'committed 3: 1 rows');
    assert.deepEqual(await idsOf(t, fixture), [0, 8, 9, 1]);
  });
});

suite('a repeated insert', () => {
  test('is replayed and drops out of the batch', async (t) => {
    const fixture = await openItems(t);
    const first = { key: 'k', digest: 'd' };
    await fixture.insert(toRows(1), first);
    assert.deepEqual(await insertTogether(fixture, [[toRows(2)], [toRows(3)]]), Array(2).fill('committed 3: 1 rows'));
    assert.equal(shown(await fixture.insert(toRows(1), first)), 'replayed 2: 1 rows');
    assert.deepEqual(await idsOf(t, fixture), [0, 1, 2, 3]);
  });

  test('with the key of one that waits gets its result, and is not in the batch a second time', async (t) => {
    const fixture = await openItems(t);
    const same = { key: 'k', digest: 'd' };
    const twin: Promise<SucceededWrite>[] = [];
    const results = await fixture.behindWrite([
      async () => fixture.insert(toRows(1), same),
      async () => {
        twin.push(fixture.insert(toRows(1), same));
        return fixture.insert(toRows(2));
      },
    ]);
    assert.deepEqual(
      results.map((each) => (each.status === 'fulfilled' ? shown(each.value) : kindOf(each.reason))),
      ['committed 2: 1 rows', 'committed 2: 1 rows'],
    );
    assert.deepEqual((await Promise.all(twin)).map(shown), ['replayed 2: 1 rows']);
    assert.deepEqual(await idsOf(t, fixture), [0, 1, 2]);
  });
});

test('an insert whose client left while it waited is not in the batch', async (t) => {
  const fixture = await openItems(t);
  const client = new AbortController();
  const results = await fixture.behindWrite([
    async () => fixture.insert(toRows(1)),
    async () => fixture.insert(toRows(2), { signal: client.signal }),
    async () => {
      client.abort();
      return fixture.insert(toRows(3));
    },
  ]);
  assert.deepEqual(
    results.map((each) => (each.status === 'fulfilled' ? shown(each.value) : kindOf(each.reason))),
    ['committed 2: 1 rows', 'ServiceUnavailable', 'committed 2: 1 rows'],
  );
  assert.deepEqual(await idsOf(t, fixture), [0, 1, 3]);
});

test('8 clients that each send one insert after the other lose no row, and share commits', async (t) => {
  const fixture = await openItems(t, { limits: { batchGatherMilliseconds: 3 } });
  const client = async (number: number): Promise<void> => {
    for (let round = 0; round < 10; round += 1) await fixture.insert(toRows(100 * (number + 1) + round));
  };
  await Promise.all(Array.from({ length: 8 }, async (_, number) => client(number)));
  const ids = (await idsOf(t, fixture)).filter((id) => id !== 0);
  assert.equal(ids.length, 80);
  assert.equal(new Set(ids).size, 80);
  assert.ok(fixture.batches.length < 60, `${fixture.batches.length} commits for 80 inserts`);
  // Those of one client are in the order in which it sent them.
  for (let number = 1; number <= 8; number += 1) {
    const own = ids.map(Number).filter((id) => Math.floor(id / 100) === number);
    assert.deepEqual(
      own,
      own.toSorted((one, other) => one - other),
    );
  }
});

test('the rows of a batch are those of its streams, whatever else the table holds', async (t) => {
  const fixture = await openWriteFixture(t);
  await fixture.create(toItems(2));
  await insertTogether(fixture, [[toItems(3)], [toItems(1)], [toItems(4)]]);
  assert.deepEqual(await idsOf(t, fixture), [0, 1, 0, 1, 2, 0, 0, 1, 2, 3]);
});
