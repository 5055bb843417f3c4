import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../../test/support/cluster.ts';
import { attempt } from '../../http.ts';
import type { HttpClient } from '../../http.ts';
import { intRows, requireOk } from '../../rows.ts';
import type { AnyNode } from './any-node.ts';
import { startAgain } from './node-faults.ts';
import { StatementCounter } from './statement-counter.ts';

export interface Rig {
  readonly cluster: Cluster;
  readonly nodes: AnyNode;
  readonly leaseMilliseconds: number;
}

export interface Gap {
  /** The longest time between two acknowledged writes to a table whose node ended. */
  readonly ownMilliseconds: number;
  /** The same for a table of another node. */
  readonly otherMilliseconds: number;
}

/** Writes to a table of a node that ends, and to one of a node that stays, through the remaining nodes. */
export async function measureGap(rig: Rig, how: 'kill' | 'drain', trial: number): Promise<Gap> {
  const { cluster, nodes, leaseMilliseconds } = rig;
  const ending = trial % cluster.nodes.length;
  const staying = (ending + 1) % cluster.nodes.length;
  const [own, other] = [`gap-${how}-${trial}-own`, `gap-${how}-${trial}-other`];
  await makeTable(rig, own, ending);
  await makeTable(rig, other, staying);
  const state = { isOver: false };
  const writes = [own, other].map(async (table) => longestGap(rig, { table, at: staying, state }));
  await sleep(500);
  const node = cluster.node(ending);
  if (how === 'kill') await node.kill();
  else await node.drain();
  await sleep(how === 'kill' ? 3 * leaseMilliseconds : 1000);
  state.isOver = true;
  const [ownMilliseconds = Infinity, otherMilliseconds = Infinity] = await Promise.all(writes);
  await startAgain(node);
  for (const table of [own, other]) await attempt(nodes.at(staying).post(`/v1/table/${table}/drop`, {}));
  return { ownMilliseconds, otherMilliseconds };
}

/** The first node to write to a table becomes its owner. */
async function makeTable({ nodes }: Rig, table: string, owner: number): Promise<void> {
  await requireOk(nodes.at(owner).arrow(`/v1/table/${table}/create`, intRows([{ id: 0 }])));
  await requireOk(nodes.at(owner).arrow(`/v1/table/${table}/insert`, intRows([{ id: 1 }])));
}

interface GapWrites {
  readonly table: string;
  readonly at: number;
  readonly state: { readonly isOver: boolean };
}

async function longestGap({ nodes }: Rig, { table, at, state }: GapWrites): Promise<number> {
  let longest = 0;
  let last = performance.now();
  for (let id = 2; ; id += 1) {
    const reply = await attempt(nodes.at(at).arrow(`/v1/table/${table}/insert`, intRows([{ id }])));
    const now = performance.now();
    longest = Math.max(longest, now - last);
    if (reply?.status === 200) last = now;
    if (state.isOver) return longest;
    await sleep(5);
  }
}

export interface Hop {
  readonly localMilliseconds: number;
  readonly forwardedMilliseconds: number;
}

/**
 * Sequential writes, alternating between the node that owns the table and another one. Those to the owner pass through
 * its proxy too, like forwarded ones, so that the hop is the only difference.
 */
export async function measureHop(rig: Rig, { count, owner }: { count: number; owner: HttpClient }): Promise<Hop> {
  await makeTable(rig, 'hop', 0);
  const times: Record<'local' | 'forwarded', number[]> = { local: [], forwarded: [] };
  for (let id = 2; id < 2 * count; id += 1) {
    const how = id % 2 === 0 ? 'local' : 'forwarded';
    const client = how === 'local' ? owner : rig.nodes.at(1);
    const updates = [['id', String(id)]];
    const reply = await client.post('/v1/table/hop/update', { updates, predicate: `id = ${id - 1}` });
    if (reply.status !== 200) throw new Error(`update: ${reply.status} ${reply.text}`);
    times[how].push(reply.milliseconds);
  }
  return { localMilliseconds: median(times.local), forwardedMilliseconds: median(times.forwarded) };
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** So few that most windows contain no catalog statements of the nodes' own work. */
const READS_PER_WINDOW = 10;

export interface WarmRead {
  /** Requests for anything other than data files, per read. */
  readonly metadataRequests: number;
  /** The median of short windows. */
  readonly statements: number;
}

/** The requests to the store and the catalog that a read of an unchanged table causes, on every node. */
export async function measureWarmRead({ cluster, nodes }: Rig, count: number): Promise<WarmRead> {
  const rows = Array.from({ length: 100 }, (_unused, id) => ({ id }));
  await requireOk(nodes.arrow('/v1/table/warm/create', intRows(rows)));
  const read = async (serial: number): Promise<void> =>
    requireOk(
      nodes
        .at(serial % cluster.nodes.length)
        .post('/v1/table/warm/query', { k: 10, filter: `id >= ${serial % 50}` }, { accept: 'application/json' }),
    );
  for (let serial = 0; serial < 30; serial += 1) await read(serial);
  await sleep(1000);
  const counter = StatementCounter.attach(cluster);
  const before = cluster.store.log.length;
  const statements: number[] = [];
  for (let serial = 0; serial < count; serial += READS_PER_WINDOW) {
    counter.count = 0;
    for (let each = 0; each < READS_PER_WINDOW; each += 1) await read(serial + each);
    statements.push(counter.count / READS_PER_WINDOW);
  }
  counter.detach(cluster);
  const metadata = cluster.store.log.slice(before).filter(({ path, query }) => !/\/data\//.test(path) || query !== '');
  return { metadataRequests: metadata.length / count, statements: median(statements) };
}
