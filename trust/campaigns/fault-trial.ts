import { setTimeout as sleep } from 'node:timers/promises';
import type { Faults } from '../../test/support/faults.ts';
import { attempt } from '../http.ts';
import type { Reply } from '../http.ts';
import type { TrustServer } from '../server.ts';
import { LOST_COMMIT, isAtMark, isKill, toRule } from './fault-points.ts';
import type { Fault, FaultPoint } from './fault-points.ts';
import type { Applied, FaultWrite } from './fault-write.ts';

export interface Rig {
  readonly server: TrustServer;
  readonly faults: Faults;
}

/** One write with one fault at one point. */
export interface Trial {
  readonly write: FaultWrite;
  readonly isKeyed: boolean;
  readonly point: FaultPoint;
  readonly fault: Fault;
  /** Which occurrence of the point: the n-th sync, the n-th commit. */
  readonly occurrence: number;
}

export interface FaultTally {
  injected: number;
  /** Tried kills at steps and lost replies. */
  essential: number;
  notReached: number;
  compared: number;
  acknowledged: number;
  unresolved: number;
  lost: number;
  swallowed: number;
  torn: number;
  doubledKeyed: number;
  doubledKeyless: number;
  doubledAtMark: number;
  /** Refused on the first attempt, but applied. */
  refusedAndApplied: number;
  /** Derived data that differs from its source even after it was brought up to date. */
  notFollowing: number;
  unexpected: number;
  /** The server did not restart, or a table could not be read. */
  unavailable: number;
  readonly blame: (kind: string, detail: string) => void;
}

type Outcome = 'done' | 'refused' | 'unknown';

/** The LanceDB client retries a request three times; with a key, a program continues until it gets a reply. */
const KEYLESS_TRIES = 4;
const KEYED_TRIES = 20;
const TRIES_BEFORE_RESTART = 4;
const PAUSE_MILLISECONDS = 50;

/** Returns whether the fault was injected. */
export async function runTrial(rig: Rig, trial: Trial, at: { table: string; tally: FaultTally }): Promise<boolean> {
  const { write, point, fault, occurrence } = trial;
  const { faults, server } = rig;
  const { table, tally } = at;
  await write.prepare(server.admin, table);
  const set = faults.set(toRule(point, fault, { table, skip: occurrence }));
  if (point.isAfterLostReply) faults.add(LOST_COMMIT);
  const outcomes = await sendAll(rig, trial, { table, tally, round: 0 });
  // What follows a response, such as its mark, may happen a moment later.
  if (set.acted() === 0) await sleep(PAUSE_MILLISECONDS);
  const isInjected = set.acted() > 0;
  faults.clear();
  if (isInjected) tally.injected += 1;
  else tally.notReached += 1;
  if (isInjected && needsNewWorker(trial, outcomes)) await replaceWorker(rig);
  const applied = await readApplied(rig, trial, table);
  for (const [member, times] of applied.entries()) {
    judge(trial, { ...at, member, times, outcome: outcomes[member] ?? 'unknown' });
  }
  if (write.isRepeatable && outcomes.every((outcome) => outcome === 'done'))
    await sendOnPurpose(rig, trial, at, applied);
  await compareDerived(rig, trial, at);
  await attempt(server.admin.post(`/v1/table/${table}/drop`, {}));
  return isInjected;
}

/**
 * A failed mark only shows after a restart, and a table may be read-only until then. For the others, every second time.
 */
function needsNewWorker({ fault, point, occurrence }: Trial, outcomes: readonly Outcome[]): boolean {
  if (isKill(fault)) return false;
  const isAlways = point.name === 'mark' || point.name === 'table sync' || outcomes.includes('unknown');
  return isAlways || occurrence % 2 === 0;
}

/** A worker that is already being replaced is left alone. */
export async function replaceWorker({ server }: Rig): Promise<void> {
  await server.killWorker().catch(() => undefined);
}

const READS_MAX = 3;

async function readApplied({ server }: Rig, { write }: Trial, table: string): Promise<readonly Applied[]> {
  return retried(async () => write.read(server.admin, table));
}

/** A kill after the response may break the connection of the read. */
async function retried<Value>(read: () => Promise<Value>): Promise<Value> {
  for (let reads = 1; ; reads += 1) {
    try {
      return await read();
    } catch (error) {
      if (reads === READS_MAX) throw error;
      await sleep(PAUSE_MILLISECONDS);
    }
  }
}

