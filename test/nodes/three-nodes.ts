import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NO_OBJECT_STORES } from '../storage/object/test-stores.ts';
import { Client } from '../support/client.ts';
import type { Answer } from '../support/client.ts';
import { Cluster } from '../support/cluster.ts';
import { withoutPostgres } from '../support/postgres.ts';

/** Why tests of clusters are skipped, or `false`. */
export const NO_CLUSTERS = withoutPostgres === false ? NO_OBJECT_STORES : withoutPostgres;

/** The body of a success. */
export function ok({ status, text, json }: Answer, expected = 200): any {
  assert.equal(status, expected, text);
  return json;
}

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
