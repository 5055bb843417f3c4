import type { Journal, NewEntry, RecordedCommit } from '../catalog/catalog.ts';
import type { Coordination } from '../coordination/coordination.ts';
import type { Engine, OpenTable, PreparedCommit, WriteTarget } from '../engine/engine.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { EngineLimits } from '../model/limits.ts';
import type { TableRecord } from '../model/table.ts';
import type { SyncScope } from '../storage/storage.ts';
import type { Storages } from '../storage/storages.ts';
import type { Idempotency } from './idempotency/idempotency.ts';
import type { Responses } from './idempotency/responses.ts';
import { readExpectation, toCommit, toEntry } from './journal-entries.ts';
import { BatchMember, prepareBatch, takeBatch } from './queue/batch.ts';
import type { WriteQueues } from './queue/write-queues.ts';
import type { InDoubtWrites } from './recovery/in-doubt-writes.ts';
import { findCommit, inspectCommits, rebuildFields } from './recovery/verify.ts';
import type { CommitRange } from './recovery/verify.ts';
import { inDoubt, isClearRefusal, malformed, notBegun, notKept, toServiceError, versionDiffers } from './refusals.ts';
import type {
  FailedWrite,
  Fields,
  JournaledWrite,
  OnBatch,
  OnWriteStep,
  SucceededWrite,
  TableWrite,
  WriteResult,
} from './write.ts';

export interface PipelineParts {
  readonly engine: Engine;
  readonly storages: Storages;
  readonly journal: Journal;
  readonly coordination: Coordination;
  readonly queues: WriteQueues;
  readonly idempotency: Idempotency;
  readonly responses: Responses;
  readonly inDoubtWrites: InDoubtWrites;
  readonly limits: EngineLimits;
  /** `os`: commits survive a kill of the process, not a power loss. */
  readonly sync: 'full' | 'os';
  readonly makeId: () => string;
  readonly onStep: OnWriteStep;
  readonly onBatch: OnBatch;
  readonly onCommit: (table: TableRecord) => void;
}

/**
 * The commit protocol of a write that is one commit of the engine, from top to bottom. It keeps the invariants 8 to 14 of
 * ARCHITECTURE.md. The result is a value: nothing is thrown to report success, and nothing below calls back into this.
 */
