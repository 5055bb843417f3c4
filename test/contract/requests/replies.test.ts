import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Float64, count, streamOf } from '../contract-tables.ts';
import { openRaw, readAnswer, sendBytes, sendRaw } from '../raw-request.ts';
import { CODE, assertRefused, badRequest, unauthenticated } from '../refusal.ts';

const ARROW = { 'content-type': 'application/vnd.apache.arrow.stream' };
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

let server: ContractServer;
let table: MadeTable;
before(async () => {
  server = await ContractServer.start();
  table = await server.table();
});
after(async () => server.close());

/** One reply of each kind: successes, refusals of operations, and of what comes before them. */
async function everyKind(headers: Record<string, string>): Promise<readonly Answer[]> {
  const { admin } = server;
  return [
    await admin.arrow(`/v1/table/${server.name()}/create`, sampleStream(1), headers),
    await admin.arrow(`/v1/tables/${server.name()}`, sampleStream(1), headers),
    await admin.get('/v1/tables', headers),
    await admin.post(`${table.at}/analyze_plan`, {}, headers),
    await admin.post(`${table.at}/analyze_plan`, {}, { ...headers, accept: 'text/plain' }),
    await admin.post(`${table.at}/update`, { updates: [['price', '1']] }, headers),
    await admin.post(`${table.at}/update_field_metadata`, { updates: [{ path: 'price', metadata: {} }] }, headers),
    await admin.post(`${table.at}/update`, '{', headers),
    await admin.post('/v1/table/absent/update', { updates: [['price', '1']] }, headers),
    await server.stranger().get('/v1/tables', headers),
    await admin.get('/nowhere', headers),
    await admin.get(`${table.at}/update`, headers),
  ];
}

suite('every reply', () => {
  test('carries the request id that the caller sent, if it is a sane one', async () => {
    for (const id of ['a', 'req-1.2:3_4', 'X'.repeat(128), '0']) {
      for (const answer of await everyKind({ 'x-request-id': id }))
        assert.equal(answer.headers.get('x-request-id'), id);
    }
  });

  test('carries an id of our own when the caller sent none, or one that is not sane', async () => {
    const ids = (await everyKind({})).map((answer) => answer.headers.get('x-request-id') ?? '');
    for (const id of ids) assert.match(id, UUID);
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ['', 'two words', 'X'.repeat(129), 'a;b', '"a"', '<a>', 'ä']) {
      const { headers } = await server.admin.get('/v1/tables', { 'x-request-id': id });
      assert.match(headers.get('x-request-id') ?? '', UUID);
    }
  });

  test('may not be kept by caches, nor be taken for another type', async () => {
    for (const { headers } of await everyKind({})) {
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
    }
  });

  test('tells the protocol release that LanceDB clients adapt to, below the one with multipart writes', async () => {
    for (const { headers } of await everyKind({})) assert.equal(headers.get('phalanx-version'), '0.4.0');
  });

  test('says nothing about what the server is made of', async () => {
    for (const { headers } of await everyKind({})) {
      assert.equal(headers.get('server'), null);
      assert.equal(headers.get('x-powered-by'), null);
    }
  });

  test('keeps its connection open for longer than the 300 seconds for which clients pool it', async () => {
    const { headers } = await server.admin.get('/v1/tables');
    assert.ok(Number(/timeout=(\d+)/.exec(headers.get('keep-alive') ?? '')?.[1]) > 300);
  });
});

suite('a reply', () => {
  test('that is JSON says so, in UTF-8', async () => {
    for (const { headers, json } of await everyKind({})) {
      if (json === undefined) continue;
      assert.match(headers.get('content-type') ?? '', /^application\/json; charset=utf-8$/);
    }
  });

  test('with 401 tells the ways to authenticate', async () => {
    const answer = await server.stranger().get('/v1/tables');
    assertRefused(answer, unauthenticated);
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer /);
  });

  test('with another status does not ask for authentication, nor to come back later', async () => {
    for (const answer of await everyKind({})) {
      if (answer.status !== 401) assert.equal(answer.headers.get('www-authenticate'), null);
      assert.equal(answer.headers.get('retry-after'), null);
    }
  });

  test('before the end of the body leaves the connection usable for the next request', async (t) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    const refused = streamOf({ _rowid: { type: new Float64(), values: count(500_000) } });
    const first = openRaw(server.url, { path: `/v1/table/${server.name()}/create`, headers: ARROW, agent });
    first.write(refused.subarray(0, 70_000));
    const early = await readAnswer(first);
    const { localPort } = first.socket ?? {};
    assertRefused(early, badRequest(/reserved/, CODE.schema));
    first.end(refused.subarray(70_000));
    const second = openRaw(server.url, { method: 'GET', path: '/v1/tables', agent });
    second.setTimeout(60_000, () => second.destroy(new Error('the connection is stuck')));
    const ports: (number | undefined)[] = [];
    second.once('response', (message) => ports.push(message.socket.localPort));
    second.end();
    const [next] = await Promise.all([readAnswer(second), first.writableFinished ? undefined : once(first, 'finish')]);
    assert.equal(next.status, 200);
    assert.equal(ports.at(-1), localPort);
  });

  test('to bytes that are no HTTP is a 400 with the error body, and the connection ends', async () => {
    const answer = await sendBytes(server.url, 'HELLO\r\n\r\n');
    assertRefused(answer, badRequest());
    assert.match(answer.headers.get('x-request-id') ?? '', UUID);
    assert.equal(answer.headers.get('connection'), 'close');
  });

  test('to a request with two lengths, or a length and chunks, is a 400: nothing behind it is believed', async () => {
    for (const smuggled of [
      'content-length: 2\r\ncontent-length: 3',
      'content-length: 2\r\ntransfer-encoding: chunked',
    ]) {
      const head = `POST ${table.at}/update HTTP/1.1\r\nhost: x\r\n${smuggled}\r\n\r\n{}`;
      assertRefused(await sendBytes(server.url, head), badRequest());
    }
  });

  test('to headers past the bound is a 431', async () => {
    const answer = await sendBytes(
      server.url,
      `GET /v1/tables HTTP/1.1\r\nhost: x\r\nx-long: ${'a'.repeat(40_000)}\r\n\r\n`,
    );
    assertRefused(answer, { status: 431, code: CODE.invalidInput });
  });
});

suite('an address', () => {
  test('may end with a slash and begin with two, as the LanceDB client writes it, without a redirect', async () => {
    for (const path of [`${table.at}/analyze_plan/`, `/${table.at}/analyze_plan`, `/${table.at}/analyze_plan/`]) {
      const answer = await sendRaw(server.url, { path, headers: { 'content-type': 'application/json' }, body: '{}' });
      assert.equal(answer.status, 200, answer.text);
    }
    assert.equal((await sendRaw(server.url, { method: 'GET', path: '/v1/tables/' })).status, 200);
  });
});
