import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../../test/support/cluster.ts';
import type { ClusterNode } from '../../../test/support/cluster-node.ts';
import type { FaultKind } from '../../../test/support/s3/store-faults.ts';

export interface FaultContext {
  readonly cluster: Cluster;
  readonly leaseMilliseconds: number;
  readonly random: (below: number) => number;
}

export interface Fault {
  readonly name: string;
  /** Resolves when the fault is over. */
  readonly run: (context: FaultContext, node: ClusterNode) => Promise<void>;
}

/** Waits for longer than the lease, so that another node takes over. */
async function pastLease({ leaseMilliseconds, random }: FaultContext): Promise<void> {
  await sleep(leaseMilliseconds * 1.2 + random(leaseMilliseconds * 0.6));
}

async function withinLease({ leaseMilliseconds, random }: FaultContext): Promise<void> {
  await sleep(random(leaseMilliseconds * 0.6));
}

/** Some restarts happen before the lease has ended, others after a takeover. */
async function restart(context: FaultContext, node: ClusterNode): Promise<void> {
  if (context.random(2) === 0) await pastLease(context);
  else await withinLease(context);
  await startAgain(node);
}

const STARTS_MAX = 5;

/** Retries, because PostgreSQL may be unavailable at this moment. */
export async function startAgain(node: ClusterNode): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await node.start();
      return;
    } catch (error) {
      await node.kill();
      if (tries >= STARTS_MAX) throw error;
    }
  }
}

type Path = 'toCatalog' | 'toStore' | 'fromPeers';

function partition(name: string, paths: readonly Path[], how: 'pause' | 'cut'): Fault {
  return {
    name: `${name}, ${how === 'pause' ? 'nothing passes' : 'connections closed'}`,
    async run(context, node) {
      for (const path of paths) node[path][how]();
      if (context.random(4) === 0) await withinLease(context);
      else await pastLease(context);
      for (const path of paths) node[path].resume();
    },
  };
}

/** Sequential, and most of them for one node. */
export const NODE_FAULTS: readonly Fault[] = [
  {
    name: 'node killed',
    async run(context, node) {
      await node.kill();
      await restart(context, node);
    },
  },
  {
    name: 'node paused past its lease',
    async run(context, node) {
      node.pause();
      await pastLease(context);
      node.resume();
    },
  },
  partition('cut off from PostgreSQL', ['toCatalog'], 'pause'),
  partition('cut off from the store', ['toStore'], 'pause'),
  {
    name: 'PostgreSQL restarted',
    run: async ({ cluster }) => cluster.postgres.restart(),
  },
  {
    name: 'worker killed',
    run: async (_context, node) => node.killWorker(),
  },
  {
    // Requests in flight to the store arrive after the takeover.
    name: 'node paused past its lease, its requests to the store delivered afterwards',
    async run(context, node) {
      node.toStore.pause();
      await sleep(50 + context.random(150));
      node.pause();
      await pastLease(context);
      node.toStore.resume();
      await sleep(context.random(200));
      node.resume();
    },
  },
  partition('not reached by its peers', ['fromPeers'], 'pause'),
  partition('cut off from PostgreSQL', ['toCatalog'], 'cut'),
  partition('not reached by its peers', ['fromPeers'], 'cut'),
  partition('cut off from the store', ['toStore'], 'cut'),
  {
    name: 'node drained and started again',
    async run(_context, node) {
      await node.drain();
      await startAgain(node);
    },
  },
  partition('cut off from everything', ['toCatalog', 'toStore', 'fromPeers'], 'pause'),
  {
    name: 'all nodes killed at once',
    async run(context) {
      await Promise.all(context.cluster.nodes.map(async (each) => each.kill()));
      await Promise.all(context.cluster.nodes.map(async (each) => startAgain(each)));
    },
  },
  {
    name: 'two nodes paused past their leases',
    async run(context, node) {
      const other = context.cluster.nodes.find((each) => each !== node) ?? node;
      const both = [node, other];
      for (const each of both) each.pause();
      await pastLease(context);
      for (const each of both) each.resume();
    },
  },
  {
    name: 'node paused within its lease',
    async run(context, node) {
      node.pause();
      await withinLease(context);
      node.resume();
    },
  },
];

const MANIFEST = /_versions\/.*manifest/;
const ANY_FILE = /root/;

function storeFault(name: string, kind: FaultKind, times: number, match: { method?: string; path: RegExp }): Fault {
  return {
    name,
    async run({ cluster, random }) {
      cluster.store.faults.add(kind, match, 1 + random(times));
      const endAt = performance.now() + 1000;
      while (cluster.store.faults.left > 0 && performance.now() < endAt) await sleep(20);
      cluster.store.faults.clear();
    },
  };
}

/** Apply to the next request to the store, from any node. */
export const STORE_FAULTS: readonly Fault[] = [
  storeFault('reply to a manifest PUT lost', 'reset-after', 2, { method: 'PUT', path: MANIFEST }),
  storeFault('manifest PUT stored, 500 answered', 'error-after', 2, { method: 'PUT', path: MANIFEST }),
  {
    name: 'manifest PUT delayed',
    async run({ cluster, leaseMilliseconds, random }) {
      const held = cluster.store.faults.hold({ method: 'PUT', path: MANIFEST });
      await Promise.race([held.reached, sleep(2000)]);
      await sleep(random(leaseMilliseconds * 1.5));
      held.release();
    },
  },
  storeFault('store answers 500', 'error-before', 10, { path: ANY_FILE }),
  storeFault('reply to a PUT lost', 'reset-after', 3, { method: 'PUT', path: ANY_FILE }),
  storeFault('connections of the store reset', 'reset-before', 10, { path: ANY_FILE }),
  storeFault('replies of the store lost', 'error-after', 5, { path: ANY_FILE }),
];
