import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createOpenAiProvider } from '../../src/embeddings/embedding-provider.ts';
import { createWebhookSender } from '../../src/events/send-webhook.ts';

suite('a receiver or a provider that never responds is given up in time, also when garbage is collected', () => {
  const silent = createServer(() => {});
  let url = '';
  let collecting: NodeJS.Timeout;
  before(async () => {
    url = await listen(silent);
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    collecting = setInterval(() => collect(), 20);
  });
  after(() => {
    clearInterval(collecting);
    silent.closeAllConnections();
    silent.close();
  });

  test('by webhooks', { timeout: 20_000 }, async () => {
    assert.deepEqual(await deliver(url), { error: 'The receiver did not respond within 0.2 s.' });
  });

  test('by embeddings', { timeout: 20_000 }, async () => {
    await assert.rejects(embed(url), /did not respond within 0\.2 s/);
  });
});

suite('a receiver or a provider that switches protocols is given up', () => {
  const switching = createTcpServer((socket) => {
    const reply = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: other', '', ''];
    socket.on('error', () => {}).once('data', () => socket.write(reply.join('\r\n')));
  });
  let url = '';
  before(async () => {
    url = await listen(switching);
  });
  after(() => switching.close());

  test('by webhooks', { timeout: 5000 }, async () => {
    assert.deepEqual(await deliver(url), { status: 101, error: 'The receiver responded with status 101.' });
  });

  test('by embeddings', { timeout: 5000 }, async () => {
    await assert.rejects(embed(url), /cannot be reached/);
  });
});

const timeoutSeconds = 0.2;

async function listen(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function deliver(url: string) {
  const settings = { allowHttp: true, allowedNetworks: ['127.0.0.0/8'], timeoutSeconds, now: Date.now };
  const delivery = { url, secret: 'secret', id: 'delivery', body: '{}' };
  return createWebhookSender(settings).send(delivery, new AbortController().signal);
}

async function embed(url: string) {
  const provider = createOpenAiProvider({ url, apiKey: undefined }, { timeoutSeconds, replyBytesMax: 1000 });
  return provider({ model: 'model', text: 'a chair' }, new AbortController().signal);
}
