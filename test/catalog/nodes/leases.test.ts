import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { openCatalog } from '../../../src/catalog/catalog.ts';
import type { Catalog, NewEntry } from '../../../src/catalog/catalog.ts';
import { NotOwner } from '../../../src/errors/service-error.ts';
import type { TableRecord } from '../../../src/model/table.ts';
import { ENTRY, createTable, refusal, temporaryFile } from '../temporary-catalog.ts';

const LEASE = { leaseMilliseconds: 60_000, name: 'machine', address: 'http://node', release: '1.2.3' };
const ROOT = 's3://tables';
const OPTIONS = { bounds: [], removes: [], isDurable: true };

/** The catalog as the nodes `a` and `b` see it, both alive, with one table. */
async function openNodes(context: TestContext) {
  const address = await temporaryFile(context);
  const open = async (nodeId: string, storageRoot = ROOT): Promise<Catalog> => {
    const catalog = await openCatalog({
      address,
      nodeId,
      storageRoot,
      waitMilliseconds: 30_000,
      connectionsMax: 4,
      journal: { windowSeconds: 60, keySeconds: 86_400, keysMax: 1000 },
      cacheBytes: 1_000_000,
      now: Date.now,
    });
    context.after(async () => catalog.close());
    await catalog.nodes.join({ id: nodeId, instance: `folder of ${nodeId}`, ...LEASE });
    return catalog;
  };
  const a = await open('a');
  const b = await open('b');
  const database = await a.databases.create({ name: 'default', root: 's3://tables' });
  const table = await createTable(a, database.id, ['orders']);
  const end = async (catalog: Catalog, id: string): Promise<boolean> => catalog.nodes.extend(id, -1);
  return { a, b, open, end, database, table };
}

function newEntry({ id: tableId, databaseId, path }: TableRecord, id: string, epoch: number): NewEntry {
  const request = { id, caller: 'key:k', digest: id, key: undefined, generation: undefined, requestId: 'r' };
  const commit = { operation: 'update_table', branch: undefined, baseVersion: 1, epoch, expected: '{}' };
  return { ...request, ...commit, databaseId, tableId, path, holdsReaders: false };
}

function toCommit(table: TableRecord, id: string, epoch: number, version = 2) {
  return { table, epoch, commit: { ...ENTRY, version }, entry: { id, outcome: '{}' } };
}

