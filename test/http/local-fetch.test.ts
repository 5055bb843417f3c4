import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import Fastify from 'fastify';
import { createLocalFetch } from '../../src/http/local-fetch.ts';

/** A server whose only reply is written by the test. */
async function openReply(signal?: AbortSignal) {
  const server = Fastify();
  const replying = new Promise<ServerResponse>((resolve) => {
    server.post('/', (_request, { raw }) => {
      raw.writeHead(200, { 'content-type': 'text/plain' });
      resolve(raw);
    });
  });
  const send = createLocalFetch(server, { headers: {}, requestId: 'test' });
  const headers = { 'content-type': 'text/plain' };
  const reply = await send('http://localhost/', { method: 'POST', headers, body: 'x', ...(signal && { signal }) });
  return { reply, response: await replying };
}

test('a reply is read in the pieces that were written', async () => {
  const { reply, response } = await openReply();
  response.write('one ');
  response.end('two');
  assert.equal(await reply.text(), 'one two');
});

test('a reply that breaks off is an error for its reader', async () => {
  const { reply, response } = await openReply();
  response.write('one');
  response.destroy();
  await assert.rejects(reply.text(), /destroyed before completion/);
});

for (const [title, leave] of Object.entries({
  'before the first piece': async ({ body }: Response) => body?.cancel(),
  'between two pieces': async ({ body }: Response) => {
    for await (const piece of body ?? []) return piece;
  },
})) {
  test(`a reader that leaves ${title} closes the response`, async () => {
    const { reply, response } = await openReply();
    const closed = once(response, 'close');
    while (response.write('x'.repeat(1000)));
    await leave(reply);
    await closed;
  });

  test(`a reader may leave ${title} of a reply that has ended`, async () => {
    const { reply, response } = await openReply();
    for (let index = 0; index < 100; index += 1) response.write('x');
    response.end();
    await leave(reply);
    // What fails in a stream that was left does so by the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  });
}

test('an aborted request closes the response, read or not', async () => {
  const stop = new AbortController();
  const { response } = await openReply(stop.signal);
  const closed = once(response, 'close');
  while (response.write('x'.repeat(1000)));
  stop.abort();
  await closed;
});
