import { mkdir, writeFile } from 'node:fs/promises';
import { seededRandom } from '../../test/support/arrow-fixtures.ts';
import { Cluster } from '../../test/support/cluster.ts';
import { withoutPostgres } from '../../test/support/postgres.ts';
import { NO_OBJECT_STORES } from '../../test/storage/object/test-stores.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, atMost, info, none, onQuietMachine } from '../campaign.ts';
import { HttpClient } from '../http.ts';
import { SEEDED_BUGS } from '../model/seeded-bugs.ts';
import { TRUST_KEY } from '../server.ts';
import { checkHistories } from './linear.ts';
import { AnyNode } from './nodes/any-node.ts';
import { measureGap, measureHop, measureWarmRead } from './nodes/availability.ts';
import type { Rig } from './nodes/availability.ts';
import type { NodesTally } from './nodes/exchange.ts';
import { FaultLanes } from './nodes/fault-lanes.ts';
import { measureSharedCommits } from './nodes/shared-commits.ts';
import { runUnderFaults } from './nodes/under-faults.ts';
import { raceForNames } from './races.ts';

const NODES = 3;
const CONTENDERS = 9;
/** Clients that insert into one table at the same time. */
const CLIENTS = 16;
/** The share of the time for faults; the rest is for the final comparison. */
const TIME_SHARE = 0.9;

/** Three nodes on PostgreSQL and an object store, while each of these, and every connection between them, fails. */
export const nodes: Campaign = {
  name: 'nodes',
  promise: 'any node serves any request, and no fault of one loses, doubles or hides an acknowledged write',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const reason = withoutPostgres === false ? NO_OBJECT_STORES : withoutPostgres;
    if (reason !== false) return [info('skipped', reason)];
    const leaseSeconds = trust.isShort ? 2 : 5;
    const endAt = performance.now() + TIME_SHARE * trust.minutesMax * 60_000;
    const cluster = await Cluster.start({
      folder: trust.folder,
      nodes: NODES,
      leaseSeconds,
      adminKey: TRUST_KEY,
      // This campaign has no external writers, and a poll for their commits would count as a request of a warm read.
      flags: ['--storage-poll-seconds=3600'],
    });
    const random = seededRandom(trust.seed);
    const urls = [...cluster.nodes.map(({ url }) => url), cluster.balancer.url];
    const client = new AnyNode(urls, { scanner: trust.scanner, key: TRUST_KEY, random });
    const rig: Rig = { cluster, nodes: client, leaseMilliseconds: leaseSeconds * 1000 };
    try {
      return [
        ...(await measure(trust, rig)),
        ...(await race(trust, client)),
        ...(await checkOrder(trust, client)),
        ...(await fail(trust, rig, { random, endAt })),
      ];
    } finally {
      for (const [index, { log }] of cluster.nodes.entries()) {
        const lines = log.map((line) => JSON.stringify(line));
        for (const line of lines) trust.scanner.scanLog(line);
        await mkdir('trust/results', { recursive: true });
        await writeFile(`trust/results/node-${index}.log`, `${lines.join('\n')}\n`);
      }
      client.close();
      await cluster.close();
    }
  },
};

async function measure(trust: Trust, rig: Rig): Promise<readonly Figure[]> {
  const trials = trust.size(6, 1);
  const warm = await measureWarmRead(rig, trust.size(300, 60));
  const owner = new HttpClient(rig.cluster.node(0).fromPeers.url, trust.scanner, { 'x-api-key': TRUST_KEY });
  const hop = await measureHop(rig, { count: trust.size(200, 30), owner });
  owner.close();
  const inserts = await measureSharedCommits(rig, { clients: CLIENTS, inserts: trust.size(40, 5) });
  const gaps = { kill: [0], drain: [0], others: [0] };
  for (let trial = 0; trial < trials; trial += 1) {
    for (const how of ['drain', 'kill'] as const) {
      const { ownMilliseconds, otherMilliseconds } = await measureGap(rig, how, trial);
      gaps[how].push(ownMilliseconds);
      gaps.others.push(otherMilliseconds);
      trust.report(`${how}: ${Math.round(ownMilliseconds)} ms, other table ${Math.round(otherMilliseconds)} ms`);
    }
  }
  const seconds = (values: readonly number[]): number => Math.max(...values) / 1000;
  const lease = rig.leaseMilliseconds / 1000;
  return [
    info('nodes', rig.cluster.nodes.length),
    info('lease', lease, 's'),
    onQuietMachine(atMost('longest time a table was unwritable after a kill', seconds(gaps.kill), 2 * lease, 's')),
    onQuietMachine(atMost('longest time a table was unwritable on drain', seconds(gaps.drain), 0.5, 's')),
    onQuietMachine(atMost('longest time without a write to a table of another node', seconds(gaps.others), 0.5, 's')),
    info('local write, p50', hop.localMilliseconds, 'ms'),
    info('forwarded write, p50', hop.forwardedMilliseconds, 'ms'),
    onQuietMachine(atMost('forwarding adds, p50', hop.forwardedMilliseconds - hop.localMilliseconds, 5, 'ms')),
    info('inserts per second of one client, store with 20 ms latency', inserts.onePerSecond),
    info(`inserts per second of ${CLIENTS} clients into one table`, inserts.manyPerSecond),
    onQuietMachine(
      atLeast(`inserts of ${CLIENTS} clients against one`, inserts.manyPerSecond / inserts.onePerSecond, 7, '×'),
    ),
    none('metadata requests to the store, per warm read', warm.metadataRequests),
    atMost('catalog queries, per warm read', warm.statements, 1),
  ];
}

