import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { WebhookSender } from '../../src/events/send-webhook.ts';
import { Webhooks } from '../../src/events/webhooks.ts';
import type { WebhookLimits } from '../../src/model/limits/integration-limits.ts';
import { ENTRY, NOW, open, temporaryFile } from '../catalog/temporary-catalog.ts';
import { eventually } from '../support/eventually.ts';

const LIMITS: WebhookLimits = {
  perDatabaseMax: 100,
  runningMax: 4,
  eventsMax: 1,
  pollSeconds: 0.05,
  timeoutSeconds: 10,
  retrySecondsMax: 1,
  disableSeconds: 1000,
};

/** Where deliveries went, in order. */
async function start(context: TestContext, send: WebhookSender['send'] = async () => ({ status: 200 })) {
  const catalog = await open(context, await temporaryFile(context));
  const sent: string[] = [];
  const webhooks = new Webhooks({
    catalog,
    sender: {
      checkUrl: (url) => url,
      send: async (delivery, ended) => {
        sent.push(delivery.url);
        return send(delivery, ended);
      },
    },
    telemetry: { emit() {} },
    limits: LIMITS,
    now: () => NOW,
    random: () => 0.5,
  });
  webhooks.start();
  context.after(async () => webhooks.close());
  return { catalog, sent };
}

async function createDatabase(catalog: Catalog, name: string): Promise<string> {
  return (await catalog.databases.create({ name })).id;
}

async function createWebhooks({ webhooks }: Catalog, databaseId: string, urls: readonly string[]): Promise<void> {
  const cursor = '';
  for (const url of urls)
    await webhooks.create({ databaseId, url, secret: 's', createdBy: 'key:k', cursor, scope: {} }, 100);
}

async function commit({ namespaces }: Catalog, databaseId: string, name: string): Promise<void> {
  await namespaces.create({ databaseId, path: [name], properties: {} }, ENTRY);
}

suite('webhooks of several databases', () => {
  test('those of databases without commits keep no others from being delivered', async (t) => {
    const { catalog, sent } = await start(t);
    const [idle, busy] = [await createDatabase(catalog, 'idle'), await createDatabase(catalog, 'busy')];
    await createWebhooks(catalog, idle, ['idle-1', 'idle-2', 'idle-3', 'idle-4']);
    await createWebhooks(catalog, busy, ['busy']);
    await commit(catalog, busy, 'one');
    await eventually(async () => sent.length > 0);
    assert.deepEqual(sent, ['busy']);
  });
});
