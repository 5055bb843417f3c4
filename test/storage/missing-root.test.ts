import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ContractServer } from '../contract/contract-server.ts';
import { sampleStream } from '../support/arrow-tables.ts';
import { makeFolder } from '../support/temporary-folder.ts';

test('the root of a database that was moved away is missed, not made again, also by a restart', async (t) => {
  const folder = await makeFolder(t);
  const root = join(folder, 'data');
  const flags = [`--storage-root=${root}`];
  const before = await ContractServer.start({ folder, flags });
  const table = await before.table({ stream: sampleStream(4) });
  const update = { updates: [['id', 'id']] };
  await rename(root, join(folder, 'away'));
  const assertMissing = async (server: ContractServer): Promise<void> => {
    for (const answer of [
      await server.admin.arrow(`/v1/table/${server.name('new')}/create`, sampleStream(2)),
      await server.admin.post(`${table.at}/update`, update),
    ]) {
      assert.equal(answer.status, 503, answer.text);
      assert.equal(answer.json.detail, 'The storage root of the database is missing.');
    }
    assert.ok(!existsSync(root));
  };
  try {
    await assertMissing(before);
  } finally {
    await before.close();
  }

  const after = await ContractServer.start({ folder, flags });
  t.after(async () => after.close());
  await assertMissing(after);
  await rename(join(folder, 'away'), root);
  assert.equal((await after.admin.post(`${table.at}/update`, update)).status, 200);
  await after.table();
});

test('a new database has its root at once, and an empty one gets it at the next start', async (t) => {
  const folder = await makeFolder(t);
  const before = await ContractServer.start({ folder });
  assert.equal((await before.admin.post('/v1/database/create', { name: 'sales' })).status, 200);
  const found = await before.catalog.databases.find('sales');
  assert.ok(found !== undefined && existsSync(found.root));
  await before.close();
  await rm(found.root, { recursive: true });
  const after = await ContractServer.start({ folder });
  t.after(async () => after.close());
  assert.ok(existsSync(found.root));
});
