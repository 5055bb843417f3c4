import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { test } from 'node:test';
import type { WriteStep } from '../../../src/writes/writes.ts';
import { ContractServer } from '../../contract/contract-server.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { CATALOG_LOG, FaultyServer, rowStream } from '../../support/faulty-server.ts';
import { ADMIN_KEY } from '../../support/server.ts';

const INSERT = '/v1/table/declared/insert';

test('rows for a declared table whose client leaves and sends them again at once are stored once', async (t) => {
  const marking = { isHeld: true, isReached: false, release: (): void => {} };
  const released = new Promise<void>((resolve) => {
    marking.release = resolve;
  });
  const onWriteStep = async (step: WriteStep): Promise<void> => {
    if (step !== 'mark' || !marking.isHeld) return;
    marking.isHeld = false;
    marking.isReached = true;
    await released;
  };
  const server = await ContractServer.start({ outside: { onWriteStep } });
  t.after(async () => server.close());
  assert.equal((await server.admin.post('/v1/table/declared/declare', {})).status, 200);
  const headers = { 'x-api-key': ADMIN_KEY, 'content-type': 'application/vnd.apache.arrow.stream' };
  const first = httpRequest(`${server.url}${INSERT}`, { method: 'POST', headers });
  first.on('error', () => {});
  first.end(sampleStream(3));
  await eventually(async () => marking.isReached);
  first.destroy();
  // The service has seen the connection close once it has answered a later request.
  await server.admin.post('/v1/table/declared/describe', {});
  const again = server.admin.arrow(INSERT, sampleStream(3));
  await new Promise((resolve) => setTimeout(resolve, 200));
  marking.release();
  const { status, text, headers: replied } = await again;
  assert.equal(status, 200, text);
  assert.equal(replied.get('idempotency-replayed'), 'true');
  assert.equal((await server.admin.post('/v1/table/declared/count_rows', {})).text, '3');
});

test('rows for a declared table whose publication is in doubt are stored once when they are sent again', async (t) => {
  const server = await FaultyServer.start(t);
  if (server === undefined) return;
  const rows = [{ id: 1, value: 1 }];
  const insert = async (): Promise<Answer> => server.client.arrow(INSERT, rowStream(rows));
  assert.equal((await server.client.post('/v1/table/probe/declare', {})).status, 200);
  const probe = server.faults.set({ action: 'log', calls: ['sync'], paths: CATALOG_LOG });
  assert.equal((await server.client.arrow('/v1/table/probe/insert', rowStream(rows))).status, 200);
  const syncs = probe.matched();
  server.faults.clear();
  assert.equal((await server.client.post('/v1/table/declared/declare', {})).status, 200);
  // All but the last sync, which is that of the publication.
  server.faults.set({ action: 'fail', calls: ['sync'], paths: CATALOG_LOG, skip: syncs - 1, count: Infinity });
  const first = await insert();
  assert.equal(first.status, 503, first.text);
  server.faults.clear();
  await eventually(async () => (await insert()).status === 200);
  assert.deepEqual(await server.rows('declared'), rows);
});
