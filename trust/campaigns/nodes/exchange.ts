import { setTimeout as sleep } from 'node:timers/promises';
import { ARROW_STREAM, attempt } from '../../http.ts';
import type { HttpClient, Reply } from '../../http.ts';
import type { Known } from '../../model/known.ts';
import type { AnyNode } from './any-node.ts';

/** Violations and counts, by kind. */
export interface NodesTally {
  acknowledged: number;
  /** Attempts that got a 5xx, or no reply. */
  unknown: number;
  refused: number;
  /** Reads on another node right after an acknowledgement. */
  readsAfter: number;
  /** Facts compared at the end of a round. */
  checked: number;
  lost: number;
  doubled: number;
  torn: number;
  /** Got a status below 500, but was applied. */
  refusedAndApplied: number;
  stale: number;
  backward: number;
  unexpected: number;
  /** Writes with a key that never got a final reply. */
  unresolved: number;
  replayed: number;
  /** Uploads in parts: completed, or given up because a node had forgotten them. */
  uploads: number;
  uploadsGone: number;
  longestKeyedMilliseconds: number;
  readonly blame: (kind: string, detail: string) => void;
}

export type Outcome = 'done' | 'unknown' | 'refused';

export interface WriterContext {
  readonly nodes: AnyNode;
  /** The prefix of all names in the round. */
  readonly round: string;
  readonly tally: NodesTally;
}

/**
 * One kind of write. After an unknown outcome its target is not written again, because a late execution would look like
 * a loss.
 */
export interface Writer {
  readonly name: string;
  prepare?(): Promise<void>;
  step(serial: number): Promise<void>;
  /** Compares the stored data with the replies, after all faults are over. */
  check(): Promise<void>;
}

export interface WriteRequest {
  readonly path: string;
  readonly body: object | Uint8Array;
  /** Sent with every attempt until there is a final reply. */
  readonly key?: string;
  /** Which statuses below 500 are correct here. */
  readonly refusals?: (reply: Reply) => boolean;
  /** A step without an effect of its own, which does not count as a write. */
  readonly isStep?: true;
}

export interface Written {
  readonly outcome: Outcome;
  readonly reply: Reply | undefined;
  /** The last node that got the request. */
  readonly node: number;
  /** All attempts: when, where, and the reply. */
  readonly attempts: readonly string[];
}

const KEYED_SECONDS_MAX = 180;
const PAUSE_MILLISECONDS = 100;

export async function write(context: WriterContext, request: WriteRequest): Promise<Written> {
  const { nodes, tally } = context;
  const startedAt = performance.now();
  const attempts: string[] = [];
  for (;;) {
    const node = nodes.pick();
    const sentAt = new Date();
    const reply = await attempt(send(nodes.at(node), request));
    const seconds = (performance.now() - startedAt) / 1000;
    const outcome = settle(tally, request, reply);
    attempts.push(describeAttempt(sentAt, node, reply));
    if (attempts.length > ATTEMPTS_MAX) attempts.shift();
    if (request.key === undefined) return { outcome, reply, node, attempts };
    tally.longestKeyedMilliseconds = Math.max(tally.longestKeyedMilliseconds, seconds * 1000);
    if (outcome !== 'unknown') return { outcome, reply, node, attempts };
    if (seconds > KEYED_SECONDS_MAX) {
      tally.unresolved += 1;
      tally.blame('no final answer', `${request.path} with key ${request.key}: ${reply?.status} ${reply?.text}`);
      return { outcome, reply, node, attempts };
    }
    await sleep(PAUSE_MILLISECONDS);
  }
}

/** How many attempts of a write are shown with a violation. */
const ATTEMPTS_MAX = 8;

function describeAttempt(sentAt: Date, node: number, reply: Reply | undefined): string {
  const time = (at: Date): string => at.toISOString().slice(14, 23);
  const id = reply?.headers['x-request-id'] ?? '';
  const replayed = reply?.headers['idempotency-replayed'] === 'true' ? ' replayed' : '';
  const detail = reply?.status === 200 ? `version ${reply.json?.version}` : (reply?.json?.detail ?? '');
  return `${time(sentAt)} to ${time(new Date())} node ${node}: ${reply?.status ?? 'broken'}${replayed} ${detail} ${String(id).slice(0, 8)}`;
}

