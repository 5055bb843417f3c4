import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { tableToIPC } from 'apache-arrow';
import { pullChunks } from '../../../src/arrow/stream/chunk-source.ts';
import { locationUri } from '../../../src/model/table.ts';
import { refusal } from '../../support/refusal.ts';
import { commitPlan, connectApart, latest, openTestEngine, sql, toStream } from '../test-engine.ts';
import { toItems } from '../sample-tables.ts';
import type { NativeConnection } from '../../../src/engine/native/native.ts';

const FILE = Buffer.from(tableToIPC(toItems(3), 'file'));

/** Makes tables as an embedded client would that uses the engine's own namespaces. */
async function createNamespaced(connection: NativeConnection, path: readonly string[]): Promise<void> {
  for (let depth = 1; depth < path.length; depth += 1) {
    await connection.createNamespace(path.slice(0, depth)).catch(() => {});
  }
  await connection.createTable(path.at(-1) ?? '', FILE, 'create', path.slice(0, -1), {});
}

test('finds directories named *.lance, and skips those that are not tables', async (t) => {
  const { engine, root, location } = await openTestEngine(t);
  await engine.createTable(location('orders'), await toStream(toItems(3)), {});
  await engine.createTable(location('x.y-z_1'), await toStream(toItems(3)), {});
  await mkdir(join(root, 'empty.lance'));
  await mkdir(join(root, 'folder'));
  await writeFile(join(root, 'file.lance'), 'text');
  const found = await engine.findTables(root, () => false);
  assert.deepEqual(
    found.map(({ path }) => path),
    [['orders'], ['x.y-z_1']],
  );
  assert.deepEqual(found[0]?.location, location('orders'));
});

test("finds tables in the engine's own namespaces, and opens, updates and removes them", async (t) => {
  const { engine, root } = await openTestEngine(t);
  const connection = await connectApart(t, root, true);
  await createNamespaced(connection, ['flat']);
  await createNamespaced(connection, ['sales', 'orders']);
  await createNamespaced(connection, ['sales', 'eu', 'orders']);
  const found = await engine.findTables(root, () => false);
  const paths = found.map(({ path }) => path.join('/')).toSorted();
  assert.deepEqual(paths, ['flat', 'sales/eu/orders', 'sales/orders']);

  const deep = found.find(({ path }) => path.length === 3);
  assert.ok(deep !== undefined);
  const { location } = deep;
  assert.ok((await readdir(root)).includes(location.directory), 'the location names a directory that is there');
  assert.equal((await engine.describeTable(latest(location))).version, 1);
  const update = { assignments: [{ path: ['score'] as const, expression: sql('2') }], predicate: undefined };
  const target = { location, branch: undefined };
  const updated = await commitPlan(engine, target, engine.commits.update(target, update));
  assert.deepEqual(updated, { rowsUpdated: 3, version: 2 });
  const stream = await toStream(toItems(5));
  const data = { location, schema: stream.schema, source: await pullChunks(stream, 2), storageOptions: {} };
  assert.deepEqual(await commitPlan(engine, target, engine.commits.overwrite(data)), { rows: 5, version: 3 });
  assert.ok((await readdir(locationUri(location))).length > 0, 'it is overwritten where it was');
  await engine.dropTable(location);
  assert.equal((await engine.findTables(root, () => false)).length, 2);
});

test('skips known tables', async (t) => {
  const { engine, root, location } = await openTestEngine(t);
  await engine.createTable(location('orders'), await toStream(toItems(3)), {});
  await engine.createTable(location('items'), await toStream(toItems(3)), {});
  const found = await engine.findTables(root, (directory) => directory === 'orders');
  assert.deepEqual(
    found.map(({ path }) => path),
    [['items']],
  );
});

test('creates no catalog of the engine in a root without one', async (t) => {
  const { engine, root, location } = await openTestEngine(t);
  await engine.createTable(location('orders'), await toStream(toItems(3)), {});
  await engine.findTables(root, () => false);
  assert.deepEqual(await readdir(root), ['orders.lance']);
});

test('refuses a missing root, and does not create it', async (t) => {
  const { engine, root } = await openTestEngine(t);
  await assert.rejects(
    engine.findTables(join(root, 'new'), () => false),
    refusal('ServiceUnavailable', /missing/),
  );
  assert.deepEqual(await readdir(root), []);
});
