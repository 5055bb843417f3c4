import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'libsql';
import { sampleStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import { startServer } from '../../support/server.ts';
import { fillDisk, mountSmallDisk } from '../../support/small-disk.ts';

const MEBIBYTE = 1024 ** 2;

test('a full disk fails writes with 503 and a message that says so; reads go on, and it recovers by itself', async (t) => {
  const folder = await mountSmallDisk(t, 16 * MEBIBYTE);
  if (folder === undefined) return t.skip('no right to mount a disk');
  const server = await startServer({ folder });
  t.after(async () => server.close());
  const client = new Client(server.url);
  assert.equal((await client.arrow('/v1/table/t/create', sampleStream(10))).status, 200);
  const ballast = await fillDisk(folder);
  const update = { updates: [['id', 'id + 100']] };
  for (const answer of [
    await client.arrow('/v1/table/t/insert', sampleStream(1000)),
    await client.post('/v1/table/t/update', update),
    await client.post('/v1/table/t/delete', { predicate: 'id = 1' }),
    await client.arrow('/v1/table/u/create', sampleStream(10)),
  ]) {
    assert.equal(answer.status, 503, answer.text);
    assert.match(answer.json.detail, /^The storage (of the catalog )?is full\./);
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
    assert.ok(!answer.text.includes(folder));
  }
  assert.equal((await client.post('/v1/table/t/count_rows', {})).text, '10');
  assert.deepEqual((await client.get('/v1/tables')).json.tables, ['t']);
  assert.equal((await client.get('/readyz')).status, 200);
  await rm(ballast);
  assert.equal((await client.arrow('/v1/table/t/insert', sampleStream(5))).status, 200);
  assert.equal((await client.post('/v1/table/t/update', update)).json.updated_rows, 15);
  assert.equal((await client.arrow('/v1/table/u/create', sampleStream(10))).status, 200);
});

test('a catalog that is locked by another process: no create is acknowledged, reads go on, and it recovers', async (t) => {
  const server = await startServer();
  t.after(async () => server.close());
  const client = new Client(server.url);
  assert.equal((await client.arrow('/v1/table/t/create', sampleStream(10))).status, 200);
  const other = new Database(join(server.folder, 'tiltyard.db'));
  other.exec('begin immediate');
  const refused = await client.arrow('/v1/table/u/create', sampleStream(10));
  assert.equal(refused.status, 503, refused.text);
  assert.match(refused.json.detail, /catalog is not available/);
  assert.equal((await client.post('/v1/table/t/count_rows', {})).text, '10');
  assert.deepEqual((await client.get('/v1/tables')).json.tables, ['t']);
  other.exec('rollback');
  other.close();
  assert.equal((await client.arrow('/v1/table/u/create', sampleStream(10))).status, 200);
  assert.deepEqual((await client.get('/v1/tables')).json.tables, ['t', 'u']);
});

test('a clock that jumps by a day, back and forth, changes nothing for requests, keys and their order', async (t) => {
  const real = Date.now;
  t.after(() => {
    Date.now = real;
  });
  const server = await startServer({ flags: ['--http-rate-requests-per-second=1000'] });
  t.after(async () => server.close());
  const client = new Client(server.url);
  for (const [index, days] of [0, 1, -1, 400, -400, 0].entries()) {
    Date.now = () => real() + days * 86_400_000;
    assert.equal((await client.arrow(`/v1/table/t${index}/create`, sampleStream(3))).status, 200);
    const update = await client.post(`/v1/table/t${index}/update`, { updates: [['id', 'id + 1']] });
    assert.equal(update.json.version, 2, update.text);
    assert.equal((await client.post(`/v1/table/t${index}/count_rows`, {})).text, '3');
  }
  Date.now = real;
  const { tables } = (await client.get('/v1/tables')).json;
  assert.deepEqual(tables, ['t0', 't1', 't2', 't3', 't4', 't5']);
});
