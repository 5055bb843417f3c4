import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createOpenAiProvider } from '../../src/embeddings/embedding-provider.ts';
import { createWebhookSender } from '../../src/events/send-webhook.ts';

suite('a receiver or a provider that never responds is given up in time, also when garbage is collected', () => {
  const silent = createServer(() => {});
  const timeoutSeconds = 0.2;
  let url = '';
  let collecting: NodeJS.Timeout;
  before(async () => {
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
    url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
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
    const settings = { allowHttp: true, allowedNetworks: ['127.0.0.0/8'], timeoutSeconds, now: Date.now };
    const delivery = { url, secret: 'secret', id: 'delivery', body: '{}' };
    const outcome = await createWebhookSender(settings).send(delivery, new AbortController().signal);
    assert.deepEqual(outcome, { error: 'The receiver did not respond within 0.2 s.' });
  });

  test('by embeddings', { timeout: 20_000 }, async () => {
    const embed = createOpenAiProvider({ url, apiKey: undefined }, { timeoutSeconds, replyBytesMax: 1000 });
    await assert.rejects(
      embed({ model: 'model', text: 'a chair' }, new AbortController().signal),
      /did not respond within 0\.2 s/,
    );
  });
});
