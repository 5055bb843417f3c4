import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { startServerProcess } from '../support/server-process.ts';
import { EventStream } from './event-stream.ts';
import { Receiver } from './receiver.ts';

const FLAGS = [
  '--maintenance-running-max=0',
  '--webhooks-allow-http=true',
  '--webhooks-allowed-networks=127.0.0.1',
  '--webhooks-poll-seconds=0.05',
  '--webhooks-events-max=3',
];
const KILLS = 3;
const COMMITS = 20;

test('when the worker is killed again and again, webhooks and streams miss no commit and keep the order', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-events-'));
  const server = await startServerProcess(folder, FLAGS);
  const receiver = await Receiver.start();
  t.after(async () => {
    await server.killAll();
    await receiver.close();
    await rm(folder, { recursive: true, force: true });
  });
  const client = new Client(server.url);
  assert.equal((await client.arrow('/v1/table/t/create', sampleStream(3))).status, 200);
  const created = await client.post('/v1/webhook/create', { url: receiver.url, table: ['t'] });
  assert.equal(created.status, 200, created.text);
  let cursor = (await EventStream.open(server.url, { query: { table: 't' } })).cursor ?? '';
  const streamed: number[] = [];
  for (let round = 0; round < KILLS; round += 1) {
    for (let index = 0; index < COMMITS; index += 1) {
      const body = { updates: [['price', `${index}.5`]], predicate: 'id = 1' };
      assert.equal((await client.post('/v1/table/t/update', body)).status, 200);
    }
    await server.killWorker();
    const stream = await EventStream.open(server.url, { query: { table: 't', cursor } });
    streamed.push(...(await stream.take(COMMITS)).map(({ data }) => data.version));
    cursor = stream.cursor ?? '';
    stream.close();
  }
  const expected = Array.from({ length: KILLS * COMMITS }, (_unused, index) => index + 2);
  assert.deepEqual(streamed, expected);
  await eventually(
    async () => receiver.versions.at(-1) === expected.at(-1),
    () => `${receiver.versions.length} events`,
  );
  assert.deepEqual([...new Set(receiver.versions)], expected);
});