async function send(client: HttpClient, { path, body, key }: WriteRequest): Promise<Reply> {
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  if (!(body instanceof Uint8Array)) return client.post(path, body, headers);
  return client.send(path, { headers: { 'content-type': ARROW_STREAM, ...headers }, body });
}

function settle(tally: NodesTally, request: WriteRequest, reply: Reply | undefined): Outcome {
  if (reply === undefined || reply.status >= 500) {
    tally.unknown += 1;
    return 'unknown';
  }
  if (reply.status === 200) {
    if (request.isStep !== true) tally.acknowledged += 1;
    return 'done';
  }
  tally.refused += 1;
  if (request.refusals?.(reply) !== true) {
    tally.unexpected += 1;
    tally.blame('unexpected answer', `${request.path}: ${reply.status} ${reply.text}`);
  }
  return 'refused';
}

export interface Expected {
  readonly what: string;
  /** The node that acknowledged; another one is read. */
  readonly writtenAt: number;
  readonly value: string;
  /** Other values that are correct too. */
  readonly accepts?: (seen: string) => boolean;
  /** What a wrong value means, if known. */
  readonly classify?: (seen: string) => 'lost' | 'doubled';
  /** Earlier attempts, to show with a violation. */
  readonly attempts?: readonly string[];
  /** `undefined` if the read failed. */
  readonly read: (client: HttpClient) => Promise<string | undefined>;
}

const READ_SECONDS_MAX = 120;
/** After this time a missing value is lost, not just stale. */
const STALE_MILLISECONDS_MAX = 10_000;

/** Right after an acknowledgement, on another node. A failed read is repeated: the value must still be the same. */
export async function expectElsewhere(context: WriterContext, expected: Expected): Promise<void> {
  const { nodes, tally } = context;
  const { what, writtenAt, value, read } = expected;
  const accepts = (found: string): boolean => found === value || expected.accepts?.(found) === true;
  const endAt = performance.now() + READ_SECONDS_MAX * 1000;
  let node = nodes.pickOther(writtenAt);
  let seen = await read(nodes.at(node)).catch(() => undefined);
  while (seen === undefined && performance.now() < endAt) {
    await sleep(PAUSE_MILLISECONDS);
    node = nodes.pickOther(writtenAt);
    seen = await read(nodes.at(node)).catch(() => undefined);
  }
  if (seen === undefined) {
    tally.blame('no read', `${what} could not be read for ${READ_SECONDS_MAX} s`);
    tally.unexpected += 1;
    return;
  }
  tally.readsAfter += 1;
  if (accepts(seen)) return;
  const detail = `${what}: ${seen} at node ${node} after node ${writtenAt} acknowledged ${value}`;
  if (seen.includes('torn')) {
    tally.torn += 1;
    tally.blame('torn', detail);
    return;
  }
  const later = await readLater(context, read, accepts);
  const kind =
    later !== undefined && accepts(later)
      ? 'stale'
      : (expected.classify?.(seen) ?? (seen.includes('doubled') ? 'doubled' : 'lost'));
  tally[kind] += 1;
  tally.blame(kind, `${detail}; later ${later}; ${(expected.attempts ?? []).join(' | ')}`);
}

async function readLater(
  { nodes }: WriterContext,
  read: Expected['read'],
  accepts: (seen: string) => boolean,
): Promise<string | undefined> {
  const endAt = performance.now() + STALE_MILLISECONDS_MAX;
  let seen: string | undefined;
  do {
    await sleep(PAUSE_MILLISECONDS);
    seen = (await read(nodes.at(nodes.pick())).catch(() => undefined)) ?? seen;
  } while (!(seen !== undefined && accepts(seen)) && performance.now() < endAt);
  return seen;
}

/** Called at the end of a round. */
export function judge(tally: NodesTally, what: string, known: Known, observed: string): void {
  tally.checked += 1;
  if (known.allows(observed)) return;
  const kind = observed.includes('torn') ? 'torn' : observed.includes('doubled') ? 'doubled' : 'lost';
  tally[kind] += 1;
  tally.blame(kind, `${what} is ${observed} at the end, should be ${known.describe()}`);
}
