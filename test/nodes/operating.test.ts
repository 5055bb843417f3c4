import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../support/arrow-tables.ts';
import { Client } from '../support/client.ts';
import { Cluster, NO_CLUSTERS } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { ShownMetrics } from '../support/metrics.ts';
import { runCliOn } from '../support/run-cli.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { startCollector, toObject } from '../telemetry/traces/collector.ts';
import type { Collector, ReceivedSpan } from '../telemetry/traces/collector.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER_SPAN = 'b7ad6b7169203331';
const UPDATE = { updates: [['name', "'x'"]], predicate: 'id = 0' };

interface ShownNode {
  readonly id: string;
  readonly address: string;
  readonly alive: boolean;
  readonly leases: number;
}

suite('two nodes', { skip: NO_CLUSTERS }, () => {
  let folder: string;
  let cluster: Cluster;
  let collector: Collector;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tiltyard-operating-'));
    collector = await startCollector();
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BLRP_SCHEDULE_DELAY: '50',
    };
    cluster = await Cluster.start({ folder, nodes: 2, env });
    const created = await client(0).arrow('/v1/table/items/create', sampleStream(3));
    assert.equal(created.status, 200, created.text);
    // The node that writes first gets the lease.
    await update(0);
  });
  after(async () => {
    await cluster.close();
    collector.close();
    await rm(folder, { recursive: true, force: true });
  });

  const client = (node: number): Client => new Client(cluster.node(node).url);
  const metrics = async (node: number): Promise<ShownMetrics> => ShownMetrics.read(cluster.node(node).url, ADMIN_KEY);

  async function update(node: number, headers: Readonly<Record<string, string>> = {}): Promise<Headers> {
    const answer = await client(node).post('/v1/table/items/update', UPDATE, headers);
    assert.equal(answer.status, 200, answer.text);
    return answer.headers;
  }

  async function listNodes(node: number) {
    const { status, text, json } = await client(node).get('/v1/nodes/list');
    assert.equal(status, 200, text);
    return json as { node_id: string; nodes: ShownNode[]; takeovers: Readonly<Record<string, unknown>>[] };
  }

  async function readyz(node: number): Promise<{ readonly status: number; readonly reason?: string }> {
    const answer = await fetch(`${cluster.node(node).url}/readyz`);
    return { status: answer.status, reason: ((await answer.json()) as { reason?: string }).reason ?? '' };
  }

  async function spanOf(requestId: string, isWanted: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
    const find = (): ReceivedSpan | undefined =>
      collector.spans.find((span) => toObject(span.attributes)['tiltyard.request_id'] === requestId && isWanted(span));
    await collector.until(() => find() !== undefined);
    const found = find();
    assert.ok(found);
    return found;
  }

  test('each list both, with their addresses and leases, and say which one answered', async () => {
    const [first, second] = [await listNodes(0), await listNodes(1)];
    assert.deepEqual(first.nodes, second.nodes);
    assert.deepEqual(
      first.nodes.map(({ address, alive, leases }) => ({ address, alive, leases })),
      [
        { address: cluster.node(0).fromPeers.url, alive: true, leases: 1 },
        { address: cluster.node(1).fromPeers.url, alive: true, leases: 0 },
      ],
    );
    assert.deepEqual(
      first.nodes.map(({ id }) => id),
      [first.node_id, second.node_id],
    );
    assert.deepEqual(first.takeovers, []);
  });

  test('count the writes that they forward, and the tables that they write', async () => {
    const before = await metrics(1);
    await update(1);
    const now = await metrics(1);
    const count = 'tiltyard_forward_duration_seconds_count';
    assert.equal(now.value(count), before.value(count) + 1);
    assert.ok(now.value('tiltyard_forward_duration_seconds_sum') > 0);
    assert.equal(now.value('tiltyard_forwards_running'), 0);
    assert.equal(now.value('tiltyard_forward_failures_total'), 0);
    assert.equal(now.value('tiltyard_leases_held'), 0);
    assert.equal((await metrics(0)).value('tiltyard_leases_held'), 1);
    assert.equal((await metrics(0)).value(count), 0);
    await eventually(async () => (await metrics(0)).value('tiltyard_nodes', { state: 'alive' }) === 2);
    assert.ok((await metrics(0)).value('tiltyard_heartbeat_age_seconds') < 60);
  });

  test('show a forwarded write as one trace: the span of the owner is a child of the span of the other', async () => {
    const headers = await update(1, { 'x-request-id': 'hop-1', traceparent: `00-${TRACE}-${CALLER_SPAN}-01` });
    const outer = await spanOf('hop-1', ({ parentSpanId }) => parentSpanId === CALLER_SPAN);
    const inner = await spanOf('hop-1', ({ parentSpanId }) => parentSpanId === outer.spanId);
    assert.deepEqual([outer.traceId, inner.traceId], [TRACE, TRACE]);
    // The reply names the span of the node that the caller has asked.
    assert.equal(headers.get('traceresponse'), `00-${TRACE}-${outer.spanId}-01`);
  });

  test('refuse a third one with another storage root, which learns both roots and the fix', async () => {
    const stranger = await cluster.openNode('stranger', 's3://tables/elsewhere');
    try {
      await assert.rejects(stranger.start(), (error) => {
        const { message } = error as Error;
        assert.match(message, /this node has s3:\/\/tables\/elsewhere, .+ has s3:\/\/tables\/root\./);
        assert.match(message, /Set storage\.root to the same address on every node\./);
        return true;
      });
    } finally {
      await stranger.close();
    }
  });

  test('are not ready without their catalog, nor when their lease has ended, and are ready afterwards', async () => {
    const node = cluster.node(1);
    assert.deepEqual(await readyz(1), { status: 200, reason: '' });
    node.toCatalog.pause();
    try {
      const reasons = new Set<string | undefined>();
      await eventually(async () => {
        const { status, reason } = await readyz(1);
        if (status === 503) reasons.add(reason);
        return reasons.size === 2;
      });
      assert.deepEqual(
        [...reasons],
        ['the catalog is unavailable', 'this node sent no heartbeats for longer than its lease'],
      );
      assert.equal((await fetch(`${node.url}/healthz`)).status, 200);
    } finally {
      node.toCatalog.resume();
    }
    await eventually(async () => node.isReady());
    await eventually(async () => node.log.some(({ event }) => event === 'node-lapsed'));
    assert.ok((await metrics(1)).value('tiltyard_node_lapses_total') >= 1);
  });

  test('show what a crash did: a silent node, and the table that the other took over', async () => {
    const { node_id: dead } = await listNodes(0);
    await cluster.node(0).kill();
    // What reached the dead node is in doubt; what is sent later waits for the takeover.
    await eventually(async () => (await client(1).post('/v1/table/items/update', UPDATE)).status === 200);
    const { node_id: alive, nodes, takeovers } = await listNodes(1);
    assert.deepEqual(
      nodes.map(({ id, alive: isAlive }) => [id, isAlive]),
      [
        [dead, false],
        [alive, true],
      ],
    );
    const [takeover] = takeovers;
    assert.deepEqual([takeover?.['id'], takeover?.['taken_from'], takeover?.['taken_by']], [['items'], dead, alive]);
    const takenOver = () => cluster.node(1).log.filter((line) => line.event === 'table-taken-over');
    await eventually(async () => takenOver().length > 0);
    const [event] = takenOver();
    assert.deepEqual(
      [event?.['formerHolder'], event?.['epoch'], event?.['hasPending'], event?.['level']],
      [dead, takeover?.['epoch'], false, 'warn'],
    );
    const shown = await metrics(1);
    assert.equal(shown.value('tiltyard_lease_takeovers_total', { pending: 'false' }), 1);
    assert.ok(shown.value('tiltyard_forward_failures_total') > 0);
    await eventually(async () => (await metrics(1)).value('tiltyard_nodes', { state: 'silent' }) === 1);
    const { out } = await runCliOn(cluster.node(1).url, ['nodes']);
    assert.match(out, / silent .*\n\* .* alive .*\n\n *taken over +database +table +from +by\n.*\n.* default +items /);
  });

  test('are not listed any more after a shutdown in good order', async () => {
    await cluster.node(0).start();
    assert.equal((await listNodes(1)).nodes.filter(({ alive }) => alive).length, 2);
    assert.equal(await cluster.node(0).drain(), 0);
    assert.deepEqual(
      (await listNodes(1)).nodes.map(({ id }) => id),
      [(await listNodes(1)).node_id],
    );
  });
});
