import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { after, before, suite, test } from 'node:test';
import { ContractServer } from '../contract/contract-server.ts';
import { embeddedTable } from '../contract/embeddings/embedded-tables.ts';
import { openRaw } from '../contract/raw-request.ts';
import { Int32, Utf8, toStream } from '../support/arrow-tables.ts';
import type { Answer } from '../support/client.ts';
import { EmbeddingProvider, MODEL, answerWell } from '../support/embedding-provider.ts';
import type { ProviderCall } from '../support/embedding-provider.ts';
import { eventually } from '../support/eventually.ts';
import { connectMcp } from './mcp-client.ts';

const HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };

let server: ContractServer;
let provider: EmbeddingProvider;
before(async () => {
  provider = await EmbeddingProvider.start();
  const flags = ['--mcp-requests-max=4', '--mcp-read-bytes-max=4MiB', '--http-body-idle-seconds=600'];
  server = await ContractServer.start({ flags: [...flags, ...provider.flags()], env: provider.env });
});
after(async () => {
  await server.close();
  await provider.close();
});

function message(method: string, params: object = {}): object {
  return { jsonrpc: '2.0', id: 1, method, params };
}

async function makeKey() {
  const { principal, key, client } = await server.createKey([{ role: 'reader', database: 'default' }], HEADERS);
  return { principal, key, send: async (body: object): Promise<Answer> => client.post('/mcp', body) };
}

test('a call whose result is too large gives its place among the reads of the database back', async () => {
  const database = await server.database();
  const headers = { 'x-service-database': database };
  const stream = toStream({ id: [new Int32(), (row) => row], text: [new Utf8(), () => 'x'.repeat(500_000)] }, 20);
  const { id, at } = await server.table({ stream, headers });
  await server.setQuota({ database, concurrent_reads: 1 });
  const mcp = await connectMcp(server.url, { headers });
  const { text, isError } = await mcp.call('query_table', { table: id, k: 20 });
  assert.ok(isError);
  assert.match(text, /larger than 4 MiB/);
  await eventually(async () => (await server.admin.post(`${at}/count_rows`, {}, headers)).status === 200);
  await mcp.close();
});

suite('many requests to /mcp', () => {
  test('of one caller that never sends their bodies do not keep others out', async () => {
    const { key } = await makeKey();
    const slow = Array.from({ length: 5 }, () =>
      openRaw(server.url, {
        path: '/mcp',
        headers: { ...HEADERS, 'x-api-key': key, 'content-length': '100', expect: '100-continue' },
      }),
    );
    try {
      for (const sent of slow) sent.on('error', () => {}).flushHeaders();
      // The service asks for the body when it has taken the request in.
      await Promise.all(slow.map(async (sent) => once(sent, 'continue')));
      const { status, text } = await (await makeKey()).send(message('tools/list'));
      assert.equal(status, 200, text);
    } finally {
      for (const sent of slow) sent.destroy();
    }
  });

  test('of one caller leave a share to others, and past it are refused as its own', async () => {
    const { id } = await embeddedTable(server, MODEL);
    const held: (() => void)[] = [];
    provider.answer = (call: ProviderCall, response: ServerResponse) => held.push(() => answerWell(call, response));
    const [one, other] = [await makeKey(), await makeKey()];
    const search = async (text: string): Promise<Answer> =>
      one.send(message('tools/call', { name: 'query_table', arguments: { table: id, vector_text: text, k: 1 } }));
    const calls = ['a seat', 'a light', 'the sea'].map(search);
    await eventually(async () => held.length === calls.length);
    const refused = await one.send(message('tools/list'));
    assert.equal(refused.status, 503);
    assert.match(refused.text, /already handling 3 requests of this caller to \/mcp/);
    assert.equal((await other.send(message('tools/list'))).status, 200);
    for (const release of held) release();
    for (const { status, text } of await Promise.all(calls)) assert.equal(status, 200, text);
    provider.answer = answerWell;
    assert.equal((await one.send(message('tools/list'))).status, 200);
  });
});

suite('the rate of a caller', () => {
  for (const [title, name, args] of [
    ['a tool that succeeds', 'list_databases', {}],
    ['a tool that does not exist', 'drop_everything', {}],
    ['arguments that the tool refuses', 'count_table_rows', { colour: 'red' }],
  ] as const) {
    test(`counts calls with ${title}`, async () => {
      const { principal, send } = await makeKey();
      await server.setQuota({ principal, requests_per_second: 1 });
      const call = message('tools/call', { name, arguments: args });
      const answers = await Promise.all(Array.from({ length: 5 }, async () => send(call)));
      assert.ok(answers.some(({ status, headers }) => status === 503 && headers.has('retry-after')));
    });
  }

  test('counts a call once, however many operations it needs', async () => {
    const { id } = await server.table();
    const { principal, send } = await makeKey();
    await server.setQuota({ principal, requests_per_second: 1, concurrent_reads: 1 });
    const args = { table: id, where: 'id = 4', k: 1 };
    const { text } = await send(message('tools/call', { name: 'find_similar_rows', arguments: args }));
    assert.match(text, /1 row; columns/);
    const { headers } = await send(message('tools/list'));
    assert.match(headers.get('ratelimit-policy') ?? '', /"caller";q=1;w=1/);
  });
});