async function race(trust: Trust, client: AnyNode): Promise<readonly Figure[]> {
  const names = trust.size(500, 10);
  const seen = await raceForNames(trust, client.patient(), { names, contenders: CONTENDERS });
  return [
    info(`names that ${CONTENDERS} clients created at once`, names),
    none('names without exactly one winner', seen.wrong),
    none('answers other than 200 and 409', seen.unexpected),
    none('tables with other rows than their winner sent', seen.foreignRows),
  ];
}

async function checkOrder(trust: Trust, client: AnyNode): Promise<readonly Figure[]> {
  const count = trust.size(100, 4);
  const seen = await checkHistories(trust, client.patient(), { count, actions: trust.isShort ? 100 : 300 });
  return [
    atLeast('histories of reads and writes on any node', seen.recorded, count),
    info('actions in all', seen.actions),
    none('violations of linearizability', seen.violations),
    atLeast('kinds of seeded bugs', Object.keys(SEEDED_BUGS).length, 10),
    none('seeded bugs that the checker missed', seen.missed),
  ];
}

async function fail(
  trust: Trust,
  { cluster, nodes: client, leaseMilliseconds }: Rig,
  { random, endAt }: { readonly random: (below: number) => number; readonly endAt: number },
): Promise<readonly Figure[]> {
  const wanted = { faults: trust.size(300, 14), writes: trust.size(30_000, 500) };
  const lanes = new FaultLanes({ cluster, leaseMilliseconds, random }, (line) => trust.report(line));
  const tally = newTally((kind, detail) => {
    trust.blame(kind, `${detail} [${new Date().toISOString()}; ${lanes.describeRecent()}]`);
  });
  const { watched } = await runUnderFaults({ trust, nodes: client, lanes, tally, wanted, endAt });
  return [
    atLeast('faults', lanes.total, wanted.faults),
    atLeast('acknowledged writes', tally.acknowledged, wanted.writes),
    info('attempts answered with 5xx or not at all', tally.unknown),
    info('reads on another node right after an acknowledgement', tally.readsAfter),
    info('reads of all counters, one after another on different nodes', watched),
    info('facts compared at the end', tally.checked),
    info('longest time until a write with a key was acknowledged', tally.longestKeyedMilliseconds / 1000, 's'),
    info('updates without a key that were answered as one before them', tally.replayed),
    atLeast('uploads in parts through any node', tally.uploads, 1),
    info('uploads that were refused as gone with a node', tally.uploadsGone),
    none('lost', tally.lost),
    none('torn', tally.torn),
    none('stale reads after an acknowledgement', tally.stale),
    none('reads that went backward', tally.backward),
    none('doubled', tally.doubled),
    none('refused and applied', tally.refusedAndApplied),
    none('writes with a key that were never acknowledged', tally.unresolved),
    none('unexpected answers', tally.unexpected),
    none('nodes that were not ready again', lanes.notReady),
    info('faults that could not be injected', lanes.failed),
    ...[...lanes.counts].toSorted().map(([name, count]) => info(name, count)),
  ];
}

function newTally(blame: NodesTally['blame']): NodesTally {
  const counts = { acknowledged: 0, unknown: 0, refused: 0, readsAfter: 0, checked: 0, lost: 0, doubled: 0, torn: 0 };
  const reads = {
    refusedAndApplied: 0,
    stale: 0,
    backward: 0,
    unexpected: 0,
    unresolved: 0,
    replayed: 0,
    longestKeyedMilliseconds: 0,
  };
  const uploads = { uploads: 0, uploadsGone: 0 };
  return { ...counts, ...reads, ...uploads, blame };
}
