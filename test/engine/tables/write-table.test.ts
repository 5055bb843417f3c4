import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { Int32 } from 'apache-arrow';
import { ServiceError } from '../../../src/errors/service-error.ts';
import {
  cutAfter,
  latest,
  openFixture,
  openLong,
  openTestEngine,
  readRows,
  toStream,
  withChunks,
} from '../test-engine.ts';
import { toItems, toTable } from '../sample-tables.ts';

test('stores every row and the schema with its metadata', async (t) => {
  const { engine, location } = await openTestEngine(t);
  const outcome = await engine.createTable(location(), await openFixture('meta'), {});
  assert.deepEqual(outcome, { version: 1, rows: 50 });
  const { version, schema } = await engine.describeTable(latest(location()));
  assert.equal(version, 1);
  assert.deepEqual(
    schema.fields.map((field) => field.name),
    ['id', 's', 'vec'],
  );
  assert.equal(schema.metadata.get('k'), 'v');
  assert.equal((await readRows(t, latest(location()))).length, 50);
});

test('writes a stream of many chunks completely and in order', async (t) => {
  const { engine, location } = await openTestEngine(t);
  const stream = await openLong();
  const { rows, version } = await engine.createTable(location(), stream, {});
  assert.equal(rows, 50);
  assert.ok(version > 2, `${version} chunks are more than two`);
  const ids = (await readRows(t, latest(location()))).map((row) => row['id']);
  assert.deepEqual(
    ids,
    Array.from({ length: 50 }, (_, index) => index),
  );
});

test('creates an empty table from a stream without batches', async (t) => {
  const { engine, location } = await openTestEngine(t);
  assert.deepEqual(await engine.createTable(location(), await openFixture('zerobatch'), {}), { version: 1, rows: 0 });
  const { schema } = await engine.describeTable(latest(location()));
  assert.deepEqual(
    schema.fields.map((field) => field.name),
    ['id', 's', 'vec'],
  );
});

test('stores maps, which need the newer storage format', async (t) => {
  const { engine, location } = await openTestEngine(t);
  const { rows } = await engine.createTable(location(), await openFixture('map'), {});
  assert.equal((await readRows(t, latest(location()))).length, rows);
});

for (const name of [
  'lz4',
  'zstd',
  'dict',
  'dict_delta',
  'struct',
  'list_struct',
  'uuid_ext',
  'decimal128',
  'tstz_us',
]) {
  test(`stores the fixture ${name}`, async (t) => {
    const { engine, location } = await openTestEngine(t);
    const { rows } = await engine.createTable(location(), await openFixture(name), {});
    assert.equal((await readRows(t, latest(location()))).length, rows);
  });
}

test('removes everything when the stream fails midway, and passes its error on', async (t) => {
  const { engine, location, root } = await openTestEngine(t);
  const whole = await openLong();
  const failure = new Error('the sender went away');
  await assert.rejects(engine.createTable(location(), cutAfter(whole, 2, failure), {}), failure);
  assert.deepEqual(await readdir(root), []);
});

test('removes everything and refuses when the engine stored fewer rows than were sent', async (t) => {
  const { engine, location, root } = await openTestEngine(t);
  const stream = await toStream(toItems(10));
  const claiming = withChunks(stream, (chunk) => ({ ...chunk, rows: chunk.rows + 1 }));
  await assert.rejects(
    engine.createTable(location(), claiming, {}),
    (error) => error instanceof ServiceError && error.kind === 'InvalidInput' && /malformed/.test(error.message),
  );
  assert.deepEqual(await readdir(root), []);
});

test('removes everything when the engine refuses the first chunk', async (t) => {
  const { engine, location, root } = await openTestEngine(t);
  const broken = withChunks(await toStream(toItems(3)), (chunk) => ({ ...chunk, file: Buffer.from('ARROW1 no more') }));
  await assert.rejects(
    engine.createTable(location(), broken, {}),
    (error) => error instanceof ServiceError && error.kind === 'InvalidInput',
  );
  assert.deepEqual(await readdir(root), []);
});

test('passes storage options on to the engine', async (t) => {
  const { engine, location } = await openTestEngine(t);
  const stream = await toStream(toTable({ id: [new Int32(), [1]] }));
  await assert.rejects(engine.createTable(location(), stream, { new_table_data_storage_version: 'not a version' }));
});
