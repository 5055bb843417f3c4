import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { EventStream } from '../events/event-stream.ts';
import { Receiver } from '../events/receiver.ts';
import { connectMcp } from '../mcp/mcp-client.ts';
import { sampleStream } from '../support/arrow-tables.ts';
import { Client, ok } from '../support/client.ts';
import { Cluster, NO_CLUSTERS } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';

suite('tools, events and webhooks at two nodes', { skip: NO_CLUSTERS }, () => {
  let folder: string;
  let cluster: Cluster;
  let clients: readonly [Client, Client];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tiltyard-integrations-'));
    cluster = await Cluster.start({
      folder,
      nodes: 2,
      flags: [
        '--maintenance-running-max=0',
        '--mcp-writes=true',
        '--webhooks-allow-http=true',
        '--webhooks-allowed-networks=127.0.0.1',
        '--webhooks-poll-seconds=0.1',
        '--webhooks-retry-seconds-max=0.2',
      ],
    });
    clients = [new Client(cluster.node(0).url), new Client(cluster.node(1).url)];
  });
  after(async () => {
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Created through the first node, which owns it from its first write on. */
  async function createOwned(name: string): Promise<string> {
    const at = `/v1/table/${name}`;
    ok(await clients[0].arrow(`${at}/create`, sampleStream(10)));
    ok(await clients[0].arrow(`${at}/insert`, sampleStream(1)));
    return at;
  }

  const update = async (client: Client, at: string): Promise<number> =>
    ok(await client.post(`${at}/update`, { updates: [['price', '1.5']], predicate: 'id = 1' })).version;

  test('tools read and write through any node', async () => {
    await createOwned('tools');
    for (const node of cluster.nodes) {
      const mcp = await connectMcp(node.url);
      const inserted = await mcp.call('insert_rows', { table: 'tools', rows: [{ id: 100, name: 'x' }] });
      assert.ok(!inserted.isError, inserted.text);
      const deleted = await mcp.call('delete_from_table', { table: 'tools', predicate: 'id = 100' });
      assert.match(deleted.text, /"num_deleted_rows":1/);
      assert.equal((await mcp.call('count_table_rows', { table: 'tools' })).text, '11');
      await mcp.close();
    }
  });

  test('a stream has commits of every node in order, and its cursor is good at any node', async () => {
    const at = await createOwned('streamed');
    const streams = await Promise.all(
      cluster.nodes.map(async (node) => EventStream.open(node.url, { query: { table: 'streamed' } })),
    );
    const versions: number[] = [];
    for (let index = 0; index < 20; index += 1) versions.push(await update(clients[index % 2 === 0 ? 0 : 1], at));
    for (const stream of streams) {
      const events = await stream.take(20);
      assert.deepEqual(
        events.map(({ data }) => data.version),
        versions,
      );
      stream.close();
    }
    const [first] = streams;
    const later = await update(clients[0], at);
    const resumed = await EventStream.open(cluster.node(1).url, {
      query: { table: 'streamed', cursor: first?.cursor ?? '' },
    });
    assert.deepEqual(
      (await resumed.take(1)).map(({ data }) => data.version),
      [later],
    );
    resumed.close();
  });

  test('one node delivers to a webhook, and when it dies another continues without a gap', async () => {
    const at = await createOwned('hooked');
    const receiver = await Receiver.start();
    const { webhook_id: id } = ok(
      await clients[0].post('/v1/webhook/create', { url: receiver.url, table: ['hooked'] }),
    );
    const versions: number[] = [];
    for (let index = 0; index < 20; index += 1) versions.push(await update(clients[index % 2 === 0 ? 0 : 1], at));
    // A delivery may arrive twice, and none is missed or overtaken.
    await eventually(async () => receiver.versions.at(-1) === versions.at(-1));
    assert.deepEqual([...new Set(receiver.versions)], versions);

    await cluster.node(0).kill();
    for (let index = 0; index < 5; index += 1) versions.push(await update(clients[1], at));
    await eventually(async () => receiver.versions.at(-1) === versions.at(-1));
    assert.deepEqual([...new Set(receiver.versions)], versions);
    const describe = async (): Promise<any> => ok(await clients[1].post('/v1/webhook/describe', { webhook_id: id }));
    await eventually(async () => (await describe()).delivered_events === 25);
    assert.equal((await describe()).state, 'active');
    await receiver.close();
  });
});
