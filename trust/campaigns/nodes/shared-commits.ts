import { intRows, requireOk } from '../../rows.ts';
import type { Rig } from './availability.ts';

/** The latency of a store in the same region. */
const LATENCY_MILLISECONDS = 20;

export interface SharedCommits {
  readonly onePerSecond: number;
  readonly manyPerSecond: number;
}

/** Inserts into one table through all nodes, from one client and from many at once, which share commits. */
export async function measureSharedCommits(
  { cluster, nodes }: Rig,
  { clients, inserts }: { readonly clients: number; readonly inserts: number },
): Promise<SharedCommits> {
  await requireOk(nodes.at(0).arrow('/v1/table/shared/create', intRows([{ id: 0 }])));
  cluster.store.latencyMilliseconds = LATENCY_MILLISECONDS;
  try {
    const measure = async (count: number): Promise<number> => {
      const startedAt = performance.now();
      const workers = Array.from({ length: count }, async (_unused, worker) => {
        const node = nodes.at(worker % cluster.nodes.length);
        for (let id = 1; id <= inserts; id += 1) {
          await requireOk(node.arrow('/v1/table/shared/insert', intRows([{ id }])));
        }
      });
      await Promise.all(workers);
      return (count * inserts) / ((performance.now() - startedAt) / 1000);
    };
    await measure(1);
    return { onePerSecond: await measure(1), manyPerSecond: await measure(clients) };
  } finally {
    cluster.store.latencyMilliseconds = 0;
  }
}
