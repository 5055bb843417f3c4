import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { WebhookSender } from '../../src/events/send-webhook.ts';
import { Webhooks } from '../../src/events/webhooks.ts';
import type { WebhookLimits } from '../../src/model/limits/integration-limits.ts';
import { ENTRY, NOW, open as openCatalog, temporaryFile } from '../catalog/temporary-catalog.ts';
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

/** Where deliveries went, in order, once `webhooks` is started. */
async function open(context: TestContext, send: WebhookSender['send'] = async () => ({ status: 200 })) {
  const catalog = await openCatalog(context, await temporaryFile(context));
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
  context.after(async () => webhooks.close());
  return { catalog, webhooks, sent };
}

async function createDatabase(catalog: Catalog, name: string): Promise<string> {
  return (await catalog.databases.create({ name })).id;
}

async function createWebhooks({ webhooks }: Catalog, databaseId: string, urls: readonly string[]): Promise<void> {
  const cursor = '';
  for (const url of urls)
    await webhooks.create({ databaseId, url, secret: 's', createdBy: 'token:issuer#subject', cursor, scope: {} }, 100);
}

async function commit({ namespaces }: Catalog, databaseId: string, name: string): Promise<void> {
  await namespaces.create({ databaseId, path: [name], properties: {} }, ENTRY);
}

suite('webhooks of several databases', () => {
  test('those of databases without commits keep no others from being delivered', async (t) => {
    const { catalog, webhooks, sent } = await open(t);
    const [idle, busy] = [await createDatabase(catalog, 'idle'), await createDatabase(catalog, 'busy')];
    await createWebhooks(catalog, idle, ['idle-1', 'idle-2', 'idle-3', 'idle-4']);
    await createWebhooks(catalog, busy, ['busy']);
    await commit(catalog, busy, 'one');
    webhooks.start();
    await eventually(async () => sent.length > 0);
    assert.deepEqual(sent, ['busy']);
  });

  test('a database whose receivers are slow leaves a quarter of the deliveries to others', async (t) => {
    const { catalog, webhooks, sent } = await open(t, async (_delivery, ended) => {
      if (!ended.aborted) await once(ended, 'abort');
      return { error: 'The server is shutting down.' };
    });
    const [slow, other] = [await createDatabase(catalog, 'slow'), await createDatabase(catalog, 'other')];
    await createWebhooks(catalog, slow, ['slow', 'slow', 'slow', 'slow']);
    for (const database of [slow, other]) await commit(catalog, database, 'one');
    webhooks.start();
    await eventually(async () => sent.length >= 3);
    await createWebhooks(catalog, other, ['other']);
    await eventually(async () => sent.includes('other'));
    assert.deepEqual(sent, ['slow', 'slow', 'slow', 'other']);
  });

  test('one with much to deliver gives way to others after each delivery', async (t) => {
    const { catalog, webhooks, sent } = await open(t, async () => {
      await sleep(20);
      return { status: 200 };
    });
    for (const name of ['one', 'two']) {
      const database = await createDatabase(catalog, name);
      await createWebhooks(catalog, database, [name, name]);
      for (let index = 0; index < 10; index += 1) await commit(catalog, database, `space${index}`);
    }
    webhooks.start();
    await eventually(async () => sent.length > 0);
    const other = await createDatabase(catalog, 'other');
    await createWebhooks(catalog, other, ['other']);
    await commit(catalog, other, 'one');
    await eventually(async () => sent.length === 41);
    assert.ok(sent.indexOf('other') < 30, sent.join(' '));
  });
});
