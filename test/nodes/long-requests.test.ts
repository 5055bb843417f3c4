import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sampleStream } from '../support/arrow-tables.ts';
import { Client, ok } from '../support/client.ts';
import { Cluster, NO_CLUSTERS } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { ShownMetrics } from '../support/metrics.ts';
import { ADMIN_KEY } from '../support/server.ts';
import { uploadSlowly } from '../support/slow-upload.ts';

const LEASE_SECONDS = 2;
const IDLE_SECONDS = 10;

suite('requests that take long, on two nodes', { skip: NO_CLUSTERS }, () => {
  let folder: string;
  let cluster: Cluster;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tiltyard-long-'));
    const flags = ['--maintenance-running-max=0', `--http-body-idle-seconds=${IDLE_SECONDS}`];
    cluster = await Cluster.start({ folder, nodes: 2, leaseSeconds: LEASE_SECONDS, flags });
  });
  after(async () => {
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  });

  const client = (index: number): Client => new Client(cluster.node(index).url);

  /** Owned by the first node. */
  async function createOwned(name: string): Promise<string> {
    const table = `/v1/table/${name}`;
    ok(await client(0).arrow(`${table}/create`, sampleStream(10)));
    ok(await client(0).arrow(`${table}/insert`, sampleStream(1)));
    return table;
  }

  test('a forwarded drop is reported as done, also when removing its data takes longer than a lease', async () => {
    const table = await createOwned('dropped');
    const held = cluster.store.faults.hold({ method: 'POST', path: /^tables/ });
    const dropped = client(1).post(`${table}/drop`, {});
    await held.reached;
    await Promise.race([dropped, sleep(3 * LEASE_SECONDS * 1000)]);
    held.release();
    ok(await dropped);
  });

  test('a forwarded upload whose sender stalls is refused as at the owner: nothing was changed', async () => {
    const table = await createOwned('stalled');
    for (const index of [0, 1]) {
      const upload = uploadSlowly(`${cluster.node(index).url}${table}/insert`, sampleStream(3));
      const reply = await upload.reply;
      assert.equal(reply.status, 408, await reply.text());
    }
    assert.equal(ok(await client(1).post(`${table}/count_rows`, {})), 11);
  });

  test('an upload that is arriving when its node shuts down is taken in, while other tables go to other nodes', async () => {
    const table = await createOwned('arriving');
    const other = await createOwned('leaving');
    const upload = uploadSlowly(`${cluster.node(0).url}${table}/insert`, sampleStream(3));
    await eventually(async () => {
      const metrics = await ShownMetrics.read(cluster.node(0).url, ADMIN_KEY);
      return metrics.value('tiltyard_admission_running', { work: 'ingest' }) === 1;
    });
    const drained = cluster.node(0).drain();
    await eventually(async () => (await client(1).arrow(`${other}/insert`, sampleStream(1))).status === 200);
    upload.finish();
    const reply = await upload.reply;
    assert.equal(reply.status, 200, await reply.text());
    ok(await client(1).arrow(`${table}/insert`, sampleStream(1)));
    assert.equal(ok(await client(1).post(`${table}/count_rows`, {})), 15);
    assert.equal(await drained, 0);
    await cluster.node(0).start();
  });
});
