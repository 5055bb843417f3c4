import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from './cluster.ts';
import { requireTestConfig, startServer } from './server.ts';
import type { TestServerOptions, TestService } from './server.ts';

/** Three nodes behind a plain TCP load balancer with `TILTYARD_TEST_STORE=nodes`, else one process. */
export async function startService(options: TestServerOptions = {}): Promise<TestService> {
  return process.env['TILTYARD_TEST_STORE'] === 'nodes' ? startNodes(options) : startServer(options);
}

async function startNodes({ flags = [], env }: TestServerOptions): Promise<TestService> {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-nodes-'));
  // No node is killed here: rare heartbeats will do.
  const cluster = await Cluster.start({ folder, flags, leaseSeconds: 10, ...(env && { env }) });
  const { catalogUrl, store, balancer } = cluster;
  const storage = [`--storage-root=${cluster.root}`, `--storage-options=${JSON.stringify(store.storageOptions)}`];
  return {
    url: balancer.url,
    folder,
    config: requireTestConfig(folder, {
      flags: [...flags, ...storage],
      env: { ...env, TILTYARD_CATALOG_URL: catalogUrl },
    }),
    async close() {
      await cluster.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
