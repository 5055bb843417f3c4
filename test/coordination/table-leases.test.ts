import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { TableLeases } from '../../src/coordination/table-leases.ts';
import type { TelemetryEvent } from '../../src/telemetry/events.ts';
import { createTable, openNode, temporaryFile } from '../catalog/temporary-catalog.ts';

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
});