export class WritePipeline {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Steps 1 and 2: replay, enqueue. */
  async run<Outcome>(write: TableWrite<Outcome>): Promise<WriteResult> {
    const { queues } = this.#parts;
    return runReplayable(this.#parts, write, async () => {
      const member = new BatchMember(write);
      const run = async (): Promise<void> => this.#runBatch(member);
      return queues.runBatch(write.table.location, member, run, () => write.request.signal());
    });
  }

  /** Step 3, at the head of the table's queue: the batch. */
  async #runBatch(first: BatchMember): Promise<void> {
    const { engine, queues, onStep } = this.#parts;
    const { table, branch } = first.write;
    let members: readonly BatchMember[] = [first];
    try {
      await queues.gather(table.location);
      await onStep('batch');
      const target = { location: table.location, branch };
      members = await takeBatch(first, queues, async () =>
        engine.useLatest(target, async (open) => first.write.plan.startGroup?.(open)),
      );
      queues.recordBatch(table.location, members.length);
      await this.#commitMembers(members);
    } catch (error) {
      // Nothing has begun: from then on every failure is a value.
      for (const member of members) member.settle({ kind: 'refused', error: toServiceError(error) });
    }
  }

  /**
   * Leaves the queue after the engine's commit: sync and record overlap the commit of the next batch. A refused batch of
   * several falls apart, and a fault reaches only the write that has it.
   */
  async #commitMembers(members: readonly BatchMember[]): Promise<void> {
    const committed = await this.#commitOnce(members);
    if (committed.kind === 'committed') {
      this.#parts.inDoubtWrites.track(committed.entries);
      void this.#finish(members, committed);
      return;
    }
    // An outage hits all members alike: each would only wait for it once more.
    const isFinal = committed.kind === 'in-doubt' || committed.error.kind === 'ServiceUnavailable';
    if (isFinal || members.length === 1) {
      for (const member of members) member.settle(committed);
      return;
    }
    const middle = Math.ceil(members.length / 2);
    await this.#commitMembers(members.slice(0, middle));
    await this.#commitMembers(members.slice(middle));
  }

  /** Steps 4 to 6: own, begin, commit; and verify, when it is not clear whether the commit was made. */
  async #commitOnce(members: readonly BatchMember[]): Promise<CommitResult> {
    const { engine, coordination, storages, inDoubtWrites, limits, onStep, onBatch } = this.#parts;
    const { table: record, branch, plan } = headOf(members).write;
    const target = { location: record.location, branch };
    let scope: SyncScope | undefined;
    let entries: readonly NewEntry[] | undefined;
    try {
      await onStep('own');
      const { epoch } = await coordination.own(record);
      inDoubtWrites.requireUndone(headOf(members).write);
      const storage = storages.of(record.location.root);
      await storage.requireRoot();
      scope = await storage.beginSync(record.location);
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#withTable(target, plan.mayBeMissing === true, async (table) => {
            const base = await table.version();
            requireVersion(headOf(members).write, base);
            const prepared = await prepareBatch(toPlans(members), table);
            if (prepared === undefined) return refuse(cannotShare(), scope);
            entries ??= await this.#begin(members, prepared, { baseVersion: base, epoch });
            await onStep('commit');
            const startedAt = performance.now();
            const { version, outcome, ...committed } = await prepared.commit();
            const fault = committed.fault ?? this.#findFault(target, { base, version }, prepared.storedRows);
            if (fault !== undefined) return this.#takeBack(target, { entries, scope }, version, fault);
            onBatch({ kind: at(plan.kinds, 0), members: members.length, startedAt, endedAt: performance.now() });
            const fields = members.map(({ write }, index) => write.toFields(outcome[index]));
            return { kind: 'committed', entries, scope, version, fields };
          });
        } catch (error) {
          // A conflict commits nothing; the next attempt starts from the newest version.
          if (attempt >= limits.writeAttemptsMax || !engine.isConflict(error)) throw error;
        }
      }
    } catch (error) {
      if (entries === undefined) return refuse(error, scope);
      const isRefused = isClearRefusal(error) || engine.isConflict(error);
      return isRefused ? this.#abort({ entries, scope }, error) : this.#verify(target, { entries, scope }, error);
    }
  }

  async #begin(
    members: readonly BatchMember[],
    { expected: outcomes, addedRows }: PreparedCommit<readonly unknown[]>,
    base: { readonly baseVersion: number; readonly epoch: number },
  ): Promise<readonly NewEntry[]> {
    const { responses, makeId, onStep, sync } = this.#parts;
    await onStep('begin');
    const generation = responses.startMarks();
    const entries = members.map(({ write }, index) => {
      const outcome = outcomes?.[index];
      const rule = outcome === undefined ? write.rule : { from: 'values' as const, fields: write.toFields(outcome) };
      const expected = { kinds: write.plan.kinds, addedRows, rule };
      return toEntry(write, { ...base, id: makeId(), generation, expected });
    });
    // After a power loss no marks are trusted: only entries with a key must survive it.
    const isDurable = sync === 'full' && entries.some(({ key }) => key !== undefined);
    try {
      await beginEntries(this.#parts, headOf(members).write, { entries, isDurable });
    } catch (error) {
      // If the catalog's commit failed, the entries may exist all the same.
      responses.abort(entries.map(({ id }) => id));
      throw error;
    }
    return entries;
  }

  async #verify(target: WriteTarget, begun: Begun, error: unknown): Promise<CommitResult> {
    const { entries } = begun;
    await this.#parts.onStep('verify');
    try {
      const verdict = await findCommit(this.#parts, target, at(entries, 0));
      if (verdict.kind === 'not-committed') return this.#abort(begun, error);
      if (verdict.kind === 'committed') {
        const { commit, rowsBefore } = verdict;
        const { version } = commit;
        const fault = this.#findFault(target, { base: version - 1, version }, undefined);
        if (fault !== undefined) return await this.#takeBack(target, begun, version, fault);
        const fields = entries.map((entry) => rebuildFields(readExpectation(entry).rule, commit, rowsBefore));
        return { kind: 'committed', ...begun, version, fields };
      }
    } catch {
      // Without a verdict it is not known either.
    }
    return this.#leaveInDoubt(begun, error);
  }

  /** Why a commit that the engine has made is worthless: files that were cut short, or rows that are missing. */
  #findFault(target: WriteTarget, versions: CommitRange, storedRows: number | undefined): ServiceError | undefined {
    const { isIntact, last } = inspectCommits(this.#parts.storages, target, versions);
    if (!isIntact) return notKept();
    const isShort = last !== undefined && storedRows !== undefined && last.addedRows !== storedRows;
    return isShort ? malformed() : undefined;
  }

  /** No other write runs meanwhile: the version before becomes the latest again. */
  async #takeBack(target: WriteTarget, begun: Begun, version: number, fault: ServiceError): Promise<CommitResult> {
    try {
      await this.#parts.engine.restoreVersion(target, version - 1);
      // Durable before the entries go: nothing else would take the commit back after a power loss.
      await begun.scope?.sync();
      return this.#abort(begun, fault);
    } catch (error) {
      return this.#leaveInDoubt(begun, error);
    }
  }

  #abort({ entries, scope }: Begun, error: unknown): FailedWrite {
    this.#parts.responses.abort(entries.map(({ id }) => id));
    return refuse(error, scope);
  }

  #leaveInDoubt({ entries, scope }: Begun, error: unknown): FailedWrite {
    this.#parts.inDoubtWrites.add(entries);
    scope?.end();
    return { kind: 'in-doubt', error: inDoubt(error) };
  }

  /** Steps 7 and 8: sync, record (invariants 8 and 9). The HTTP layer marks and sends the response. */
  async #finish(members: readonly BatchMember[], { entries, scope, version, fields }: CommittedBatch): Promise<void> {
    const { journal, inDoubtWrites, onStep, onCommit, sync } = this.#parts;
    let isSynced = false;
    let recorded: Awaited<ReturnType<Journal['record']>>;
    try {
      await onStep('sync');
      await scope?.sync();
      isSynced = true;
      await onStep('record');
      const commits = members.map(({ write }, index) =>
        toCommit(write, at(entries, index), version, at(fields, index)),
      );
      recorded = await journal.record(commits, sync === 'full');
    } catch (error) {
      // Committed, but not known to be durable, or not recorded. The storage's own error says what that means.
      inDoubtWrites.add(entries);
      const reported = isSynced ? inDoubt(error) : toServiceError(error);
      for (const member of members) member.settle({ kind: 'in-doubt', error: reported });
      return;
    } finally {
      scope?.end();
    }
    inDoubtWrites.untrack(entries);
    for (const [index, member] of members.entries()) {
      const committed = { version, fields: at(fields, index), recorded: recorded[index] };
      member.settle(toSuccess(this.#parts, member.write, at(entries, index), committed));
    }
    onCommit(headOf(members).write.table);
  }

  /** The latest state of the table. After a failure nothing that is cached of it holds. */
  async #withTable<Value>(
    target: WriteTarget,
    mayBeMissing: boolean,
    work: (table: OpenTable) => Promise<Value>,
  ): Promise<Value> {
    const { engine } = this.#parts;
    const careful = async (table: OpenTable): Promise<Value> => {
      try {
        return await work(table);
      } catch (error) {
        table.forget();
        throw error;
      }
    };
    if (mayBeMissing && (await engine.findLatestVersion(target)) === undefined) return careful(MISSING);
    return engine.useLatest(target, careful);
  }
}

