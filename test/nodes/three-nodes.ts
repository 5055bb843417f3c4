import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '../support/client.ts';
import { Cluster } from '../support/cluster.ts';

export interface ThreeNodes {
  readonly cluster: Cluster;
  /** Of each node. */
  readonly clients: readonly [Client, Client, Client];
  readonly close: () => Promise<void>;
}

export async function startThreeNodes(...flags: readonly string[]): Promise<ThreeNodes> {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-nodes-'));
  const cluster = await Cluster.start({ folder, flags: ['--maintenance-running-max=0', ...flags] });
  const [a, b, c] = cluster.nodes.map(({ url }) => new Client(url));
  assert.ok(a !== undefined && b !== undefined && c !== undefined);
  const close = async (): Promise<void> => {
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { cluster, clients: [a, b, c], close };
}