suite('a lease', () => {
  test('is taken by the first node, and others learn where it is', async (t) => {
    const { a, b, table } = await openNodes(t);
    assert.deepEqual(await a.leases.take(table.id), { kind: 'ours', epoch: 1, hasPending: false });
    assert.deepEqual(await b.leases.take(table.id), { kind: 'held', nodeId: 'a', address: 'http://node' });
    assert.deepEqual(await b.leases.find(table.id), { nodeId: 'a', address: 'http://node' });
    assert.deepEqual(await a.leases.take(table.id), { kind: 'ours', epoch: 1, hasPending: false });
  });

  test('passes to another node when its holder is silent for too long, with a higher epoch', async (t) => {
    const { a, b, end, table } = await openNodes(t);
    await a.leases.take(table.id);
    await end(a, 'a');
    assert.equal(await b.leases.find(table.id), undefined);
    assert.deepEqual(await b.leases.take(table.id), { kind: 'ours', epoch: 2, hasPending: false, takenFrom: 'a' });
    assert.deepEqual(await b.leases.take(table.id), { kind: 'ours', epoch: 2, hasPending: false });
    await a.nodes.extend('a', 60_000);
    assert.deepEqual(await a.leases.take(table.id), { kind: 'held', nodeId: 'b', address: 'http://node' });
  });

  test('knows whether the previous holder may still be running', async (t) => {
    const { a, b, end, table } = await openNodes(t);
    await a.leases.take(table.id);
    assert.equal(await a.leases.mayPreviousHolderRun(table.id), false);
    await end(a, 'a');
    await b.leases.take(table.id);
    assert.equal(await b.leases.mayPreviousHolderRun(table.id), true);
    await b.nodes.leave('a');
    assert.equal(await b.leases.mayPreviousHolderRun(table.id), false);
  });

  test('is free at once when its holder releases it or leaves', async (t) => {
    const { a, b, table } = await openNodes(t);
    await a.leases.take(table.id);
    await a.leases.releaseAll();
    assert.deepEqual(await b.leases.take(table.id), { kind: 'ours', epoch: 2, hasPending: false });
    await b.nodes.leave('b');
    assert.deepEqual(await a.leases.take(table.id), { kind: 'ours', epoch: 3, hasPending: false });
  });

  test('is free at once when another process follows its holder in the same data folder', async (t) => {
    const { a, b, table } = await openNodes(t);
    await a.leases.take(table.id);
    await b.nodes.join({ id: 'a2', instance: 'folder of a', ...LEASE });
    assert.equal((await b.leases.take(table.id)).kind, 'ours');
  });

  test('that was taken over is listed until it is taken in good order', async (t) => {
    const { a, b, end, table } = await openNodes(t);
    await a.leases.take(table.id);
    assert.deepEqual(await a.leases.listTakeovers(10), []);
    await end(a, 'a');
    await b.leases.take(table.id);
    const [takeover, ...others] = await a.leases.listTakeovers(10);
    assert.deepEqual(others, []);
    assert.ok(takeover !== undefined && takeover.takenAt > 0);
    const { takenAt: _unused, ...rest } = takeover;
    assert.deepEqual(rest, { database: 'default', path: ['orders'], epoch: 2, takenFrom: 'a', nodeId: 'b' });
    assert.deepEqual(await a.leases.listTakeovers(0), []);
    await b.leases.releaseAll();
    assert.equal((await a.leases.listTakeovers(10))[0]?.nodeId, undefined);
    await a.leases.take(table.id);
    assert.deepEqual(await a.leases.listTakeovers(10), []);
  });

  test('of a dropped table is gone', async (t) => {
    const { a, b, table } = await openNodes(t);
    await a.leases.take(table.id);
    await b.tables.drop(table, ENTRY);
    assert.equal(await b.leases.find(table.id), undefined);
  });

  test('of a table that is gone lets nothing begin, even one that was taken afterwards', async (t) => {
    const { a, b, table } = await openNodes(t);
    const isGone = refusal('TableNotFound');
    await a.leases.take(table.id);
    await b.tables.deregister(table, ENTRY);
    await assert.rejects(a.journal.begin([newEntry(table, 'x', 1)], OPTIONS), isGone);
    await assert.rejects(a.journal.requireOwner(table.id, 1), isGone);
    await b.leases.take(table.id);
    await assert.rejects(b.journal.begin([newEntry(table, 'x', 1)], OPTIONS), isGone);
  });

  test('is needed to begin a write and to record it', async (t) => {
    const { a, b, table } = await openNodes(t);
    await assert.rejects(a.journal.begin([newEntry(table, 'x', 1)], OPTIONS), NotOwner);
    await a.leases.take(table.id);
    await a.journal.begin([newEntry(table, 'x', 1)], OPTIONS);
    await assert.rejects(b.journal.begin([newEntry(table, 'y', 1)], OPTIONS), NotOwner);
    await assert.rejects(b.journal.record([toCommit(table, 'x', 1)], true), NotOwner);
    assert.equal((await a.journal.record([toCommit(table, 'x', 1)], true)).length, 1);
    assert.equal((await a.journal.find('x'))?.state, 'committed');
  });

  test('that was lost ends no write: the new holder finds it pending', async (t) => {
    const { a, b, end, table } = await openNodes(t);
    await a.leases.take(table.id);
    await a.journal.begin([newEntry(table, 'x', 1)], OPTIONS);
    await end(a, 'a');
    assert.deepEqual(await b.leases.listAbandoned(10), [table.id]);
    assert.deepEqual(await b.leases.take(table.id), { kind: 'ours', epoch: 2, hasPending: true, takenFrom: 'a' });
    await a.nodes.extend('a', 60_000);
    await assert.rejects(a.journal.record([toCommit(table, 'x', 1)], true), NotOwner);
    await assert.rejects(a.journal.requireOwner(table.id, 1), NotOwner);
    assert.equal((await b.journal.find('x'))?.state, 'pending');
    await b.journal.record([toCommit(table, 'x', 2)], true);
    assert.deepEqual(await b.leases.listAbandoned(10), []);
  });
});

