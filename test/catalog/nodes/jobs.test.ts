import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Catalog, JobRecord } from '../../../src/catalog/catalog.ts';
import { NOW, openNode, temporaryFile } from '../temporary-catalog.ts';

const LEASE = { leaseMilliseconds: 60_000, name: 'machine', address: 'http://node', release: '1.2.3' };
const KEPT_MAX = 3;

const SUBJECT = {
  kind: 'create_index',
  databaseId: 'db',
  table: ['sales', 'Verkäufe ✓'],
  tableId: 't1',
  caller: 'key:k',
  spec: { column: 'a"b', index_name: 'a\u0000_idx' },
} as const;

function newJob(id: string, changes: Partial<JobRecord> = {}): JobRecord {
  const running = { state: 'IN_PROGRESS', phase: 'building', isCancelRequested: false } as const;
  return { id, subject: SUBJECT, ...running, createdAt: NOW, ...changes };
}

function ended(id: string, createdAt = NOW): JobRecord {
  return newJob(id, { state: 'DONE', createdAt, endedAt: createdAt + 5, result: { version: 2 } });
}

/** The catalog as the nodes `a` and `b` see it, both alive. */
async function openNodes(context: TestContext) {
  const address = await temporaryFile(context);
  const open = async (id: string): Promise<Catalog> => {
    const catalog = await openNode(context, address, id);
    await catalog.nodes.join({ id, instance: `folder of ${id}`, ...LEASE });
    return catalog;
  };
  return { a: await open('a'), b: await open('b') };
}

async function idsOf(catalog: Catalog, databaseId = 'db'): Promise<readonly string[]> {
  return (await catalog.jobs.list(databaseId)).map(({ id }) => id).toSorted();
}

suite('a job of a node', () => {
  test('is found and listed by every node, with all that is known of it', async (t) => {
    const { a, b } = await openNodes(t);
    const failure = { phase: 'building', message: 'No.', isRetryable: true };
    const failed = newJob('y', { state: 'FAILED', endedAt: NOW + 5, failure });
    for (const job of [newJob('x'), failed, ended('z')]) {
      await a.jobs.save(job, KEPT_MAX);
      assert.deepEqual(await b.jobs.find(job.id), { ...job, isAbandoned: false });
    }
    assert.deepEqual(await idsOf(b), ['x', 'y', 'z']);
    const { kind, databaseId, table } = SUBJECT;
    const subject = { kind, databaseId, table };
    const [listed] = await b.jobs.list('db');
    assert.deepEqual(listed, { id: listed?.id, state: listed?.state, createdAt: NOW, subject, isAbandoned: false });
    assert.deepEqual(await idsOf(b, 'other'), []);
    assert.equal(await b.jobs.find('nowhere'), undefined);
  });

  test('changes with its phases and its end', async (t) => {
    const { a, b } = await openNodes(t);
    await a.jobs.save(newJob('x', { phase: 'waiting' }), KEPT_MAX);
    await a.jobs.save(newJob('x', { phase: 'opening' }), KEPT_MAX);
    assert.equal((await b.jobs.find('x'))?.phase, 'opening');
    await a.jobs.save(ended('x'), KEPT_MAX);
    assert.deepEqual(await b.jobs.find('x'), { ...ended('x'), isAbandoned: false });
  });

  test('that another node was asked to cancel is found by its own node alone, until it has ended', async (t) => {
    const { a, b } = await openNodes(t);
    for (const id of ['x', 'y']) await a.jobs.save(newJob(id), KEPT_MAX);
    await b.jobs.requestCancel('x');
    assert.equal((await b.jobs.find('x'))?.isCancelRequested, true);
    // What the node stores next does not know of it yet.
    await a.jobs.save(newJob('x', { phase: 'committing' }), KEPT_MAX);
    assert.deepEqual(await a.jobs.listCancelRequested(), ['x']);
    assert.deepEqual(await b.jobs.listCancelRequested(), []);
    await a.jobs.save(newJob('x', { state: 'CANCELLED', isCancelRequested: true, endedAt: NOW }), KEPT_MAX);
    assert.deepEqual(await a.jobs.listCancelRequested(), []);
  });

  test('that has ended cannot be cancelled', async (t) => {
    const { a, b } = await openNodes(t);
    await a.jobs.save(ended('x'), KEPT_MAX);
    await b.jobs.requestCancel('x');
    assert.equal((await b.jobs.find('x'))?.isCancelRequested, false);
  });

  test('is abandoned when its node is silent or gone before its end', async (t) => {
    const { a, b } = await openNodes(t);
    await a.jobs.save(newJob('x'), KEPT_MAX);
    await a.jobs.save(ended('y'), KEPT_MAX);
    await b.jobs.save(newJob('z'), KEPT_MAX);
    const abandoned = async (): Promise<readonly string[]> =>
      (await b.jobs.list('db')).filter(({ isAbandoned }) => isAbandoned).map(({ id }) => id);
    assert.deepEqual(await abandoned(), []);
    await a.nodes.extend('a', -1);
    assert.deepEqual(await abandoned(), ['x']);
    // A node that was only paused goes on with its jobs.
    await a.nodes.extend('a', 60_000);
    assert.deepEqual(await abandoned(), []);
    await a.nodes.leave('a');
    assert.deepEqual(await abandoned(), ['x']);
    assert.equal((await b.jobs.find('x'))?.isAbandoned, true);
    assert.equal((await b.jobs.find('y'))?.isAbandoned, false);
  });
});

