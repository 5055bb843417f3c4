import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { sampleStream } from '../../support/arrow-tables.ts';
import { eventually } from '../../support/eventually.ts';
import { ContractServer } from '../contract-server.ts';
import { Int32, Utf8, count, streamOf } from '../contract-tables.ts';
import { holdUpload, openRaw, readAnswer, sendRaw } from '../raw-request.ts';
import { CODE, assertRefused } from '../refusal.ts';

const ARROW = { 'content-type': 'application/vnd.apache.arrow.stream' };
const JSON_TYPE = { 'content-type': 'application/json' };
const BUSY = { status: 503, code: CODE.unavailable } as const;

async function start(t: TestContext, flags: readonly string[]): Promise<ContractServer> {
  const server = await ContractServer.start({ flags });
  t.after(async () => server.close());
  return server;
}

/** A create that has begun and then sends nothing more. */
async function openSlowUpload(server: ContractServer, name: string): Promise<ClientRequest> {
  const headers = { ...ARROW, expect: '100-continue' };
  const sent = openRaw(server.url, { path: `/v1/table/${name}/create`, headers });
  sent.on('error', () => undefined);
  sent.flushHeaders();
  // The service asks for the body when it has taken the request in.
  await once(sent, 'continue');
  sent.write(sampleStream(1).subarray(0, 100));
  return sent;
}

/** A request with a large reply of which the client takes only the beginning. */
async function openSlowReader(
  server: ContractServer,
  path: string,
  { body = {}, agent }: { readonly body?: object; readonly agent?: Agent } = {},
): Promise<IncomingMessage> {
  const sent = openRaw(server.url, { path, headers: JSON_TYPE, ...(agent === undefined ? {} : { agent }) });
  sent.on('error', () => undefined);
  sent.end(JSON.stringify(body));
  const [message]: IncomingMessage[] = await once(sent, 'response');
  assert.ok(message?.statusCode === 200);
  message.on('error', () => undefined);
  return message.pause();
}

test('a burst waits for its places and is served whole', async (t) => {
  const server = await start(t, ['--http-reads-max=2', '--http-queue-seconds=30']);
  const { at } = await server.table();
  const answers = await Promise.all(count(40).map(async () => server.admin.post(`${at}/count_rows`, {})));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
});

test('while all places are taken, other requests are refused with 503 and Retry-After, and probes answer', async (t) => {
  const server = await start(t, ['--http-requests-max=1', '--http-queue-seconds=0']);
  const release = await holdUpload(server);
  for (const answer of [
    await server.admin.get('/v1/tables'),
    await server.admin.post('/v1/table/t/update', { updates: [['a', '1']] }),
    await server.admin.arrow('/v1/tables/t', sampleStream(1)),
  ]) {
    assertRefused(answer, { ...BUSY, detail: /\b1 requests\b/ });
    assert.equal(answer.headers.get('retry-after'), '1');
  }
  for (const probe of ['/healthz', '/readyz']) {
    assert.equal((await sendRaw(server.url, { method: 'GET', path: probe })).status, 200);
  }
  await release();
  assert.equal((await server.admin.get('/v1/tables')).status, 200);
});

test('uploads leave places for reads and writes, however many come', async (t) => {
  const server = await start(t, ['--http-uploads-max=2', '--http-queue-seconds=0']);
  const { at } = await server.table();
  const held = [await openSlowUpload(server, 'a'), await openSlowUpload(server, 'b')];
  assertRefused(await server.admin.arrow('/v1/table/c/create', sampleStream(1)), { ...BUSY, detail: /2 uploads/ });
  assert.equal((await server.admin.post(`${at}/count_rows`, {})).status, 200);
  assert.equal((await server.admin.post(`${at}/update`, { updates: [['id', 'id']] })).status, 200);
  for (const each of held) each.destroy();
});

test('when all upload places are taken, the slowest sender makes way for the next', async (t) => {
  const server = await start(t, ['--http-uploads-max=2', '--http-slow-seconds=0.2']);
  const slow = [await openSlowUpload(server, 'a'), await openSlowUpload(server, 'b')];
  const cut = readAnswer(slow[0] ?? assert.fail());
  await sleep(250);
  assert.equal((await server.admin.arrow('/v1/table/c/create', sampleStream(1))).status, 200);
  assertRefused(await cut, { status: 408, code: CODE.invalidInput, detail: /too slowly while other requests wait/ });
  for (const each of slow) each.destroy();
  assert.deepEqual(await server.listed(), ['c']);
});