suite('a node', () => {
  test('is listed with its release, leases and forwards, and as ended when it is silent', async (t) => {
    const { a, b, end, table } = await openNodes(t);
    await a.leases.take(table.id);
    await a.nodes.extend('a', 60_000, 3);
    assert.deepEqual(await a.nodes.count(), { alive: 2, silent: 0 });
    await end(b, 'b');
    const nodes = await a.nodes.list();
    assert.deepEqual(
      nodes.map(({ startedAt: _unused, ...node }) => node),
      [
        { id: 'a', name: 'machine', address: 'http://node', release: '1.2.3', isAlive: true, leases: 1, forwards: 3 },
        { id: 'b', name: 'machine', address: 'http://node', release: '1.2.3', isAlive: false, leases: 0, forwards: 0 },
      ],
    );
    assert.deepEqual(await a.nodes.count(), { alive: 1, silent: 1 });
    assert.deepEqual(await b.nodes.findOther(), { nodeId: 'a', address: 'http://node' });
    assert.equal(await a.nodes.findOther(), undefined);
  });

  test('without an address is refused beside others, and others beside it', async (t) => {
    const { a, b, end } = await openNodes(t);
    const alone = { ...LEASE, address: undefined };
    const refused = refusal('ServiceUnavailable', /Another node uses this catalog/);
    await assert.rejects(a.nodes.join({ id: 'c', instance: 'c', ...alone }), refused);
    await end(a, 'a');
    await end(b, 'b');
    await a.nodes.join({ id: 'c', instance: 'c', ...alone });
    await assert.rejects(a.nodes.join({ id: 'd', instance: 'd', ...LEASE }), refused);
  });

  test('that is started again in its data folder is listed once', async (t) => {
    const { a, end } = await openNodes(t);
    await end(a, 'b');
    await a.nodes.join({ id: 'b2', instance: 'folder of b', ...LEASE });
    assert.deepEqual(
      (await a.nodes.list()).map(({ id }) => id),
      ['a', 'b2'],
    );
    assert.deepEqual(await a.nodes.count(), { alive: 2, silent: 0 });
  });

  test('with a copy of the data folder of another is refused, and the other stays', async (t) => {
    const { a, b, end } = await openNodes(t);
    const copied = refusal('ServiceUnavailable', /same node\.id in its data folder: machine at http:\/\/node/);
    const copy = { id: 'c', instance: 'folder of a', ...LEASE };
    await assert.rejects(b.nodes.join({ ...copy, name: 'clone' }), copied);
    await assert.rejects(b.nodes.join({ ...copy, address: 'http://clone' }), copied);
    await assert.rejects(b.nodes.join({ ...copy, isKnown: true }), copied, 'though machine and address are equal');
    assert.equal(await a.nodes.extend('a', LEASE.leaseMilliseconds), true);
    await end(a, 'a');
    await b.nodes.join({ ...copy, name: 'clone' });
  });

  test('with another storage root is refused beside others, which names both roots and the fix', async (t) => {
    const { a, b, open, end } = await openNodes(t);
    const elsewhere = 's3://other/root';
    await assert.rejects(open('c', elsewhere), {
      kind: 'ServiceUnavailable',
      message: /this node has s3:\/\/other\/root, machine has s3:\/\/tables\./,
      detail: /Set storage\.root to the same address on every node\./,
    });
    assert.deepEqual(await a.nodes.count(), { alive: 2, silent: 0 });
    await open('d', `${ROOT}/`);
    await end(a, 'a');
    await end(b, 'b');
    await end(a, 'd');
    await open('e', elsewhere);
  });

  test('that is alive keeps its unfinished creates from being swept', async (t) => {
    const { a, b, end, database } = await openNodes(t);
    await a.tables.reserve({ databaseId: database.id, path: ['new'], root: 's3://tables', caller: 'key:k' });
    assert.deepEqual((await b.tables.unfinished()).reservations, []);
    await end(a, 'a');
    assert.equal((await b.tables.unfinished()).reservations.length, 1);
  });
});