/** A batch whose journal entries are written. */
interface Begun {
  readonly entries: readonly NewEntry[];
  readonly scope: SyncScope | undefined;
}

interface CommittedBatch extends Begun {
  readonly kind: 'committed';
  readonly version: number;
  /** Of each member's reply, in order. */
  readonly fields: readonly Fields[];
}

type CommitResult = CommittedBatch | FailedWrite;

/** The table that a plan sees when there is no data and it may create it. */
const MISSING: OpenTable = {
  get native(): never {
    throw new Error('There is no table.');
  },
  version: async () => 0,
  schema: async () => ({ fields: [], metadata: new Map() }),
  moved: () => {},
  forget: () => {},
};

/** Step 1 of any write: the result of the same request, if it was applied before; otherwise it is enqueued. */
export async function runReplayable(
  { idempotency, onStep }: PipelineParts,
  { request }: JournaledWrite,
  enqueue: () => Promise<WriteResult>,
): Promise<WriteResult> {
  try {
    return await idempotency.runOnePerRequest(request, async () => {
      await onStep('replay');
      const replayed = await idempotency.findReplay(request);
      if (replayed !== undefined) return replayed;
      await onStep('enqueue');
      return enqueue();
    });
  } catch (error) {
    return { kind: 'refused', error: toServiceError(error) };
  }
}

/** Invariant 14: If-Match is about the version that the write will follow. */
export function requireVersion({ request: { expectedVersion } }: JournaledWrite, base: number): void {
  if (expectedVersion !== undefined && expectedVersion !== base) throw versionDiffers(expectedVersion, base);
}

/** Step 5: one transaction. It also bounds entries in doubt and removes those that are answered. */
export async function beginEntries(
  { journal, responses, inDoubtWrites }: PipelineParts,
  write: JournaledWrite,
  { entries, isDurable }: { readonly entries: readonly NewEntry[]; readonly isDurable: boolean },
): Promise<void> {
  const removes = responses.takeRemovable();
  const bounds = inDoubtWrites.unboundedOf(write);
  try {
    await journal.begin(entries, { bounds, removes, isDurable });
  } catch (error) {
    throw notBegun(error);
  }
  responses.removed(removes);
  inDoubtWrites.bounded(bounds);
}

interface Committed {
  readonly version: number;
  readonly fields: Fields;
  /** `undefined`: the table was dropped meanwhile. */
  readonly recorded: RecordedCommit | undefined;
}

export function toSuccess(
  { responses }: PipelineParts,
  { table }: JournaledWrite,
  { id, key }: NewEntry,
  { version, fields, recorded }: Committed,
): SucceededWrite {
  if (recorded === undefined) responses.abort([id]);
  const { transactionId, properties = table.properties } = recorded ?? {};
  const response = recorded === undefined ? undefined : { id, key };
  return { kind: 'committed', version, transactionId, properties, fields, response };
}

function refuse(error: unknown, scope: SyncScope | undefined): FailedWrite {
  scope?.end();
  return { kind: 'refused', error: toServiceError(error) };
}

function toPlans(members: readonly BatchMember[]) {
  const [first, ...others] = members.map(({ write }) => write.plan);
  if (first === undefined) throw new Error('A batch has at least one member.');
  return [first, ...others] as const;
}

function headOf(members: readonly BatchMember[]): BatchMember {
  return at(members, 0);
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error('Each member of a batch has its entry and its fields.');
  return item;
}

function cannotShare(): ServiceError {
  return new ServiceError('Internal', 'The writes cannot share a commit.');
}
