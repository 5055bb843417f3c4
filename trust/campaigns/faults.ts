import { seededRandom } from '../../test/support/arrow-fixtures.ts';
import { Faults } from '../../test/support/faults.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, none, onQuietMachine, info } from '../campaign.ts';
import { bundleFaultServer } from '../fault-bundle.ts';
import { FAULT_POINTS, isEssential, isKill, pickOccurrences, toCounter } from './fault-points.ts';
import type { FaultPoint } from './fault-points.ts';
import { describe, replaceWorker, runTrial } from './fault-trial.ts';
import type { FaultTally, Rig, Trial } from './fault-trial.ts';
import { CHUNK_BYTES, FAULT_WRITES } from './fault-writes.ts';
import type { FaultWrite } from './fault-write.ts';

const SERVERS = 2;
const FULL_SECONDS = 480;
const SHORT_SECONDS = 35;

/** Interrupts every kind of write at every point, then compares the replies with the stored data. */
export const faults: Campaign = {
  name: 'faults',
  promise: 'a write is applied exactly once and whole, wherever it is interrupted',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const program = await bundleFaultServer();
    const first = await startRig(trust, program);
    const rigs = [first];
    while (rigs.length < SERVERS) rigs.push(await startRig(trust, program));
    if (!first.faults.hasLibrary) trust.report('no C compiler: only pipeline steps and syncs of the server are tried');
    const plan = await makePlan(first, trust);
    const wanted = trust.size(1000, 60);
    const tally = newTally(trust);
    const counts = new Map<string, number>();
    const endAt = performance.now() + trust.size(FULL_SECONDS, SHORT_SECONDS) * 1000;
    const queue = plan.slice(0, wanted).values();
    await Promise.all(
      rigs.map(async (rig, index) => runQueue(rig, queue, { trust, tally, counts, endAt, index, wanted })),
    );
    for (const { faults: set } of rigs) await set.close();
    const essential = plan.filter(isFirst).length;
    return toFigures(tally, counts, { planned: plan.length, essential, wanted: trust.size(300, 20) });
  },
};

async function startRig(trust: Trust, program: string): Promise<Rig> {
  const set = Faults.open();
  const server = await trust.startServer([`--arrow-chunk-bytes=${CHUNK_BYTES}`, '--log-level=info'], set.env, program);
  return { server, faults: set };
}

/** Runs each write once without a fault, to see which points it reaches and how often. */
async function makePlan(rig: Rig, trust: Trust): Promise<readonly Trial[]> {
  const all: Trial[] = [];
  for (const [index, write] of FAULT_WRITES.entries()) {
    const table = `probe${index}`;
    await write.prepare(rig.server.admin, table);
    rig.faults.clear();
    const counters = FAULT_POINTS.map((point) => rig.faults.add(toCounter(point, table)));
    const members = Array.from({ length: write.members }, (_unused, member) => member);
    const replies = await Promise.all(members.map(async (each) => write.send(rig.server.admin, table, each, {})));
    for (const { status, text } of replies) if (status !== 200) throw new Error(`${write.name}: ${status} ${text}`);
    const applied = await write.read(rig.server.admin, table);
    if (applied.some((times) => times !== 1)) throw new Error(`${write.name}: applied ${applied.join(' ')} times`);
    const reached = FAULT_POINTS.map((_point, at) => counters[at]?.matched() ?? 0);
    const commits = reached[FAULT_POINTS.findIndex(({ name }) => name === 'engine commit')] ?? 0;
    const occurs = (point: FaultPoint, at: number): number =>
      point.isAfterLostReply ? Math.min(commits, 1) : (reached[at] ?? 0);
    all.push(...FAULT_POINTS.flatMap((point, at) => toTrials(write, point, occurs(point, at))));
  }
  rig.faults.clear();
  const random = seededRandom(trust.seed);
  if (trust.isShort) return inTurn(all, random);
  return [
    ...inTurn(all.filter(isFirst), random),
    ...inTurn(
      all.filter((trial) => !isFirst(trial)),
      random,
    ),
  ];
}

function isFirst({ point, fault, occurrence }: Trial): boolean {
  return isEssential(point, fault, occurrence);
}

function toTrials(write: FaultWrite, point: FaultPoint, reached: number): readonly Trial[] {
  return pickOccurrences(reached).flatMap((occurrence) =>
    point.faults.flatMap((fault) => [false, true].map((isKeyed) => ({ write, isKeyed, point, fault, occurrence }))),
  );
}

