import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createLoad } from '../../../src/http/admission/load.ts';
import { buffer, sendStream } from '../../../src/http/reply/send-reply.ts';
import type { StreamOutcome } from '../../../src/http/reply/send-reply.ts';
import { testLimits } from '../../support/limits.ts';

interface Served {
  readonly reply: IncomingMessage;
  readonly outcome: Promise<StreamOutcome>;
  close(): void;
}

async function serve(pieces: AsyncIterable<Uint8Array>, idleSeconds: number): Promise<Served> {
  let resolve: (sent: StreamOutcome) => void = () => {};
  const outcome = new Promise<StreamOutcome>((done) => (resolve = done));
  const limits = testLimits();
  const http = {
    load: createLoad(limits),
    limits: { ...limits, http: { ...limits.http, bodyIdleSeconds: idleSeconds } },
    isDraining: () => false,
  };
  const server = createServer((message, response: ServerResponse) => {
    const reply = { status: 200, headers: {}, body: { first: [], rest: pieces[Symbol.asyncIterator]() } };
    void sendStream({ message, response }, reply, http).then(resolve);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const [reply] = (await once(get({ port, host: '127.0.0.1' }), 'response')) as [IncomingMessage];
  return { reply, outcome, close: () => server.close() };
}

test('sends every piece in order, and says how much it was', async () => {
  const served = await serve(letters('abc'), 10);
  const received = await readAll(served.reply);
  assert.equal(received, 'abc');
  assert.deepEqual(await served.outcome, { bytes: 3, failure: undefined });
  served.close();
});

test('closes the connection when a piece fails', async () => {
  let fail: () => void = () => {};
  const failed = new Promise<void>((resolve) => (fail = resolve));
  const failing = (async function* () {
    yield Buffer.from('a');
    await failed;
    throw new Error('lost');
  })();
  const served = await serve(failing, 10);
  fail();
  await assert.rejects(readAll(served.reply), { code: 'ECONNRESET' });
  assert.equal(((await served.outcome).failure as Error).message, 'lost');
  served.close();
});

test('stops reading the source, and lets it clean up, when the client disconnects', async () => {
  let pulled = 0;
  let cleaned = false;
  const endless = (async function* () {
    try {
      for (;;) {
        pulled += 1;
        yield Buffer.alloc(1 << 16);
      }
    } finally {
      cleaned = true;
    }
  })();
  const served = await serve(endless, 10);
  served.reply.destroy();
  assert.equal((await served.outcome).failure, undefined);
  assert.ok(cleaned);
  assert.ok(pulled < 1000);
  served.close();
});

test('gives up a client that takes nothing', async () => {
  const endless = (async function* () {
    for (;;) yield Buffer.alloc(1 << 20);
  })();
  const served = await serve(endless, 0.05);
  served.reply.pause();
  served.reply.on('error', () => {});
  assert.equal((await served.outcome).failure, undefined);
  served.close();
});

test('buffers a small reply whole, and only the beginning of a large one', async () => {
  assert.deepEqual(await buffer(letters('abc')), Buffer.from('abc'));
  const large = (async function* () {
    for (let count = 0; count < 10; count += 1) yield Buffer.alloc(30_000, count);
  })();
  const body = await buffer(large);
  assert.ok(!(body instanceof Uint8Array));
  assert.equal(body.first.length, 3);
  const fourth = await body.rest.next();
  assert.deepEqual(fourth.value, Buffer.alloc(30_000, 3));
});

test('throws what fails before the reply has begun', async () => {
  const failing = (async function* () {
    yield Buffer.from('a');
    throw new Error('lost');
  })();
  await assert.rejects(buffer(failing), /lost/);
});

async function* letters(text: string): AsyncGenerator<Uint8Array> {
  for (const letter of text) yield Buffer.from(letter);
}

async function readAll(reply: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of reply as AsyncIterable<Buffer>) text += piece.toString();
  return text;
}
