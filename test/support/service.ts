import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../src/config/config.ts';
import { Client } from './client.ts';
import { Cluster } from './cluster.ts';
import { requireTestConfig, startServer } from './server.ts';
import type { TestServerOptions, TestService } from './server.ts';
import { closeAtEnd } from './shared.ts';

/** Three nodes behind a plain TCP load balancer with `TILTYARD_TEST_STORE=nodes`, else one process. */
export async function startService(options: TestServerOptions = {}): Promise<TestService> {
  return process.env['TILTYARD_TEST_STORE'] === 'nodes' ? startNodes(options) : startServer(options);
}

/** Of tests that set nothing, one after the other: what starts three nodes takes longer than most tests. */
let shared: Promise<Nodes> | undefined;

closeAtEnd(async () => {
  const closed = await shared;
  shared = undefined;
  await closed?.close();
});

async function startNodes(options: TestServerOptions): Promise<TestService> {
  if (options.flags !== undefined || options.env !== undefined) return Nodes.start(options);
  shared ??= Nodes.start(options);
  const nodes = await shared;
  return { url: nodes.url, folder: nodes.folder, config: nodes.config, close: async () => dropAll(nodes.url) };
}

class Nodes implements TestService {
  readonly url: string;
  readonly folder: string;
  readonly config: Config;
  readonly #cluster: Cluster;

  private constructor(cluster: Cluster, folder: string, config: Config) {
    this.#cluster = cluster;
    this.url = cluster.balancer.url;
    this.folder = folder;
    this.config = config;
  }

  static async start({ flags = [], env }: TestServerOptions): Promise<Nodes> {
    const folder = await mkdtemp(join(tmpdir(), 'tiltyard-nodes-'));
    // No node is killed here: rare heartbeats will do.
    const cluster = await Cluster.start({ folder, flags, leaseSeconds: 10, ...(env && { env }) });
    const { catalogUrl, store, root } = cluster;
    const storage = [`--storage-root=${root}`, `--storage-options=${JSON.stringify(store.storageOptions)}`];
    const config = requireTestConfig(folder, {
      flags: [...flags, ...storage],
      env: { ...env, TILTYARD_CATALOG_URL: catalogUrl },
    });
    return new Nodes(cluster, folder, config);
  }

  async close(): Promise<void> {
    await this.#cluster.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function dropAll(url: string): Promise<void> {
  const admin = new Client(url);
  const { tables } = (await admin.get('/v1/namespace/$/table/list')).json;
  for (const table of tables) assert.equal((await admin.post(`/v1/table/${table}/drop`, {})).status, 200);
  const { namespaces } = (await admin.get('/v1/namespace/$/list')).json;
  for (const name of namespaces) {
    assert.equal((await admin.post(`/v1/namespace/${name}/drop`, { behavior: 'cascade' })).status, 200);
  }
}
