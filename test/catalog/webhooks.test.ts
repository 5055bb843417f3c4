import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { ENTRY, openNode, temporaryFile } from './temporary-catalog.ts';

const LEASE = { leaseMilliseconds: 60_000, name: 'machine', address: 'http://node', release: '1.2.3' };

const SETTINGS = {
  url: 'https://example.com',
  secret: 'whsec_x',
  createdBy: 'key:1',
  cursor: '',
  scope: { table: ['sales', 'orders'], operations: ['insert_into_table'] },
} as const;

type NewWebhook = typeof SETTINGS & { readonly databaseId: string };

/** The catalog as the nodes `a` and `b` see it, both alive, and a webhook to create: its database has a commit. */
async function openNodes(context: TestContext): Promise<readonly [Catalog, Catalog, NewWebhook]> {
  const address = await temporaryFile(context);
  const open = async (id: string): Promise<Catalog> => {
    const catalog = await openNode(context, address, id);
    await catalog.nodes.join({ id, instance: `folder of ${id}`, ...LEASE });
    return catalog;
  };
  const [a, b] = [await open('a'), await open('b')];
  const { id: databaseId } = await a.databases.create({ name: 'default' });
  await a.namespaces.create({ databaseId, path: ['sales'], properties: {} }, ENTRY);
  return [a, b, { ...SETTINGS, databaseId }];
}

suite('webhooks in the catalog', () => {
  test('are found and listed by every node, oldest first, and deleted for all', async (t) => {
    const [a, b, webhook] = await openNodes(t);
    const first = await a.webhooks.create(webhook, 10);
    assert.deepEqual(await b.webhooks.find(first.id), first);
    assert.deepEqual([first.scope, first.state, first.failures], [webhook.scope, 'active', 0]);
    const second = await b.webhooks.create({ ...webhook, scope: {} }, 10);
    await a.webhooks.create({ ...webhook, databaseId: 'other' }, 10);
    const ids = async (after?: string) =>
      (await a.webhooks.list({ databaseId: webhook.databaseId, after, limit: 10 })).map(({ id }) => id);
    assert.deepEqual(await ids(), [first.id, second.id].toSorted());
    const [one = '', other] = await ids();
    assert.deepEqual(await ids(one), [other]);
    await b.webhooks.remove(first.id);
    assert.equal(await a.webhooks.find(first.id), undefined);
  });

  test('are bounded per database', async (t) => {
    const [a, , webhook] = await openNodes(t);
    await a.webhooks.create(webhook, 1);
    await assert.rejects(a.webhooks.create(webhook, 1), /already has 1 webhooks/);
    await a.webhooks.create({ ...webhook, databaseId: 'other' }, 1);
  });

  test('belong to one node at a time, and only that node moves the cursor', async (t) => {
    const [a, b, webhook] = await openNodes(t);
    const free = await a.webhooks.create(webhook, 10);
    assert.deepEqual([await a.webhooks.claim(free), await b.webhooks.claim(free)], [true, false]);
    assert.deepEqual(
      (await a.webhooks.listDue()).map(({ id }) => id),
      [free.id],
    );
    assert.deepEqual(await b.webhooks.listDue(), []);
    assert.equal(await b.webhooks.progress(free.id, { cursor: 'c2' }), false);
    assert.equal(await a.webhooks.progress(free.id, { cursor: 'c1', deliveredEvents: 3 }), true);
    const found = await b.webhooks.find(free.id);
    assert.deepEqual([found?.cursor, found?.deliveredEvents, found?.nodeId], ['c1', 3, 'a']);
  });

  test('are taken over from a node that left or released them', async (t) => {
    const [a, b, webhook] = await openNodes(t);
    const created = await a.webhooks.create(webhook, 10);
    await a.webhooks.claim(created);
    await a.webhooks.releaseAll();
    const [released] = await b.webhooks.listDue();
    assert.ok(released !== undefined && (await b.webhooks.claim(released)));
    assert.equal(await a.webhooks.progress(created.id, { cursor: 'c9' }), false);
    await b.nodes.leave('b');
    const [left] = await a.webhooks.listDue();
    assert.ok(left !== undefined && (await a.webhooks.claim(left)));
  });

  test('are due while their database has commits behind their cursor', async (t) => {
    const [a, , webhook] = await openNodes(t);
    const created = await a.webhooks.create(webhook, 10);
    await a.webhooks.create({ ...webhook, databaseId: 'other' }, 10);
    const due = async () => (await a.webhooks.listDue()).map(({ id }) => id);
    assert.deepEqual(await due(), [created.id]);
    await a.webhooks.claim(created);
    await a.webhooks.progress(created.id, { cursor: (await a.transactions.newestId()) ?? '' });
    assert.deepEqual(await due(), []);
  });

  test('that wait for their next attempt or are disabled are not due until they are resumed', async (t) => {
    const [a, , webhook] = await openNodes(t);
    const { id, nodeId } = await a.webhooks.create(webhook, 10);
    await a.webhooks.claim({ id, nodeId });
    await a.webhooks.progress(id, { nextAttemptAt: Number.MAX_SAFE_INTEGER, failures: 2, failingSince: 1 });
    assert.deepEqual(await a.webhooks.listDue(), []);
    await a.webhooks.resume({ id, createdBy: 'key:1' });
    assert.equal((await a.webhooks.listDue()).length, 1);
    await a.webhooks.progress(id, { state: 'disabled' });
    assert.deepEqual(await a.webhooks.listDue(), []);
    await a.webhooks.resume({ id, createdBy: 'key:2' });
    const found = await a.webhooks.find(id);
    assert.deepEqual([found?.state, found?.failures, found?.failingSince], ['active', 0, null]);
    assert.equal(found?.createdBy, 'key:2');
    assert.equal(await a.webhooks.disown({ ...found, createdBy: 'key:1' }, 'gone'), false);
    assert.equal(await a.webhooks.disown(found, 'gone'), true);
    assert.deepEqual(await a.webhooks.listDue(), []);
  });
});