/** One trial of each point and fault, then another of each, so that a run that ends early has tried all of them. */
function inTurn(all: readonly Trial[], random: (below: number) => number): readonly Trial[] {
  const groups = new Map<string, Trial[]>();
  for (const trial of shuffle(all, random)) {
    const key = `${trial.point.name} ${trial.fault.action} ${trial.fault.error ?? ''}`;
    groups.set(key, [...(groups.get(key) ?? []), trial]);
  }
  const ordered: Trial[] = [];
  const lists = [...groups.values()];
  for (let round = 0; ordered.length < all.length; round += 1) {
    for (const list of lists) ordered.push(...list.slice(round, round + 1));
  }
  return ordered;
}

function shuffle(all: readonly Trial[], random: (below: number) => number): readonly Trial[] {
  const shuffled = [...all];
  for (let at = shuffled.length - 1; at > 0; at -= 1) {
    const other = random(at + 1);
    [shuffled[at], shuffled[other]] = [shuffled[other] as Trial, shuffled[at] as Trial];
  }
  return shuffled;
}

interface Running {
  readonly trust: Trust;
  readonly tally: FaultTally;
  readonly counts: Map<string, number>;
  readonly endAt: number;
  readonly index: number;
  readonly wanted: number;
}

async function runQueue(rig: Rig, queue: IterableIterator<Trial>, running: Running): Promise<void> {
  const { trust, tally, counts, endAt, index, wanted } = running;
  let serial = 0;
  for (const trial of queue) {
    const table = `trial${index}x${serial}`;
    serial += 1;
    if (isFirst(trial)) tally.essential += 1;
    if (await tryTrial(rig, trial, { table, tally })) counts.set(nameOf(trial), (counts.get(nameOf(trial)) ?? 0) + 1);
    trust.progress(tally.injected, wanted);
    if (performance.now() > endAt) return;
  }
}

async function tryTrial(rig: Rig, trial: Trial, at: { table: string; tally: FaultTally }): Promise<boolean> {
  try {
    return await runTrial(rig, trial, at);
  } catch (error) {
    at.tally.unavailable += 1;
    at.tally.blame(`unavailable after ${trial.write.name}`, `${describe(trial)}: ${String(error)}`);
    rig.faults.clear();
    await replaceWorker(rig);
    return false;
  }
}

function nameOf({ fault, point }: Trial): string {
  const what = isKill(fault) ? fault.action : `${fault.action} ${fault.error ?? ''}`;
  return `${what} at ${point.name}`;
}

function newTally(trust: Trust): FaultTally {
  const counts = {
    injected: 0,
    essential: 0,
    notReached: 0,
    compared: 0,
    acknowledged: 0,
    unresolved: 0,
    lost: 0,
    swallowed: 0,
  };
  const doubled = { torn: 0, doubledKeyed: 0, doubledKeyless: 0, doubledAtMark: 0, refusedAndApplied: 0 };
  return {
    ...counts,
    ...doubled,
    notFollowing: 0,
    unexpected: 0,
    unavailable: 0,
    blame: (kind, detail) => trust.blame(kind, detail),
  };
}

function toFigures(
  tally: FaultTally,
  counts: ReadonlyMap<string, number>,
  { planned, essential, wanted }: { planned: number; essential: number; wanted: number },
): readonly Figure[] {
  return [
    onQuietMachine(atLeast('faults injected', tally.injected, wanted)),
    info('faults possible', planned),
    info('of them kills at steps and lost replies', essential),
    info('kills at steps and lost replies tried', tally.essential),
    info('faults that were not reached', tally.notReached),
    info('acknowledged writes', tally.acknowledged),
    info('writes without a final answer', tally.unresolved),
    info('facts compared', tally.compared),
    none('lost', tally.lost),
    none('swallowed', tally.swallowed),
    none('torn', tally.torn),
    none('doubled, with a key', tally.doubledKeyed),
    none('doubled, without a key', tally.doubledKeyless),
    info('doubled by a kill between mark and first byte', tally.doubledAtMark),
    none('refused and applied', tally.refusedAndApplied),
    none('derived data unlike its source', tally.notFollowing),
    none('unexpected answers', tally.unexpected),
    none('server or table not available afterwards', tally.unavailable),
    ...[...counts].toSorted().map(([name, count]) => info(name, count)),
  ];
}