test('a sender that holds memory and sends nothing loses it when another needs some', async (t) => {
  const flags = ['--http-buffered-bytes-max=1MiB', '--arrow-chunk-bytes=1MiB', '--http-slow-seconds=0.2'];
  const server = await start(t, flags);
  const rows = streamOf({ id: { type: new Int32(), values: count(200_000) } });
  const idle = openRaw(server.url, { path: '/v1/table/a/create', headers: ARROW });
  idle.on('error', () => undefined);
  idle.write(rows.subarray(0, -1000));
  const cut = readAnswer(idle);
  const isHeld = async (): Promise<boolean> =>
    /^tiltyard_budget_used_bytes\{budget="arrow"\} 1048576$/m.test((await server.admin.get('/metrics')).text);
  while (!(await isHeld())) await sleep(20);
  assert.equal((await server.admin.arrow('/v1/table/b/create', rows)).status, 200);
  assertRefused(await cut, { status: 408, code: CODE.invalidInput, detail: /too slowly while other requests wait/ });
  assert.deepEqual(await server.listed(), ['b']);
});

test('callers without a credential that send large bodies slowly do not keep others from sending one', async (t) => {
  const server = await start(t, ['--http-buffered-bytes-max=1MiB', '--http-slow-seconds=0.2']);
  const { at } = await server.table();
  const senders = Array.from({ length: 2 }, () => {
    const headers = { ...JSON_TYPE, 'content-length': 500_000 };
    const sent = request(`${server.url}/v1/table/x/query`, { method: 'POST', headers, agent: false });
    sent.on('error', () => undefined);
    sent.write(Buffer.alloc(400_000, ' '));
    return sent;
  });
  const cut = senders.map(readAnswer);
  const drip = setInterval(() => senders.forEach((sent) => sent.write(' ')), 20);
  const isHeld = async (): Promise<boolean> => {
    const [, held] =
      /^tiltyard_budget_used_bytes\{budget="json"\} (\d+)$/m.exec((await server.admin.get('/metrics')).text) ?? [];
    // Callers who are not known yet share a part of the budget.
    return Number(held) > 256 * 1024;
  };
  while (!(await isHeld())) await sleep(20);
  const predicate = `id IN (${count(40_000).join(',')})`;
  const answer = await server.admin.post(`${at}/count_rows`, { predicate });
  clearInterval(drip);
  assert.equal(answer.status, 200);
  const refused = { status: 408, code: CODE.invalidInput, detail: /too slowly while other requests wait/ };
  assertRefused(await Promise.race(cut), refused);
  for (const sent of senders) sent.destroy();
});

test('when all large replies are taken slowly, the slowest taker makes way for the next', async (t) => {
  const flags = ['--http-streams-max=1', '--http-slow-seconds=5', '--engine-result-batch-bytes=256KiB'];
  const server = await start(t, flags);
  const words = count(4000).map((each) => `${each}`.padEnd(2000));
  const { at } = await server.table({
    stream: streamOf({ id: { type: new Int32(), values: count(4000) }, word: { type: new Utf8(), values: words } }),
  });
  const slow = await openSlowReader(server, `${at}/query`);
  const early = await server.admin.post(`${at}/query`, {});
  assertRefused(early, { ...BUSY, detail: /already sending 1 large/ });
  assert.equal((await server.admin.post(`${at}/query`, { k: 1 })).status, 200, 'a small reply needs no such place');
  await sleep(5050);
  const broken = new Promise((resolve) => slow.once('error', resolve).once('close', resolve));
  const whole = await sendRaw(server.url, { path: `${at}/query`, headers: JSON_TYPE, body: '{}' });
  assert.equal(whole.status, 200);
  slow.resume();
  await broken;
  assert.equal(slow.complete, false, 'half a reply must not look like a whole one');
});

/** More than the buffers of a connection take. */
const LARGE_PROPERTIES = Object.fromEntries(count(14).map((each) => [`p${each}`, 'x'.repeat(1024 * 1024)]));

test('a large JSON reply needs a place among the large replies until it is read, or its client disconnected', async (t) => {
  const flags = ['--http-streams-max=1', '--http-slow-seconds=60', '--http-body-idle-seconds=3'];
  const server = await start(t, [...flags, '--metadata-properties-bytes-max=16MiB']);
  const created = await server.admin.post('/v1/namespace/n/create', { properties: LARGE_PROPERTIES });
  assert.equal(created.status, 200, 'a write is never refused for its reply');
  const describe = async () => server.admin.post('/v1/namespace/n/describe', {});
  const whole = await describe();
  assert.deepEqual(whole.json.properties, LARGE_PROPERTIES);
  assert.equal(whole.headers.get('content-length'), String(Buffer.byteLength(whole.text)));
  const slow = await openSlowReader(server, '/v1/namespace/n/describe');
  const early = await describe();
  assert.ok(early.status === 503, 'the only place is taken');
  assertRefused(early, { ...BUSY, detail: /already sending 1 large/ });
  await eventually(async () => (await describe()).status === 200);
  const broken = new Promise((resolve) => slow.once('error', resolve).once('close', resolve));
  slow.resume();
  await broken;
  assert.equal(slow.complete, false);
});

