import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { holdVersion } from '../catalog/temporary-catalog.ts';
import { ContractServer } from '../contract/contract-server.ts';
import { sampleStream } from '../support/arrow-tables.ts';

for (const branch of [undefined, 'trial']) {
  test(`a write of several commits that a crash cut short is undone (${branch ?? 'main'})`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'tiltyard-recovery-'));
    t.after(async () => rm(folder, { recursive: true, force: true }));
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

test('the marks that the former release left beside the catalog are removed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-marks-'));
  t.after(async () => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'tiltyard.db-answers');
  await writeFile(file, 'marks');
  const server = await ContractServer.start({ folder });
  t.after(async () => server.close());
  assert.equal(existsSync(file), false);
});
