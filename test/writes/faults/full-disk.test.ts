import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { holdVersion } from '../../catalog/temporary-catalog.ts';
import { ContractServer } from '../../contract/contract-server.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { startServerProcess } from '../../support/server-process.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { fillDisk, mountSmallDisk } from '../../support/small-disk.ts';

const DISK_BYTES = 8 * 1024 ** 2;
const UPDATE = { updates: [['id', 'id + 100']] };

async function start(t: TestContext, folder: string): Promise<ServerProcess> {
  const server = await startServerProcess(folder);
  t.after(async () => server.stop());
  return server;
}

async function startWithTable(t: TestContext, folder: string): Promise<ServerProcess> {
  const server = await start(t, folder);
  const client = new Client(server.url);
  assert.equal((await client.arrow('/v1/table/t/create', sampleStream(10))).status, 200);
  assert.equal((await client.arrow('/v1/table/t/insert', sampleStream(5))).status, 200);
  return server;
}

async function assertReads(client: Client): Promise<void> {
  const answer = await client.post('/v1/table/t/count_rows', {});
  assert.equal(answer.text, '15');
  const query = await client.post('/v1/table/t/query', { k: 3, vector: [1, 2, 3, 4] });
  assert.equal(query.status, 200, query.text);
  assert.deepEqual((await client.get('/v1/tables')).json.tables, ['t']);
  assert.equal((await client.get('/readyz')).status, 200);
}

/** Whether it is paused or just fails, a write on a full disk is refused for now. */
async function assertNoWrites(client: Client): Promise<string> {
  const answer = await client.post('/v1/table/t/update', UPDATE);
  assert.equal(answer.status, 503, answer.text);
  assert.ok(Number(answer.headers.get('retry-after')) > 0);
  return answer.json.detail;
}

async function assertWritesAgain(client: Client): Promise<void> {
  await eventually(async () => (await client.arrow('/v1/table/t/insert', sampleStream(1))).status === 200);
  const answer = await client.post('/v1/table/t/update', UPDATE);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.updated_rows, 16);
}

test('a worker that dies on a full disk is replaced: reads go on, and writes once there is space', async (t) => {
  const folder = await mountSmallDisk(t, DISK_BYTES);
  if (folder === undefined) return t.skip('no permission to mount a disk');
  const server = await startWithTable(t, folder);
  const client = new Client(server.url);
  const ballast = await fillDisk(folder);
  await server.killWorker();
  await assertReads(client);
  assert.match(await assertNoWrites(client), /^Writes are paused until earlier writes are recovered/);
  await server.killWorker();
  await assertReads(client);
  await rm(ballast);
  await assertWritesAgain(client);
  assert.ok(server.log.some(({ event }) => event === 'writes-resumed'));
});

test('a server that was stopped starts on a full disk: reads go on, and writes once there is space', async (t) => {
  const folder = await mountSmallDisk(t, DISK_BYTES);
  if (folder === undefined) return t.skip('no permission to mount a disk');
  const first = await startWithTable(t, folder);
  assert.equal(await first.stop(), 0);
  let ballast = await fillDisk(folder);
  for (let round = 0; round < 3; round += 1) {
    const server = await start(t, folder);
    await assertReads(new Client(server.url));
    ballast = await fillDisk(folder);
    await assertNoWrites(new Client(server.url));
    assert.equal(await server.stop(), 0);
  }
  const last = new Client((await start(t, folder)).url);
  await assertReads(last);
  await rm(ballast);
  await assertWritesAgain(last);
});

test('a table in the middle of a long write goes back once there is space, and is not written before', async (t) => {
  const folder = await mountSmallDisk(t, DISK_BYTES);
  if (folder === undefined) return t.skip('no permission to mount a disk');
  const before = await ContractServer.start({ folder });
  const table = await before.table({ stream: sampleStream(4) });
  const database = await before.catalog.databases.find('default');
  const record = await before.catalog.tables.find(database?.id ?? '', [table.id]);
  assert.ok(record);
  // As if the process had died between its first commit and its last.
  await holdVersion(before.catalog, record.id, { version: 1, branch: undefined });
  assert.equal((await before.admin.arrow(`${table.at}/insert`, sampleStream(7))).status, 200);
  await before.close();
  const ballast = await fillDisk(folder);

  const after = await ContractServer.start({ folder });
  t.after(async () => after.close());
  assert.equal((await after.admin.post(`${table.at}/count_rows`, {})).json, 4);
  const refused = await after.admin.arrow(`${table.at}/insert`, sampleStream(1));
  assert.equal(refused.status, 503, refused.text);
  assert.match(refused.json.detail, /^Writes are paused/);
  await rm(ballast);
  await eventually(async () => (await after.admin.arrow(`${table.at}/insert`, sampleStream(1))).status === 200);
  assert.equal((await after.admin.post(`${table.at}/count_rows`, {})).json, 5);
});
