import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Field, Float32, Float64, Int32, Int64, Schema, Table, Utf8, vectorFromArray } from 'apache-arrow';
import type { ArrowChunk, CheckedStream } from '../../src/arrow/checked-stream.ts';
import { refusal } from '../support/refusal.ts';
import { latest, openApart, openFixture, openRoom, openTable, readRows, toStream } from './engine-room.ts';
import type { EngineRoom } from './engine-room.ts';
import { recordHolds } from './hold-record.ts';
import { toItems, toPeople, toTable, vectorType } from './sample-tables.ts';

const MAIN = undefined;

/** The number of chunks that each `multi` stream has, by the size of a chunk. */
const SMALL_CHUNKS = { chunkBytes: 2048 };

test('adds the rows of a short stream in one version, without a hold', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  const holds = recordHolds();
  const options = { mode: 'append', ...holds } as const;
  const outcome = await engine.writes.insertRows({ place: place(), branch: MAIN }, await toStream(toItems(4)), options);
  assert.deepEqual(outcome, { version: 2, rows: 4 });
  assert.deepEqual(holds.calls, []);
  assert.equal((await readRows(t, table)).length, 7);
});

test('a stream without rows adds nothing and makes no version', async (t) => {
  const { engine, place } = await openTable(t, toItems(3));
  const empty = await toStream(toItems(0));
  const target = { place: place(), branch: MAIN };
  const { rows } = await engine.writes.insertRows(target, empty, {
    mode: 'append',
    ...recordHolds(),
  });
  assert.equal(rows, 0);
  assert.equal((await engine.describeTable(latest(place()))).version, 1);
});

test('readers see all rows of a long stream at once', async (t) => {
  const room = await openRoom(t);
  const { engine, place } = room;
  await engine.createTable(place(), await openFixture('multi'), {});
  const holds = recordHolds();
  const seen: number[] = [];
  const watching = {
    mode: 'append' as const,
    hold: async (version: number) => {
      await holds.hold(version);
    },
    release: async () => {
      await holds.release();
      // The last chunk is in, and readers are still held.
      seen.push((await engine.describeTable(latest(place()))).version);
    },
  };
  const target = { place: place(), branch: MAIN };
  const outcome = await engine.writes.insertRows(target, await openFixture('multi', SMALL_CHUNKS), watching);
  assert.equal(outcome.rows, 50);
  assert.ok(outcome.version > 2, 'the stream was one commit');
  assert.deepEqual(holds.calls, ['hold 1', 'release']);
  assert.deepEqual(seen, [1]);
  assert.equal((await engine.describeTable(latest(place()))).version, outcome.version);
  assert.equal((await readRows(t, latest(place()))).length, 100);
  await assertSpoolEmpty(room);
});

test('a long stream that breaks off commits nothing and leaves nothing on disk', async (t) => {
  const room = await openRoom(t);
  const { engine, place } = room;
  await engine.createTable(place(), await openFixture('multi'), {});
  const failure = new Error('the sender went away');
  const holds = recordHolds();
  const stream = cutAfter(await openFixture('multi', SMALL_CHUNKS), 3, failure);
  const target = { place: place(), branch: MAIN };
  await assert.rejects(engine.writes.insertRows(target, stream, { mode: 'append', ...holds }), failure);
  assert.deepEqual(holds.calls, []);
  assert.equal((await engine.describeTable(latest(place()))).version, 1);
  await assertSpoolEmpty(room);
});

test('takes the rows back when the engine stored fewer than were sent', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  const target = { place: place(), branch: MAIN };
  const stream = withChunks(await toStream(toItems(4)), (chunk) => ({ ...chunk, rows: 5 }));
  const inserting = engine.writes.insertRows(target, stream, { mode: 'append', ...recordHolds() });
  await assert.rejects(inserting, refusal('InvalidInput'));
  assert.equal((await readRows(t, table)).length, 3);
});

test('takes the commits of a long stream back when one fails', async (t) => {
  const room = await openRoom(t);
  const { engine, place } = room;
  await engine.createTable(place(), await openFixture('multi'), {});
  const holds = recordHolds();
  const lying = withChunks(await openFixture('multi', SMALL_CHUNKS), (chunk) => ({ ...chunk, rows: chunk.rows + 1 }));
  const target = { place: place(), branch: MAIN };
  const inserting = engine.writes.insertRows(target, lying, { mode: 'append', ...holds });
  await assert.rejects(inserting, refusal('InvalidInput'));
  assert.deepEqual(holds.calls, ['hold 1', 'release']);
  assert.equal((await readRows(t, latest(place()))).length, 50);
  await assertSpoolEmpty(room);
});

test('a branch gets rows of its own, of short and of long streams', async (t) => {
  const { engine, place } = await openRoom(t);
  await engine.createTable(place(), await openFixture('multi'), {});
  await (await (await openApart(t, latest(place()))).branches()).create('trial');
  const target = { place: place(), branch: 'trial' };
  const holds = recordHolds();
  await engine.writes.insertRows(target, await openFixture('multi'), { mode: 'append', ...holds });
  assert.deepEqual(holds.calls, []);
  await engine.writes.insertRows(target, await openFixture('multi', SMALL_CHUNKS), { mode: 'append', ...holds });
  assert.equal(holds.calls.length, 2);
  assert.equal((await readRows(t, { ...target, version: undefined })).length, 150);
  assert.equal((await readRows(t, latest(place()))).length, 50);
});

