import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ServiceError } from '../../src/errors/service-error.ts';
import { refusal } from '../support/refusal.ts';
import { ENGINE_LIMITS, latest, openRoom, openTable, readRows, sql, toQuery, toStream } from './engine-room.ts';
import { toItems } from './sample-tables.ts';

const UPDATE = { assignments: [{ path: ['score'] as const, expression: sql('score + 1') }], predicate: undefined };

test('brings an earlier version back as a new one', async (t) => {
  const { engine, place, table } = await openTable(t, toItems(3));
  await engine.updateRows({ place: place(), branch: undefined }, UPDATE);
  assert.equal(await engine.restoreVersion({ place: place(), branch: undefined }, 1), 3);
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

test('refuses to bring back a version that is not there', async (t) => {
  const { engine, place } = await openTable(t, toItems(3));
  await assert.rejects(
    engine.restoreVersion({ place: place(), branch: undefined }, 9),
    (error) => error instanceof ServiceError && error.kind === 'TableVersionNotFound',
  );
});

test('removes a table after the writes that came before', async (t) => {
  const { engine, place, root, table } = await openTable(t, toItems(3));
  const target = { place: place(), branch: undefined };
  const updates = Array.from({ length: 4 }, async () => engine.updateRows(target, UPDATE));
  const removal = engine.removeTable(place());
  assert.equal((await Promise.all(updates)).length, 4);
  await removal;
  assert.deepEqual(await readdir(root), []);
  await assert.rejects(
    engine.analyzeQuery(table, toQuery({})),
    (error) => error instanceof ServiceError && error.kind === 'TableNotFound',
  );
  await assert.rejects(engine.updateRows(target, UPDATE), ServiceError);
  assert.deepEqual(await readdir(root), [], 'a write after the removal brings nothing back');
});

test('removes what is not there without a word', async (t) => {
  const { engine, place } = await openRoom(t);
  await engine.removeTable(place('never'));
});

test('a storage root that is missing is refused, before and after it was used, and never made', async (t) => {
  const { engine, root } = await openRoom(t);
  const place = { kind: 'listed', root: join(root, 'data'), directory: 'table' } as const;
  const create = async () => engine.createTable(place, await toStream(toItems(3)), {});
  const isMissing = refusal('ServiceUnavailable', /storage root of the database is missing/);
  await assert.rejects(create(), isMissing);
  await engine.lifecycle.ensureRoot(place.root);
  await create();
  await rename(place.root, join(root, 'away'));
  await assert.rejects(engine.createTable({ ...place, directory: 'other' }, await toStream(toItems(3)), {}), isMissing);
  await assert.rejects(engine.updateRows({ place, branch: undefined }, UPDATE), isMissing);
  assert.deepEqual(
    await readdir(root),
    ['away', 'uploads'].filter((name) => name !== 'uploads'),
  );
  await rename(join(root, 'away'), place.root);
  assert.equal((await engine.updateRows({ place, branch: undefined }, UPDATE)).version, 2);
});

test('refuses a storage root that is a file, and works once it is not', async (t) => {
  const { engine, root } = await openRoom(t);
  const file = join(root, 'file');
  await writeFile(file, 'text');
  const place = { kind: 'listed', root: file, directory: 'table' } as const;
  await assert.rejects(
    engine.describeTable(latest(place)),
    (error) => error instanceof ServiceError && error.kind === 'ServiceUnavailable' && !error.message.includes(root),
  );
});

test('answers a probe', async (t) => {
  const { engine } = await openRoom(t);
  await engine.probe();
});

test('refuses work after it was closed', async (t) => {
  const { engine, table, place } = await openTable(t, toItems(3));
  await engine.describeTable(table);
  await engine.close();
  await assert.rejects(engine.describeTable(table), isShutDown);
  await assert.rejects(engine.updateRows({ place: place(), branch: undefined }, UPDATE), isShutDown);
  await engine.close();
});

test('brings no second Arrow decoder into the process', () => {
  const script = `
    const { openEngine } = await import('./build/src/engine/engine.js');
    const { openStorages } = await import('./build/src/storage/storages.js');
    const limits = { openTablesMax: 1, laneWaitingMax: 1, laneWaitSeconds: 1, laneTurnSeconds: 60, writeAttemptsMax: 1, indexCacheBytes: 1e6, metadataCacheBytes: 1e6 };
    const engine = await openEngine({ limits, storageOptions: {}, querySeconds: 1, spoolFolder: '/nowhere', storages: openStorages({ sync: 'os', watchedTablesMax: 1 }) });
    await engine.probe();
    await engine.close();
    const { default: module } = await import('node:module');
    console.log(JSON.stringify(Object.keys(module._cache)));
  `;
  const files = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  assert.match(files, /native\.js/);
  assert.doesNotMatch(files, /apache-arrow/);
});

function isShutDown(error: unknown): boolean {
  return error instanceof ServiceError && error.kind === 'ServiceUnavailable' && /shutting down/.test(error.message);
}

test('answers no probe while a write keeps others waiting for too long, and answers again after it', async (t) => {
  const { engine, place } = await openRoom(t, { limits: { ...ENGINE_LIMITS, laneTurnSeconds: 0 } });
  await engine.createTable(place(), await toStream(toItems(3)), {});
  const target = { place: place(), branch: undefined };
  const writes = [engine.updateRows(target, UPDATE), engine.updateRows(target, UPDATE)];
  while (engine.counts().lanesWaiting === 0) await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(engine.probe(), ServiceError);
  await Promise.all(writes);
  await engine.probe();
});
