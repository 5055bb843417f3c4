import { join } from 'node:path';
import { NO_OBJECT_STORES } from '../storage/object/test-stores.ts';
import { ClusterNode } from './cluster-node.ts';
import { startPostgres, withoutPostgres } from './postgres.ts';
import type { TestPostgres } from './postgres.ts';
import { S3Emulator } from './s3/s3-emulator.ts';
import { ADMIN_KEY } from './server.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** Why tests of clusters are skipped, or `false`. */
export const NO_CLUSTERS = withoutPostgres === false ? NO_OBJECT_STORES : withoutPostgres;

export interface ClusterOptions {
  /** Of the nodes' data; the caller removes it. */
  readonly folder: string;
  readonly nodes?: number;
  readonly leaseSeconds?: number;
  readonly adminKey?: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const ROOT = 's3://tables/root';
const NODE_SECRET = 'test-secret-of-all-nodes-of-a-cluster';

/** Nodes as their users run them on one PostgreSQL and one object store, with every connection in the hands of the test. */
export class Cluster {
  readonly nodes: readonly ClusterNode[];
  readonly postgres: TestPostgres;
  /** The address of the catalog, past the proxies of the nodes. */
  readonly catalogUrl: string;
  readonly store: S3Emulator;
  readonly root = ROOT;
  /** A plain TCP load balancer: connections go to each node in turn. */
  readonly balancer: TcpProxy;
  /** A further node in a folder of this name, with another storage root; not started yet, and closed by the test. */
  readonly openNode: (name: string, root: string) => Promise<ClusterNode>;

  private constructor(parts: Pick<Cluster, 'nodes' | 'postgres' | 'catalogUrl' | 'store' | 'balancer' | 'openNode'>) {
    this.nodes = parts.nodes;
    this.postgres = parts.postgres;
    this.catalogUrl = parts.catalogUrl;
    this.store = parts.store;
    this.balancer = parts.balancer;
    this.openNode = parts.openNode;
  }

  static async start(options: ClusterOptions): Promise<Cluster> {
    const { folder, nodes: count = 3, leaseSeconds = 2, adminKey = ADMIN_KEY, flags = [] } = options;
    const postgres = await startPostgres();
    const catalogUrl = await postgres.createDatabase();
    const store = await S3Emulator.start({ after: () => {} });
    const nodes: ClusterNode[] = [];
    const openNode = async (name: string, root: string): Promise<ClusterNode> =>
      ClusterNode.open({
        folder: join(folder, name),
        catalogUrl,
        storeUrl: store.url,
        flags: [`--storage-root=${root}`, ...flags],
        storageOptions: store.storageOptions,
        env: {
          TILTYARD_ADMIN_KEY: adminKey,
          TILTYARD_NODE_SECRET: NODE_SECRET,
          TILTYARD_NODE_LEASE_SECONDS: String(leaseSeconds),
          ...options.env,
        },
      });
    const start = async (): Promise<Cluster> => {
      for (let index = 0; index < count; index += 1) nodes.push(await openNode(`node${index}`, ROOT));
      const balancer = await TcpProxy.start(...nodes.map(({ port }) => port));
      for (const node of nodes) await node.start({ TILTYARD_AUTH_ISSUER_URL: `${balancer.url}/oauth` });
      return new Cluster({ nodes, postgres, catalogUrl, store, balancer, openNode });
    };
    return start().catch(async (error: unknown) => {
      await Promise.all(nodes.map(async (node) => node.close()));
      store.close();
      throw error;
    });
  }

  /** The node with this number. */
  node(index: number): ClusterNode {
    const node = this.nodes[index];
    if (node === undefined) throw new Error(`There is no node ${index}.`);
    return node;
  }

  /** Ends all nodes at once, the hard way. PostgreSQL ends with the process. */
  async close(): Promise<void> {
    this.balancer.close();
    await Promise.all(this.nodes.map(async (node) => node.close()));
    this.store.close();
  }
}