/** Sends the same body as new requests: each must be applied, not mistaken for the previous one. */
async function sendOnPurpose(
  rig: Rig,
  trial: Trial,
  at: { table: string; tally: FaultTally },
  before: readonly Applied[],
): Promise<void> {
  const { table, tally } = at;
  const outcomes = await sendAll(rig, trial, { ...at, round: 1 });
  const after = await readApplied(rig, trial, table);
  for (const [member, times] of after.entries()) {
    const was = before[member] ?? 0;
    if (outcomes[member] !== 'done' || was === 'torn' || times === 'torn') continue;
    tally.compared += 1;
    if (times > was) continue;
    tally.swallowed += 1;
    tally.blame('swallowed', `${describe(trial)}, member ${member}: applied ${was} times before, ${times} after`);
  }
}

async function compareDerived(
  { server }: Rig,
  trial: Trial,
  { table, tally }: { table: string; tally: FaultTally },
): Promise<void> {
  const follows = await retried(async () => trial.write.follows?.(server.admin, table));
  if (follows === undefined) return;
  tally.compared += 1;
  if (follows) return;
  tally.notFollowing += 1;
  tally.blame('derived data', `${describe(trial)}: differs from what it is derived from after another run`);
}

interface Sending {
  readonly table: string;
  readonly tally: FaultTally;
  readonly round: number;
}

async function sendAll(rig: Rig, trial: Trial, sending: Sending): Promise<readonly Outcome[]> {
  const members = Array.from({ length: trial.write.members }, (_unused, member) => member);
  return Promise.all(members.map(async (member) => sendUntilAnswered(rig, trial, { ...sending, member })));
}

async function sendUntilAnswered(
  rig: Rig,
  trial: Trial,
  { table, tally, round, member }: Sending & { readonly member: number },
): Promise<Outcome> {
  const { write, isKeyed } = trial;
  const headers = isKeyed ? { 'idempotency-key': `${table}-${member}-${round}` } : {};
  const triesMax = isKeyed ? KEYED_TRIES : KEYLESS_TRIES;
  for (let tries = 1; tries <= triesMax; tries += 1) {
    const reply = await attempt(write.send(rig.server.admin, table, member, headers));
    if (reply?.status === 200) {
      tally.acknowledged += 1;
      return 'done';
    }
    if (reply !== undefined && reply.status >= 400 && reply.status < 500) return refusedBy(reply, tries, trial, tally);
    // A table that is read-only after a failed sync needs a new process.
    if (isKeyed && tries % TRIES_BEFORE_RESTART === 0 && member === 0) await replaceWorker(rig);
    await sleep(PAUSE_MILLISECONDS);
  }
  tally.unresolved += 1;
  return 'unknown';
}

/** A second attempt may be refused because the first was applied: the column exists, the table is gone. */
function refusedBy(reply: Reply, tries: number, trial: Trial, tally: FaultTally): Outcome {
  if (tries > 1 && !trial.write.isRepeatable) return 'unknown';
  tally.unexpected += 1;
  tally.blame('unexpected answer', `${describe(trial)}, attempt ${tries}: ${reply.status} ${reply.text}`);
  return 'refused';
}

interface Judged {
  readonly tally: FaultTally;
  readonly member: number;
  readonly times: Applied;
  readonly outcome: Outcome;
}

function judge(trial: Trial, { tally, member, times, outcome }: Judged): void {
  tally.compared += 1;
  const kind = findFault(trial, times, outcome);
  if (kind === undefined) return;
  tally[kind] += 1;
  if (kind !== 'doubledAtMark') {
    tally.blame(kind, `${describe(trial)}, member ${member}: applied ${times} times, answered ${outcome}`);
  }
}

function findFault(trial: Trial, times: Applied, outcome: Outcome): keyof Omit<FaultTally, 'blame'> | undefined {
  if (times === 'torn') return 'torn';
  if (times === 0) return outcome === 'done' ? 'lost' : undefined;
  if (outcome === 'refused') return 'refusedAndApplied';
  if (times === 1) return undefined;
  if (trial.isKeyed) return 'doubledKeyed';
  return isAtMark(trial.point, trial.fault) ? 'doubledAtMark' : 'doubledKeyless';
}

export function describe({ write, isKeyed, point, fault, occurrence }: Trial): string {
  const what = [fault.action, ...(fault.error === undefined ? [] : [fault.error])].join(' ');
  return `${write.name} ${isKeyed ? 'with' : 'without'} a key, ${what} at ${point.name} number ${occurrence + 1}`;
}
