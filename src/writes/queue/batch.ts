import type { Engine, OpenTable, PreparedCommit } from '../../engine/engine.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { WriteQueues } from './write-queues.ts';
import type { TableWrite, WriteResult } from '../write.ts';

/** A write in its table's queue. Its batch settles its result. */
export class BatchMember {
  readonly write: TableWrite<unknown>;
  /** Takeovers that this node had made when it looked for a replay of this write. */
  readonly takeovers: number;
  readonly result: Promise<WriteResult>;
  settle: (result: WriteResult) => void = () => {};

  constructor(write: TableWrite<unknown>, takeovers = 0) {
    this.write = write;
    this.takeovers = takeovers;
    this.result = new Promise((resolve) => {
      this.settle = resolve;
    });
  }
}

export type Batch = readonly [BatchMember, ...BatchMember[]];

/**
 * The write at the head of the queue and the writes behind it that may share its commit, up to the first that may not.
 */
export async function takeBatch(first: BatchMember, queues: WriteQueues, engine: Engine): Promise<Batch> {
  const { plan, table, branch } = first.write;
  const { location } = table;
  const batch: [BatchMember, ...BatchMember[]] = [first];
  if (plan.startGroup === undefined || isConditional(first) || !queues.isAwaited(location)) return batch;
  const group = await engine.useLatest({ location, branch }, async (open) => plan.startGroup?.(open));
  if (group === undefined) return batch;
  const isWanted = (candidate: object): candidate is BatchMember =>
    candidate instanceof BatchMember &&
    !isConditional(candidate) &&
    (candidate.write.branch ?? MAIN_BRANCH) === (branch ?? MAIN_BRANCH) &&
    group.add(candidate.write.plan);
  while (batch.length < group.membersMax) {
    const next = queues.takeNext(location, isWanted);
    if (next === undefined) break;
    batch.push(next);
  }
  return batch;
}

/** One commit for all members, each with a separate outcome. `undefined` if they cannot share one now. */
export async function prepareBatch(
  [first, ...others]: Batch,
  table: OpenTable,
): Promise<PreparedCommit<readonly unknown[]> | undefined> {
  const { plan } = first.write;
  if (others.length === 0) return alone(await plan.prepare(table));
  const group = await plan.startGroup?.(table);
  return group !== undefined && others.every(({ write }) => group.add(write.plan)) ? group.prepare(table) : undefined;
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

/** A write with If-Match depends on the version that it follows, so it shares no commit. */
function isConditional({ write }: BatchMember): boolean {
  return write.request.expectedVersion !== undefined;
}