suite('abandoned jobs', () => {
  test('that another node has taken over are no longer changed by their former one', async (t) => {
    const { a, b } = await openNodes(t);
    await a.jobs.save(newJob('x'), KEPT_MAX);
    await a.nodes.extend('a', -1);
    assert.ok(await b.jobs.claim({ id: 'x' }));
    await a.nodes.extend('a', 60_000);
    await a.jobs.save(newJob('x', { phase: 'committing' }), KEPT_MAX);
    assert.equal((await b.jobs.find('x'))?.phase, 'building');
    await b.jobs.save(ended('x'), KEPT_MAX);
    await a.jobs.save(newJob('x', { state: 'FAILED', endedAt: NOW }), KEPT_MAX);
    assert.deepEqual(await b.jobs.find('x'), { ...ended('x'), isAbandoned: false });
  });

  test('are listed page by page, oldest first, behind however many that run', async (t) => {
    const { a, b } = await openNodes(t);
    for (let index = 0; index < 110; index += 1) await b.jobs.save(newJob(`run${index}`, { createdAt: 1 }), KEPT_MAX);
    const lost = Array.from({ length: 110 }, (_unused, index) => `lost${String(index).padStart(3, '0')}`);
    for (const [index, id] of lost.entries()) await a.jobs.save(newJob(id, { createdAt: 10 + (index >> 1) }), KEPT_MAX);
    await a.nodes.leave('a');
    const first = await b.jobs.listAbandoned([SUBJECT.kind]);
    const rest = await b.jobs.listAbandoned([SUBJECT.kind], first.at(-1));
    assert.equal(first.length, 100);
    assert.deepEqual(
      [...first, ...rest].map(({ id }) => id),
      lost,
    );
  });
});

suite('jobs of all nodes', () => {
  test('are kept up to a bound: the oldest that have ended go, and those that run stay', async (t) => {
    const { a, b } = await openNodes(t);
    await a.jobs.save(newJob('long', { createdAt: 1 }), KEPT_MAX);
    for (const [index, catalog] of [a, b, a, b, a].entries()) {
      await catalog.jobs.save(ended(`job${index}`, 10 + index), KEPT_MAX);
    }
    assert.deepEqual(await idsOf(b), ['job2', 'job3', 'job4', 'long']);
  });

  test('that their nodes have abandoned go too', async (t) => {
    const { a, b } = await openNodes(t);
    await a.jobs.save(newJob('lost', { createdAt: 1 }), KEPT_MAX);
    await a.nodes.leave('a');
    for (let index = 0; index < KEPT_MAX; index += 1) await b.jobs.save(ended(`job${index}`, 10 + index), KEPT_MAX);
    assert.deepEqual(await idsOf(b), ['job0', 'job1', 'job2']);
  });
});