test('a client that never reads the reply of its write is disconnected, and one that is late is not', async (t) => {
  const server = await start(t, ['--http-body-idle-seconds=1', '--metadata-properties-bytes-max=16MiB']);
  const body = { properties: LARGE_PROPERTIES };
  // Without `fetch`, whose connection pool would change the count.
  const connections = async (): Promise<number> => {
    const { text } = await sendRaw(server.url, { method: 'GET', path: '/metrics' });
    return Number(/^tiltyard_connections (\d+)$/m.exec(text)?.[1]);
  };
  const before = await connections();
  const slow = await openSlowReader(server, '/v1/namespace/slow/create', { body });
  await eventually(async () => (await connections()) === before);
  const broken = new Promise((resolve) => slow.once('error', resolve).once('close', resolve));
  slow.resume();
  await broken;
  assert.equal(slow.complete, false);

  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const late = await openSlowReader(server, '/v1/namespace/late/create', { body, agent });
  await buffer(late);
  assert.ok(late.complete);
  // Longer than a client may stop reading: a connection that is only quiet stays open.
  await sleep(2500);
  const next = openRaw(server.url, { method: 'GET', path: '/v1/tables', agent });
  next.end();
  assert.equal((await readAnswer(next)).status, 200);
  assert.ok(next.reusedSocket);
});

test('a caller who floods the queue does not keep another one waiting', async (t) => {
  const server = await start(t, ['--http-reads-max=1', '--http-waiting-max=8', '--http-queue-seconds=2']);
  const { at } = await server.table();
  const other = await server.caller('reader');
  const flood = Promise.all(count(200).map(async () => server.admin.post(`${at}/count_rows`, {})));
  const calm: number[] = [];
  for (let each = 0; each < 5; each += 1) calm.push((await other.post(`${at}/count_rows`, {})).status);
  assert.deepEqual(calm, [200, 200, 200, 200, 200]);
  const statuses = (await flood).map(({ status }) => status);
  assert.ok(statuses.includes(503) && statuses.includes(200), statuses.join());
});

test('more uploads than memory is allowed for wait for each other, and all of them arrive', async (t) => {
  const server = await start(t, ['--http-buffered-bytes-max=1MiB', '--arrow-chunk-bytes=1MiB']);
  const text = 'x'.repeat(1000);
  const stream = streamOf({ word: { type: new Utf8(), values: count(3000).map(() => text) } });
  const names = count(8).map((each) => `upload${each}`);
  const creates = await Promise.all(names.map(async (name) => server.admin.arrow(`/v1/table/${name}/create`, stream)));
  assert.deepEqual(new Set(creates.map(({ status }) => status)), new Set([200]));
  const inserts = await Promise.all(names.map(async (name) => server.admin.arrow(`/v1/table/${name}/insert`, stream)));
  assert.deepEqual(new Set(inserts.map(({ status }) => status)), new Set([200]));
  for (const name of names) assert.equal((await server.admin.post(`/v1/table/${name}/count_rows`, {})).text, '6000');
});

test('two thousand slow clients at once are not noticed by others', async (t) => {
  const server = await start(t, ['--http-slow-seconds=0.5']);
  const { at } = await server.table();
  // Somebody else: a caller whose own uploads are waiting is told to slow down.
  const other = await server.caller('owner');
  const slow: ClientRequest[] = [];
  const beginning = sampleStream(1).subarray(0, 40);
  for (let each = 0; each < 2000; each += 1) {
    const isUpload = each % 2 === 0;
    const path = isUpload ? `/v1/table/slow${each}/create` : `${at}/query`;
    const sent = openRaw(server.url, { path, headers: isUpload ? ARROW : { ...JSON_TYPE, 'content-length': 100 } });
    sent.on('error', () => undefined);
    sent.write(isUpload ? beginning : '{');
    slow.push(sent);
    if (each % 100 === 99) await sleep(10);
  }
  await sleep(600);
  for (let each = 0; each < 20; each += 1) {
    assert.equal((await other.post(`${at}/query`, { k: 1 })).status, 200);
    assert.equal((await other.post(`${at}/update`, { updates: [['id', 'id']] })).status, 200);
  }
  for (let each = 0; each < 5; each += 1) {
    assert.equal((await other.arrow(`/v1/table/quick${each}/create`, sampleStream(1))).status, 200);
  }
  for (const each of slow) each.destroy();
});
