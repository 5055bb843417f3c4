import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Catalog, NewEntry } from '../../src/catalog/catalog.ts';
import { NotOwner } from '../../src/errors/service-error.ts';
import type { TableRecord } from '../../src/model/table.ts';
import { TableLeases } from '../../src/coordination/table-leases.ts';
import type { TelemetryEvent } from '../../src/telemetry/events.ts';
import { createTable, openNode, temporaryFile } from '../catalog/temporary-catalog.ts';
import { eventually } from '../support/eventually.ts';

const LEASE = { leaseMilliseconds: 60_000, name: 'machine', address: 'http://node', release: '1.2.3' };

/** The leases as the nodes `a` and `b` see them, with one table, and what each of them reports. */
async function openLeases(context: TestContext) {
  const address = await temporaryFile(context);
  const open = async (nodeId: string) => {
    const catalog: Catalog = await openNode(context, address, nodeId);
    await catalog.nodes.join({ id: nodeId, instance: nodeId, ...LEASE });
    const events: TelemetryEvent[] = [];
    const leases = new TableLeases(catalog, nodeId, { emit: (event) => void events.push(event) });
    return { catalog, events, leases };
  };
  const [a, b] = [await open('a'), await open('b')];
  const database = await a.catalog.databases.create({ name: 'default', root: 's3://tables' });
  return { a, b, table: await createTable(a.catalog, database.id, ['orders']) };
}

suite('the leases of a node', () => {
  test('are counted while it has them; taking a free one is no takeover', async (t) => {
    const { a, b, table } = await openLeases(t);
    assert.equal(a.leases.held, 0);
    await a.leases.own(table);
    assert.equal(a.leases.held, 1);
    await a.leases.release(async () => {});
    assert.equal(a.leases.held, 0);
    await b.leases.own(table);
    assert.deepEqual([a.events, b.events], [[], []]);
  });

  test('stay with it at a shutdown while a request that may write to the table has not ended', async (t) => {
    const { a, b, table } = await openLeases(t);
    await a.leases.own(table);
    const ends = [a.leases.hold(table.id), a.leases.hold(table.id)];
    await a.leases.release(async () => {});
    assert.equal((await b.leases.locate(table))?.nodeId, 'a');
    assert.equal(await a.leases.locate(table), undefined);
    assert.equal((await a.leases.own(table)).epoch, 1);
    for (const end of ends) {
      assert.equal((await b.leases.locate(table))?.nodeId, 'a');
      end();
    }
    await eventually(async () => (await b.leases.locate(table)) === undefined);
    assert.equal(a.leases.held, 0);
  });

  test('that it takes over from a silent one are reported, with the former holder', async (t) => {
    const { a, b, table } = await openLeases(t);
    await a.leases.own(table);
    await a.catalog.nodes.extend('a', -1);
    assert.equal(await b.leases.locate(table), undefined);
    await b.leases.own(table);
    const takeover = { kind: 'table-taken-over', tableId: table.id, epoch: 2, formerHolder: 'a', hasPending: false };
    assert.deepEqual(b.events, [takeover]);
  });

  test('that it lost are reported once', async (t) => {
    const { a, b, table } = await openLeases(t);
    await a.leases.own(table);
    await a.catalog.nodes.extend('a', -1);
    await b.leases.own(table);
    a.leases.lost(table.id);
    a.leases.lost(table.id);
    assert.deepEqual(a.events, [{ kind: 'lease-lost', tableId: table.id, epoch: 1 }]);
    assert.equal(a.leases.held, 0);
  });

  test('of another one are remembered for a moment, for callers that notice when they have changed', async (t) => {
    const { a, b, table } = await openLeases(t);
    await a.leases.own(table);
    assert.deepEqual(await b.leases.locate(table, { mayBeOutdated: true }), { nodeId: 'a', address: 'http://node' });
    await a.leases.release(async () => {});
    assert.equal((await b.leases.locate(table, { mayBeOutdated: true }))?.nodeId, 'a');
    assert.equal(await b.leases.locate(table), undefined);
    assert.equal(await b.leases.locate(table, { mayBeOutdated: true }), undefined);
  });

  test('of another one are forgotten together with its own', async (t) => {
    const { a, b, table } = await openLeases(t);
    await a.leases.own(table);
    await b.leases.locate(table);
    await a.leases.release(async () => {});
    b.leases.forget();
    assert.equal(await b.leases.locate(table, { mayBeOutdated: true }), undefined);
  });

  test('that a batch claims pass from a live node that has nothing pending, with a higher epoch', async (t) => {
    const { a, b, table } = await openLeases(t);
    await a.leases.own(table);
    assert.deepEqual(await b.leases.claim(table), { epoch: 2, hasPending: false });
    assert.deepEqual(await b.leases.claim(table), { epoch: 2, hasPending: false });
    await assert.rejects(a.catalog.journal.requireOwner(table.id, 1), NotOwner);
    a.leases.lost(table.id);
    assert.deepEqual(await a.leases.locate(table), { nodeId: 'b', address: 'http://node' });
    assert.deepEqual(b.events, []);
  });

  test('that a batch claims are waited for while a write of their node is pending', async (t) => {
    const { a, b, table } = await openLeases(t);
    const { epoch } = await a.leases.own(table);
    const entry = newEntry(table, epoch);
    await a.catalog.journal.begin([entry], { bounds: [], removes: [], isDurable: true });
    const claimed = b.leases.claim(table);
    assert.equal((await b.catalog.leases.take(table.id, { fromIdle: true })).kind, 'held');
    await a.catalog.journal.remove([entry.id]);
    assert.deepEqual(await claimed, { epoch: 2, hasPending: false });
  });
});

function newEntry({ id: tableId, databaseId, path }: TableRecord, epoch: number): NewEntry {
  const request = { id: 'e', caller: 'key:k', digest: 'd', key: undefined, generation: undefined, requestId: 'r' };
  const commit = { operation: 'update_table', branch: undefined, baseVersion: 1, epoch, expected: '{}' };
  return { ...request, ...commit, databaseId, tableId, path, holdsReaders: false };
}
