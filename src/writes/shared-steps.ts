import type { Journal, NewEntry, RecordedCommit } from '../catalog/catalog.ts';
import type { Coordination } from '../coordination/coordination.ts';
import type { CommitPlan, MultiCommitPlan } from '../engine/engine.ts';
import { NotOwner } from '../errors/service-error.ts';
import type { EngineLimits } from '../model/limits.ts';
import { versionDiffers } from '../model/refusals.ts';
import { MAIN_BRANCH } from '../model/table.ts';
import type { Idempotency } from './idempotency/idempotency.ts';
import type { Responses } from './idempotency/responses.ts';
import type { WriteQueues } from './queue/write-queues.ts';
import type { InDoubtWrites } from './recovery/in-doubt-writes.ts';
import type { VerifyParts } from './recovery/verify.ts';
import { notBegun, refuse, requireNoView } from './refusals.ts';
import type { JournaledWrite, OnBatch, OnCommit, OnWriteStep, SucceededWrite, WriteResult } from './write.ts';

/** Steps shared by writes of one commit, of several commits and of several tables. */
export interface PipelineParts extends VerifyParts {
  readonly journal: Journal;
  readonly coordination: Coordination;
  readonly queues: WriteQueues;
  readonly idempotency: Idempotency;
  readonly responses: Responses;
  readonly inDoubtWrites: InDoubtWrites;
  readonly limits: EngineLimits;
  /** `os`: commits survive a kill of the process, not a power loss. */
  readonly sync: 'full' | 'os';
  readonly onStep: OnWriteStep;
  readonly onBatch: OnBatch;
  readonly onCommit: OnCommit;
}

type ReplayableRequest = Pick<JournaledWrite, 'request'> &
  Partial<Pick<JournaledWrite, 'check' | 'growth' | 'branch' | 'table' | 'recordedAs'>> & {
    readonly plan?: CommitPlan<unknown> | MultiCommitPlan<unknown>;
  };

/** Step 1 of any write: returns the result of the same request if it was applied before, else enqueues it. */
export async function runReplayable(
  { idempotency, onStep }: PipelineParts,
  { request, check, growth, branch, table, recordedAs, plan }: ReplayableRequest,
  enqueue: () => Promise<WriteResult>,
): Promise<WriteResult> {
  try {
    if (table !== undefined) requireNoView({ table, recordedAs });
    const written = table && { table, branch, growth, plan };
    return await idempotency.serializeWrite(request, written, async () => {
      await onStep('replay');
      const replayed = await idempotency.findReplay(request);
      if (replayed !== undefined) return replayed;
      await check?.();
      // Branches do not count towards quotas.
      const isCounted = growth !== undefined && (branch === undefined || branch === MAIN_BRANCH);
      if (isCounted && request.admit !== undefined) {
        await request.admit(typeof growth === 'function' ? await growth() : growth);
      }
      await onStep('enqueue');
      return enqueue();
    });
  } catch (error) {
    return refuse(error);
  }
}

/** Invariant 14: If-Match applies to the version that the write will follow. */
export function requireExpectedVersion({ request: { expectedVersion } }: JournaledWrite, base: number): void {
  if (expectedVersion !== undefined && expectedVersion !== base) throw versionDiffers(expectedVersion, base);
}

/**
 * Step 5, in one transaction: for one write, one batch, or one write of each of several tables. It also bounds entries
 * in doubt and removes answered and aborted ones.
 */
export async function beginEntries(
  parts: PipelineParts,
  writes: readonly Pick<JournaledWrite, 'table' | 'branch'>[],
  entries: readonly [NewEntry, ...NewEntry[]],
): Promise<void> {
  const { journal, responses, inDoubtWrites, sync } = parts;
  const removes = responses.takeDue();
  const bounds = writes.map((write, index) => {
    return { ids: inDoubtWrites.unboundedOf(write), version: (entries[index] ?? entries[0]).baseVersion };
  });
  // After a power loss no marks are trusted, so entries without a key need not survive it. A hold on readers must
  // survive, because the commits that it hides may.
  const isDurable = sync === 'full' && entries.some(({ key, holdsReaders }) => key !== undefined || holdsReaders);
  try {
    await journal.begin(entries, { bounds, removes, isDurable });
  } catch (error) {
    for (const write of writes) noteLostLease(parts, write, error);
    throw notBegun(error);
  }
  responses.removed(removes);
  for (const { ids } of bounds) inDoubtWrites.bounded(ids);
}

/** Makes the next write of the table ask for its lease again. */
export function noteLostLease(
  { coordination }: PipelineParts,
  { table }: Pick<JournaledWrite, 'table'>,
  error: unknown,
): void {
  if (error instanceof NotOwner) coordination.lost(table.id);
}

type DurableCommit = Pick<SucceededWrite, 'version' | 'fields'> & { readonly recorded: RecordedCommit | undefined };

export function toSuccess(
  { responses }: PipelineParts,
  { table }: JournaledWrite,
  { id, key }: NewEntry,
  { version, fields, recorded }: DurableCommit,
): SucceededWrite {
  // The table was dropped meanwhile.
  if (recorded === undefined) responses.abort([id]);
  const { transactionId, properties = table.properties } = recorded ?? {};
  const response = recorded === undefined ? undefined : { id, key };
  return { kind: 'committed', version, transactionId, properties, fields, response };
}
