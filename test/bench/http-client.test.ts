import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { BareClient, getRequest } from '../../bench/http-client.ts';

test('the client of the benchmarks reports a refusal, unless it waits for something', async (t) => {
  const server = createServer((request, reply) => reply.writeHead(404).end(`no ${request.url}`));
  const refusals: string[] = [];
  const client = await openClient(t, server, (refusal) => refusals.push(refusal));
  assert.equal(await client.poll(getRequest('/waited-for', 'key')), 404);
  assert.deepEqual(refusals, []);
  assert.equal(await client.send(getRequest('/wanted', 'key')), 404);
  assert.deepEqual(refusals, ['no /wanted']);
});

test('the client of the benchmarks fails, and does not wait, on a connection that the server has closed', async (t) => {
  const server = createServer((request) => request.socket.destroy());
  const client = await openClient(t, server, () => {});
  await assert.rejects(client.send(getRequest('/', 'key')));
  await assert.rejects(client.send(getRequest('/', 'key')), /the connection was closed before the request/);
});

async function openClient(t: TestContext, server: Server, onRefusal: (refusal: string) => void): Promise<BareClient> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const client = await BareClient.open(address.port, onRefusal);
  t.after(() => {
    client.close();
    server.close();
  });
  return client;
}
