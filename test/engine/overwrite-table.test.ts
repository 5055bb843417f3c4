import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { ArrowChunk, CheckedStream } from '../../src/arrow/checked-stream.ts';
import type { OverwriteOptions } from '../../src/engine/engine.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { TableState } from '../../src/model/table.ts';
import { openApart, openFixture, openTable, readRows, sql, toStream } from './engine-room.ts';
import { toItems } from './sample-tables.ts';

/** Records what the catalog would be told. */
function recordHolds(): OverwriteOptions & { readonly calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    storageOptions: {},
    hold: async (version) => void calls.push(`hold ${version}`),
    release: async () => void calls.push('release'),
  };
}

test('replaces rows and schema by a new version and keeps the old ones', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  const options = recordHolds();
  const outcome = await engine.overwriteTable(place(), await openFixture('dict'), options);
  assert.deepEqual(outcome, { version: 2, rows: 50 });
  assert.deepEqual(options.calls, []);
  const { schema } = await engine.describeTable(table);
  assert.deepEqual(
    schema.fields.map((field) => field.name),
    ['id', 'd'],
  );
  assert.equal((await readRows(t, { ...table, version: 1 })).length, 3);
});

test('holds readers at the old version until the last of many chunks is in', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  const options = recordHolds();
  const seen: number[] = [];
  const watching: OverwriteOptions = {
    ...options,
    hold: async (version) => {
      await options.hold(version);
      seen.push((await engine.describeTable(table)).version);
    },
    release: async () => {
      await options.release();
      seen.push((await readRows(t, table)).length);
    },
  };
  const { rows } = await engine.overwriteTable(place(), await openFixture('multi', { chunkBytes: 2048 }), watching);
  assert.equal(rows, 50);
  assert.deepEqual(options.calls, ['hold 1', 'release']);
  assert.deepEqual(seen, [1, 50]);
});

test('keeps readers who asked before the hold at the old version, too', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  const stream = await openFixture('multi', { chunkBytes: 2048 });
  const seen: number[] = [];
  const pausing = {
    schema: stream.schema,
    chunks: pauseAt(stream, 4, async () => {
      seen.push(
        (await engine.describeTable(table)).version,
        await openApart(t, table).then((apart) => apart.version()),
      );
    }),
  };
  await engine.overwriteTable(place(), pausing, recordHolds());
  const [read, latest = 0] = seen;
  assert.equal(read, 1);
  assert.ok(latest > 1, 'the first chunks were not committed yet');
  assert.equal((await engine.describeTable(table)).version > latest, true);
});

test('brings the old contents back and lets readers go when a later chunk fails', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  const options = recordHolds();
  const failure = new Error('the sender went away');
  const stream = cutAfter(await openFixture('multi', { chunkBytes: 2048 }), 3, failure);
  await assert.rejects(engine.overwriteTable(place(), stream, options), failure);
  assert.deepEqual(options.calls, ['hold 1', 'release']);
  await assertUnchanged(t, table);
});

test('brings the old contents back when the engine stored fewer rows than were sent', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  const stream = await toStream(toItems(10));
  const options = recordHolds();
  const claiming = { schema: stream.schema, chunks: mapChunks(stream, (chunk) => ({ ...chunk, rows: 11 })) };
  await assert.rejects(
    engine.overwriteTable(place(), claiming, options),
    (error) => error instanceof ServiceError && error.kind === 'InvalidInput',
  );
  await assertUnchanged(t, table);
});

test('changes nothing when the hold is refused', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  const refusal = new Error('the catalog is away');
  const options = { ...recordHolds(), hold: async () => Promise.reject(refusal) };
  await assert.rejects(
    engine.overwriteTable(place(), await openFixture('multi', { chunkBytes: 2048 }), options),
    refusal,
  );
  assert.equal((await engine.describeTable(table)).version, 1);
});

test('takes the overwrite back when the release is refused', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  const refusal = new Error('the catalog is away');
  const options = { ...recordHolds(), release: async () => Promise.reject(refusal) };
  await assert.rejects(
    engine.overwriteTable(place(), await openFixture('multi', { chunkBytes: 2048 }), options),
    refusal,
  );
  await assertUnchanged(t, table);
});

test('leaves a table that can be updated and overwritten again', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  await engine.overwriteTable(place(), await toStream(toItems(5)), recordHolds());
  await engine.overwriteTable(place(), await openFixture('map'), recordHolds());
  await engine.overwriteTable(place(), await toStream(toItems(7)), recordHolds());
  const update = { assignments: [{ path: ['score'] as const, expression: sql('2') }], predicate: undefined };
  assert.equal((await engine.updateRows({ place: place(), branch: undefined }, update)).rowsUpdated, 7);
  assert.equal((await engine.describeTable(table)).version, 5);
});

test('writes a table whose data is not there as if it were new', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  await engine.removeTable(place());
  const outcome = await engine.overwriteTable(place(), await toStream(toItems(4)), recordHolds());
  assert.deepEqual(outcome, { version: 1, rows: 4 });
  assert.equal((await readRows(t, table)).length, 4);
});

async function assertUnchanged(t: TestContext, table: TableState): Promise<void> {
  const apart = await openApart(t, table);
  assert.ok((await apart.version()) > 1, 'a new version with the old contents');
  assert.deepEqual(
    (await readRows(t, table)).map((row) => row['name']),
    ['item 0', 'item 1', 'item 2'],
  );
}

async function* mapChunks(
  stream: CheckedStream,
  change: (chunk: ArrowChunk) => ArrowChunk,
): AsyncGenerator<ArrowChunk> {
  for await (const chunk of stream.chunks) yield change(chunk);
}

function cutAfter(stream: CheckedStream, count: number, failure: Error): CheckedStream {
  async function* cut(): AsyncGenerator<ArrowChunk> {
    let given = 0;
    for await (const chunk of stream.chunks) {
      if (given === count) throw failure;
      given += 1;
      yield chunk;
    }
  }
  return { schema: stream.schema, chunks: cut() };
}

/** Looks around before a chunk is given: by then the engine has committed some of those before it. */
async function* pauseAt(stream: CheckedStream, index: number, look: () => Promise<void>): AsyncGenerator<ArrowChunk> {
  let count = 0;
  for await (const chunk of stream.chunks) {
    if (count === index) await look();
    count += 1;
    yield chunk;
  }
}

test('tells of a release that is refused, and keeps other writers waiting until it is done after all', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  const refusal = new Error('the catalog is away');
  const recorded = recordHolds();
  let refusals = 3;
  const release = async (): Promise<void> => {
    if (refusals === 0) return recorded.release();
    refusals -= 1;
    throw refusal;
  };
  const stream = await openFixture('multi', { chunkBytes: 2048 });
  await assert.rejects(engine.overwriteTable(place(), stream, { ...recorded, release }), refusal);
  assert.ok(refusals > 0, 'the caller need not wait for the catalog');
  await assertUnchanged(t, table);
  const update = { assignments: [{ path: ['id'] as const, expression: sql('id + 10') }], predicate: undefined };
  const { version } = await engine.updateRows({ place: place(), branch: undefined }, update);
  assert.deepEqual([refusals, recorded.calls.at(-1)], [0, 'release'], 'what a writer is told of must be seen');
  assert.equal((await engine.describeTable(table)).version, version);
});
