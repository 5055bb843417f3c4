import type { CommitGroup, CommitPlan, OpenTable, PreparedCommit } from '../../engine/engine.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { BatchCandidate, WriteQueues } from './write-queues.ts';
import type { TableWrite, WriteResult } from '../write.ts';

/** A write in the queue of its table; the batch that it runs in settles its result. */
export class BatchMember implements BatchCandidate<WriteResult> {
  readonly write: TableWrite<unknown>;
  readonly result: Promise<WriteResult>;
  #resolve: (result: WriteResult) => void = () => {};

  constructor(write: TableWrite<unknown>) {
    this.write = write;
    this.result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  settle(result: WriteResult): void {
    this.#resolve(result);
  }
}

/** The write at the head of the queue, and those behind it that may share its commit. The first that may not ends it. */
export async function takeBatch(
  first: BatchMember,
  queues: WriteQueues,
  start: () => Promise<CommitGroup<unknown> | undefined>,
): Promise<readonly BatchMember[]> {
  const { plan, table, branch } = first.write;
  const members = [first];
  if (plan.startGroup === undefined || isConditional(first) || !queues.isAwaited(table.location)) return members;
  const group = await start();
  if (group === undefined) return members;
  const isWanted = (candidate: BatchCandidate<unknown>): candidate is BatchMember =>
    candidate instanceof BatchMember &&
    !isConditional(candidate) &&
    isSameBranch(candidate.write.branch, branch) &&
    group.add(candidate.write.plan);
  while (members.length < group.membersMax) {
    const next = queues.takeNext(table.location, isWanted);
    if (next === undefined) break;
    members.push(next);
  }
  return members;
}

/** One commit for all of them, each with its own outcome. `undefined` when they cannot share one now. */
export async function prepareBatch(
  plans: readonly [CommitPlan<unknown>, ...CommitPlan<unknown>[]],
  table: OpenTable,
): Promise<PreparedCommit<readonly unknown[]> | undefined> {
  const [first, ...others] = plans;
  if (others.length === 0) return alone(await first.prepare(table));
  const group = await first.startGroup?.(table);
  return group !== undefined && others.every((plan) => group.add(plan)) ? group.prepare(table) : undefined;
}

function alone(prepared: PreparedCommit<unknown>): PreparedCommit<readonly unknown[]> {
  const { expected } = prepared;
  return {
    ...prepared,
    expected: expected === undefined ? undefined : [expected],
    async commit() {
      const { outcome, ...committed } = await prepared.commit();
      return { ...committed, outcome: [outcome] };
    },
  };
}

/** It depends on the version that it follows, so that it shares no commit. */
function isConditional({ write }: BatchMember): boolean {
  return write.request.expectedVersion !== undefined;
}

function isSameBranch(one: string | undefined, other: string | undefined): boolean {
  return (one ?? MAIN_BRANCH) === (other ?? MAIN_BRANCH);
}
