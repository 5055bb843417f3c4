import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Engine, WriteTarget } from '../../src/engine/engine.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import { refusal } from '../support/refusal.ts';
import { commitPlan, latest, openTestEngine, openTable, readRows, sql, toStream } from './test-engine.ts';
import { toItems } from './sample-tables.ts';

const UPDATE = { assignments: [{ path: ['score'] as const, expression: sql('score + 1') }], predicate: undefined };

async function update(engine: Engine, target: WriteTarget) {
  return commitPlan(engine, target, engine.commits.update(target, UPDATE));
}

test('restores an earlier version as a new one', async (t) => {
  const { engine, location, table } = await openTable(t, toItems(3));
  await update(engine, { location: location(), branch: undefined });
  assert.equal(await engine.restoreVersion({ location: location(), branch: undefined }, 1), 3);
  assert.equal((await engine.describeTable(table)).version, 3);
  assert.deepEqual(
    (await readRows(t, table)).map((row) => row['score']),
    [1, 1, 1],
  );
  assert.deepEqual(
    (await readRows(t, { ...table, version: 2 })).map((row) => row['score']),
    [2, 2, 2],
  );
});

test('refuses to restore a missing version', async (t) => {
  const { engine, location } = await openTable(t, toItems(3));
  await assert.rejects(
    engine.restoreVersion({ location: location(), branch: undefined }, 9),
    (error) => error instanceof ServiceError && error.kind === 'TableVersionNotFound',
  );
});

test('refuses a missing storage root, and does not create it', async (t) => {
  const { engine, root } = await openTestEngine(t);
  const location = { kind: 'listed', root: join(root, 'data'), directory: 'table' } as const;
  const creating = engine.createTable(location, await toStream(toItems(3)), {});
  await assert.rejects(creating, refusal('ServiceUnavailable', /storage root of the database is missing/));
  assert.deepEqual(await readdir(root), []);
});

test('refuses a storage root that is a file, and works once it is not', async (t) => {
  const { engine, root } = await openTestEngine(t);
  const file = join(root, 'file');
  await writeFile(file, 'text');
  const location = { kind: 'listed', root: file, directory: 'table' } as const;
  await assert.rejects(
    engine.describeTable(latest(location)),
    (error) => error instanceof ServiceError && error.kind === 'ServiceUnavailable' && !error.message.includes(root),
  );
});

test('drops a table, and accepts that one is missing', async (t) => {
  const { engine, location, root, table } = await openTable(t, toItems(3));
  await engine.dropTable(location());
  assert.deepEqual(await readdir(root), []);
  await assert.rejects(engine.describeTable(table), refusal('TableNotFound'));
  await engine.dropTable(location());
});

test('answers a probe', async (t) => {
  const { engine } = await openTestEngine(t);
  await engine.probe();
});

test('refuses work after it is closed', async (t) => {
  const { engine, table, location } = await openTable(t, toItems(3));
  await engine.describeTable(table);
  await engine.close();
  await assert.rejects(engine.describeTable(table), isShutDown);
  await assert.rejects(update(engine, { location: location(), branch: undefined }), isShutDown);
  await engine.close();
});

test('brings no second Arrow decoder into the process', () => {
  const script = `
    const { openEngine } = await import('./build/src/engine/engine.js');
    const { openStorages } = await import('./build/src/storage/storages.js');
    const limits = { openTablesMax: 1, queueWaitingMax: 1, queueWaitSeconds: 1, queueHoldSeconds: 60, writeAttemptsMax: 1, bulkWritesMax: 1, indexCacheBytes: 1e6, metadataCacheBytes: 1e6 };
    const engine = await openEngine({ limits, storageOptions: {}, querySeconds: 1, schemasFolder: '', storages: openStorages({ sync: 'os', watchedTablesMax: 1 }) });
    await engine.probe();
    await engine.close();
    const { default: module } = await import('node:module');
    console.log(JSON.stringify(Object.keys(module._cache)));
  `;
  const files = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  assert.match(files, /lancedb\.[\w-]+\.node/);
  assert.doesNotMatch(files, /apache-arrow/);
});

function isShutDown(error: unknown): boolean {
  return error instanceof ServiceError && error.kind === 'ServiceUnavailable' && /shutting down/.test(error.message);
}
