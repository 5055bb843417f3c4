import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ensureRoots } from '../../src/app/startup.ts';
import { openStorages } from '../../src/storage/storages.ts';
import { createTable, holdVersion, open, temporaryFile } from '../catalog/temporary-catalog.ts';
import { ContractServer } from '../contract/contract-server.ts';
import { NO_OBJECT_STORES, toObjectSettings } from '../storage/object/test-stores.ts';
import { sampleStream } from '../support/arrow-tables.ts';
import { Client } from '../support/client.ts';
import { S3Emulator } from '../support/s3/s3-emulator.ts';
import { startServerProcess } from '../support/server-process.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { makeFolder } from '../support/temporary-folder.ts';

for (const branch of [undefined, 'trial']) {
  test(`a write of several commits that a crash cut short is undone (${branch ?? 'main'})`, async (t) => {
    const folder = await makeFolder(t);
    const before = await ContractServer.start({ folder });
    const table = await before.table({ stream: sampleStream(4) });
    await (await (await before.embedded(table)).branches()).create('trial');
    const at = `${table.at}/insert?branch=${branch ?? 'main'}`;
    const { json } = await before.admin.arrow(at, sampleStream(2));
    const record = await findTable(before, table.id);
    // As if the process had died between its first commit and its last.
    await holdVersion(before.catalog, record.id, { version: json.version, branch });
    assert.equal(
      (await before.admin.arrow(`${table.at}/insert?branch=${branch ?? 'main'}`, sampleStream(7))).status,
      200,
    );
    await before.close();

    const after = await ContractServer.start({ folder });
    t.after(async () => after.close());
    const body = branch === undefined ? {} : { branch };
    assert.equal((await after.admin.post(`${table.at}/count_rows`, body)).json, 6);
    assert.equal((await findTable(after, table.id)).heldVersion, undefined);
  });
}

async function findTable(server: ContractServer, name: string) {
  const database = await server.catalog.databases.find('default');
  const table = await server.catalog.tables.find(database?.id ?? '', [name]);
  assert.ok(table);
  return table;
}

test(
  'a bucket that does not answer is probed once, however many databases it has, and the start goes on',
  {
    skip: NO_OBJECT_STORES,
    timeout: 100_000,
  },
  async (t) => {
    const emulator = await S3Emulator.start(t);
    const catalog = await open(t, await temporaryFile(t));
    const roots = ['a', 'b', 'c'].map((name) => `s3://tables/${name}`);
    for (const root of roots) {
      const { id } = await catalog.databases.create({ name: `on-${root.slice(-1)}`, root });
      await createTable(catalog, id, ['items']);
    }
    emulator.faults.add('hang', {}, 1000);
    const objects = toObjectSettings(emulator, { requestSeconds: 30, requestAttemptsMax: 5 });
    const storages = openStorages({ sync: 'os', watchedTablesMax: 1, objects });
    t.after(() => storages.close());
    const unusable = await ensureRoots(catalog, storages, { emit: () => {} });
    assert.deepEqual([...unusable].toSorted(), roots);
    assert.equal(emulator.log.filter(({ path }) => path.includes('tiltyard-probe')).length, 1);
  },
);

test('the marks that the former release left beside the catalog are removed', async (t) => {
  const folder = await makeFolder(t);
  const file = join(folder, 'tiltyard.db-answers');
  await writeFile(file, 'marks');
  const server = await ContractServer.start({ folder });
  t.after(async () => server.close());
  assert.equal(existsSync(file), false);
});

test('a configured administrator key that was revoked stays revoked, and the server starts with a warning', async (t) => {
  const folder = await makeFolder(t);
  const warnings = ({ log }: Pick<ServerProcess, 'log'>) => log.filter(({ event }) => event === 'admin-key-revoked');
  const before = await startServerProcess(folder);
  t.after(async () => before.stop());
  const admin = new Client(before.url);
  const { id: principal } = (await admin.get('/v1/whoami')).json;
  const grants = [{ role: 'admin', all_databases: true }];
  const { key } = (await admin.post('/v1/access/key/create', { name: 'successor', grants })).json;
  const revoked = { key_id: principal.slice('key:'.length) };
  assert.equal((await new Client(before.url, { key }).post('/v1/access/key/revoke', revoked)).status, 200);
  assert.deepEqual(warnings(before), []);
  await before.stop();

  const after = await startServerProcess(folder);
  t.after(async () => after.stop());
  assert.equal((await new Client(after.url).get('/v1/tables')).status, 401);
  assert.equal((await new Client(after.url, { key }).get('/v1/tables')).status, 200);
  assert.deepEqual(
    warnings(after).map(({ level }) => level),
    ['warn'],
  );
});
