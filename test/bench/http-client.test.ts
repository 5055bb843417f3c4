import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { test } from 'node:test';
import { BareClient, getRequest } from '../../bench/http-client.ts';

test('the client of the benchmarks reports a refusal, unless it waits for something', async (t) => {
  const server = createServer((request, reply) => reply.writeHead(404).end(`no ${request.url}`));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const refusals: string[] = [];
  const client = await BareClient.open(address.port, (refusal) => refusals.push(refusal));
  t.after(() => {
    client.close();
    server.close();
  });
  assert.equal(await client.poll(getRequest('/waited-for', 'key')), 404);
  assert.deepEqual(refusals, []);
  assert.equal(await client.send(getRequest('/wanted', 'key')), 404);
  assert.deepEqual(refusals, ['no /wanted']);
});