test('overwrites a branch and leaves the main one alone', async (t) => {
  const { engine, place } = await openTable(t, toItems(3));
  await (await (await openApart(t, latest(place()))).branches()).create('trial');
  const target = { place: place(), branch: 'trial' };
  const options = { mode: 'overwrite', ...recordHolds() } as const;
  await engine.writes.insertRows(target, await openFixture('multi', SMALL_CHUNKS), options);
  assert.equal((await readRows(t, { ...target, version: undefined })).length, 50);
  assert.equal((await readRows(t, latest(place()))).length, 3);
});

test('overwriting may change the schema', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  const target = { place: place(), branch: MAIN };
  const options = { mode: 'overwrite', ...recordHolds() } as const;
  const outcome = await engine.writes.insertRows(target, await openFixture('map'), options);
  assert.equal(outcome.version, 2);
  assert.notDeepEqual((await engine.describeTable(table)).schema.fields[0]?.name, 'name');
});

test('columns that may be null can be left out, and come in any order', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(1));
  const rows = toTable({ score: [new Float64(), [9]], id: [new Int32(), [7]] });
  const target = { place: place(), branch: MAIN };
  await engine.writes.insertRows(target, await toStream(rows), { mode: 'append', ...recordHolds() });
  assert.deepEqual((await readRows(t, table)).at(-1), { id: 7, name: null, score: 9 });
});

test('null structs stay null', async (t) => {
  const { engine, place, table } = await openTable(t, toPeople(10));
  const target = { place: place(), branch: MAIN };
  const before = await readRows(t, table);
  await engine.writes.insertRows(target, await toStream(toPeople(10)), { mode: 'append', ...recordHolds() });
  assert.deepEqual(await readRows(t, table), [...before, ...before]);
});

test('integers that fit are converted; what does not fit is refused', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(1));
  const target = { place: place(), branch: MAIN };
  const options = { mode: 'append', ...recordHolds() } as const;
  await engine.writes.insertRows(target, await toStream(toTable({ id: [new Int64(), [5n]] })), options);
  assert.equal((await readRows(t, table)).at(-1)?.['id'], 5);
  const large = await toStream(toTable({ id: [new Int64(), [2n ** 40n]] }));
  await assert.rejects(engine.writes.insertRows(target, large, options), refusal('InvalidInput'));
  assert.equal((await readRows(t, table)).length, 2);
});

const MISFITS: Readonly<Record<string, readonly [rows: Table, words: RegExp]>> = {
  'a column that the table lacks': [toTable({ id: [new Int32(), [1]], extra: [new Int32(), [1]] }), /"extra"/],
  'a column in other letters': [toTable({ ID: [new Int32(), [1]] }), /"ID"/],
  'a vector of another length': [toTable({ id: [new Int32(), [1]], vec: [vectorType(3), [[1, 2, 3]]] }), /"vec".*3.*2/],
  'text for a number': [toTable({ id: [new Utf8(), ['1']] }), /"id".*utf8.*int32/],
  'fractions for integers': [toTable({ id: [new Float32(), [1.5]] }), /"id".*float32.*int32/],
  'a required column left out': [toTable({ vec: [vectorType(2), [[1, 2]]] }), /"id" is missing/],
};

for (const [name, [rows, words]] of Object.entries(MISFITS)) {
  test(`refuses ${name}, and names the column`, async (t) => {
    const fields = [new Field('id', new Int32(), false), new Field('vec', vectorType(2), true)];
    const columns = { id: vectorFromArray([1], new Int32()), vec: vectorFromArray([[1, 2]], vectorType(2)) };
    const { engine, place } = await openTable(t, new Table(new Schema(fields), columns));
    const target = { place: place(), branch: MAIN };
    const inserting = engine.writes.insertRows(target, await toStream(rows), { mode: 'append', ...recordHolds() });
    await assert.rejects(inserting, refusal('TableSchemaValidationError', words));
    assert.equal((await engine.describeTable(latest(place()))).version, 1);
  });
}

test('refuses null in a column that may not be null', async (t) => {
  const schema = new Schema([new Field('id', new Int32(), false)]);
  const { engine, place } = await openTable(t, new Table(schema, { id: vectorFromArray([1], new Int32()) }));
  const rows = await toStream(toTable({ id: [new Int32(), [1, null]] }));
  const inserting = engine.writes.insertRows({ place: place(), branch: MAIN }, rows, {
    mode: 'append',
    ...recordHolds(),
  });
  await assert.rejects(inserting, refusal('TableSchemaValidationError', /"id"/));
});

async function assertSpoolEmpty({ root }: EngineRoom): Promise<void> {
  assert.deepEqual(await readdir(join(root, 'uploads', String(process.pid))), []);
}

function withChunks(stream: CheckedStream, change: (chunk: ArrowChunk) => ArrowChunk): CheckedStream {
  async function* changed(): AsyncGenerator<ArrowChunk> {
    for await (const chunk of stream.chunks) yield change(chunk);
  }
  return { schema: stream.schema, chunks: changed() };
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
