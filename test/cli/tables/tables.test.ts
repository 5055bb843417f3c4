import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '../../support/client.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { runCliOn } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;

before(async () => {
  server = await startServer();
  const client = new Client(server.url);
  await client.post('/v1/namespace/eu/create', {});
  await client.arrow('/v1/table/eu$orders/create', sampleStream(1200));
  await client.arrow('/v1/table/people/create', sampleStream(3));
});
after(async () => server.close());

test('lists tables of all namespaces or of one, as lines that other commands take', async () => {
  assert.deepEqual(await runCliOn(server.url, ['tables']), { code: 0, out: 'eu/orders\npeople\n', err: '' });
  assert.equal((await runCliOn(server.url, ['tables', 'eu'])).out, 'eu/orders\n');
  assert.equal((await runCliOn(server.url, ['tables', '/'])).out, 'people\n');
  assert.deepEqual(JSON.parse((await runCliOn(server.url, ['tables', '--json'])).out), {
    tables: ['eu$orders', 'people'],
  });
});

test('counts rows when asked', async () => {
  const { out } = await runCliOn(server.url, ['tables', '--rows']);
  assert.match(out, /^table {7}rows\n─────────  ─────\neu\/orders  1,200\npeople {9}3\n$/);
  assert.deepEqual(JSON.parse((await runCliOn(server.url, ['tables', 'eu', '--rows', '--json'])).out), {
    tables: [{ table: 'eu$orders', num_rows: 1200 }],
  });
});

test('says that a namespace is not there, or empty', async () => {
  const missing = await runCliOn(server.url, ['tables', 'nothing']);
  const hint = 'Run "tiltyard namespace list" to list them, or "tiltyard namespace create NAME" to create one.';
  const err = `tiltyard: The namespace "nothing" was not found.\nhint: ${hint}\n`;
  assert.deepEqual(missing, { code: 5, out: '', err });
  const database = await runCliOn(server.url, ['tables', '--database', 'nothing']);
  assert.match(database.err, /database "nothing" was not found\.\nhint: Run "tiltyard database list" to list them/);
  const other = await runCliOn(server.url, ['tables', '--json', 'nothing']);
  assert.equal(JSON.parse(other.err).error.status, 404);
  await new Client(server.url).post('/v1/namespace/empty/create', {});
  const empty = await runCliOn(server.url, ['tables', 'empty']);
  assert.deepEqual(empty, { code: 0, out: '', err: 'There are no tables.\n' });
});
