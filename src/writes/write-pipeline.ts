import type { Journal, NewEntry } from '../catalog/catalog.ts';
import type { Coordination } from '../coordination/coordination.ts';
import type { Engine, OpenTable, PreparedCommit, WriteTarget } from '../engine/engine.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { EngineLimits } from '../model/limits.ts';
import type { TableRecord } from '../model/table.ts';
import type { SyncScope } from '../storage/storage.ts';
import type { Storages } from '../storage/storages.ts';
import { BatchMember, prepareBatch, takeBatch } from './queue/batch.ts';
import type { InDoubtWrites } from './recovery/in-doubt-writes.ts';
import type { Idempotency } from './idempotency/idempotency.ts';
import { readExpectation, toCommit, toEntry, toResponseRef } from './journal-entries.ts';
import { inDoubt, isClearRefusal, malformed, notKept, toServiceError, versionDiffers } from './refusals.ts';
import { findCommit, rebuildFields } from './recovery/verify.ts';
import type { FailedWrite, Fields, OnBatch, OnWriteStep, TableWrite, WriteResult } from './write.ts';
import type { WriteQueues } from './queue/write-queues.ts';

export interface PipelineParts {
  readonly engine: Engine;
  readonly storages: Storages;
  readonly journal: Journal;
  readonly coordination: Coordination;
  readonly queues: WriteQueues;
  readonly idempotency: Idempotency;
  readonly doubts: InDoubtWrites;
  readonly limits: EngineLimits;
  /** `os`: commits survive a kill of the process, not a power loss. */
  readonly sync: 'full' | 'os';
  readonly makeId: () => string;
  readonly onStep: OnWriteStep;
  readonly onBatch: OnBatch;
  readonly onCommit: (table: TableRecord) => void;
}

/**
 * The commit protocol of a write that is one commit of the engine, from top to bottom. What holds for every write:
 *
 * 1. A success was applied exactly once, is durable, and is recorded.
 * 2. A refusal changed nothing.
 * 3. Whatever may have been applied without a success says so, and is resolved before the same request can run again.
 * 4. A response is marked before its first byte leaves. A write whose response was marked is never replayed without a key.
 * 5. A commit whose reply was lost is looked for in the manifests, never guessed.
 *
 * The result is a value: nothing is thrown to say success, and nothing below calls back into this.
 */
export class WritePipeline {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Steps 1 and 2: replay, enqueue. */
  async run<Outcome>(write: TableWrite<Outcome>): Promise<WriteResult> {
    const { idempotency, queues, onStep } = this.#parts;
    const { request, table } = write;
    try {
      return await idempotency.singleWrite(request, async () => {
        await onStep('replay');
        const replayed = await idempotency.findReplay(request);
        if (replayed !== undefined) return replayed;

        await onStep('enqueue');
        const member = new BatchMember(write);
        return queues.runBatch(
          table.location,
          member,
          async () => this.#runBatch(member),
          () => request.signal(),
        );
      });
    } catch (error) {
      return { kind: 'refused', error: toServiceError(error) };
    }
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
      queues.noteBatch(table.location, members.length);
      await this.#commitMembers(members);
    } catch (error) {
      // Nothing has begun: from then on every failure is a value.
      for (const member of members) member.settle({ kind: 'refused', error: toServiceError(error) });
    }
  }

  /**
   * Leaves the queue after the engine's commit: sync and record overlap the commit of the next batch. A batch of several
   * that is refused falls apart, so that a fault reaches only the write that has it.
   */
  async #commitMembers(members: readonly BatchMember[]): Promise<void> {
    const committed = await this.#commitOnce(members);
    switch (committed.kind) {
      case 'committed':
        this.#parts.doubts.track(committed.entries);
        void this.#finish(members, committed);
        return;
      case 'in-doubt':
        for (const member of members) member.settle(committed);
        return;
      case 'refused': {
        // An outage hits all members alike: each would only wait for it once more.
        if (members.length === 1 || committed.error.kind === 'ServiceUnavailable') {
          for (const member of members) member.settle(committed);
          return;
        }
        const middle = Math.ceil(members.length / 2);
        await this.#commitMembers(members.slice(0, middle));
        await this.#commitMembers(members.slice(middle));
      }
    }
  }

  /** Steps 4 to 6: own, begin, commit; and verify, when it is not clear whether the commit was made. */
  async #commitOnce(members: readonly BatchMember[]): Promise<CommitResult> {
    const { engine, coordination, storages, doubts, limits, onStep, onBatch } = this.#parts;
    const { table: record, branch, plan } = headOf(members).write;
    const target = { location: record.location, branch };
    let scope: SyncScope | undefined;
    let begun: Begun | undefined;
    try {
      await onStep('own');
      const { epoch } = await coordination.own(record);
      doubts.requireUndone(headOf(members).write);
      const storage = storages.of(record.location.root);
      await storage.requireRoot();
      scope = await storage.beginSync(record.location);
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#withTable(target, plan.mayBeMissing === true, async (table) => {
            const base = await table.version();
            requireVersion(headOf(members), base);
            const prepared = await prepareBatch(toPlans(members), table);
            if (prepared === undefined) return refuse(cannotShare(), scope);
            begun ??= await this.#begin(members, prepared, { base, epoch });
            await onStep('commit');
            const startedAt = performance.now();
            const { version, outcome, ...committed } = await prepared.commit();
            const fault = committed.fault ?? this.#findFault(target, { base, version }, prepared.storedRows);
            if (fault !== undefined) return this.#takeBack(target, begun, { version, fault, scope });
            onBatch({ kind: at(plan.kinds, 0), members: members.length, startedAt, endedAt: performance.now() });
            return { kind: 'committed', ...begun, scope, version, fields: toFields(members, outcome) };
          });
        } catch (error) {
          // A conflict commits nothing; the next attempt starts from the newest version.
          if (attempt >= limits.writeAttemptsMax || !engine.isConflict(error)) throw error;
        }
      }
    } catch (error) {
      if (begun === undefined) return refuse(error, scope);
      if (!isClearRefusal(error) && !engine.isConflict(error)) return this.#verify(target, begun, { error, scope });
      this.#parts.idempotency.abort(begun.entries.map(({ id }) => id));
      return refuse(error, scope);
    }
  }

  async #begin(members: readonly BatchMember[], prepared: Prepared, { base, epoch }: Base): Promise<Begun> {
    const { idempotency, doubts, journal, makeId, onStep, sync } = this.#parts;
    await onStep('begin');
    const generation = idempotency.startMarks();
    const entries = members.map(({ write }, index) => {
      const { plan, rule: unknown } = write;
      const expected = prepared.expected?.[index];
      const rule = expected === undefined ? unknown : { from: 'values' as const, fields: write.toFields(expected) };
      const expectation = { kinds: plan.kinds, addedRows: prepared.addedRows, rule };
      return toEntry(write, { id: makeId(), baseVersion: base, epoch, generation, expected: expectation });
    });
    const removes = idempotency.takeRemovable();
    const bounds = doubts.unboundedOf(headOf(members).write);
    // After a power loss no marks are trusted, so that only entries with a key must survive it.
    const isDurable = sync === 'full' && entries.some(({ key }) => key !== undefined);
    try {
      await journal.begin(entries, { bounds, removes, isDurable });
    } catch (error) {
      // The entries may be there all the same, when it was the catalog's commit that failed.
      idempotency.abort(entries.map(({ id }) => id));
      throw error;
    }
    idempotency.removed(removes);
    doubts.bounded(bounds);
    return { entries };
  }

  async #verify(target: WriteTarget, { entries }: Begun, { error, scope }: Failure): Promise<CommitResult> {
    await this.#parts.onStep('verify');
    const verdict = await this.#findVerdict(target, entries).catch(() => undefined);
    if (verdict?.kind === 'committed') {
      const { commit, rowsBefore, fault } = verdict;
      if (fault !== undefined) return this.#takeBack(target, { entries }, { version: commit.version, fault, scope });
      const fields = entries.map((entry) => rebuildFields(readExpectation(entry).rule, commit, rowsBefore));
      return { kind: 'committed', entries, scope, version: commit.version, fields };
    }
    if (verdict?.kind === 'not-committed') {
      this.#parts.idempotency.abort(entries.map(({ id }) => id));
      return refuse(error, scope);
    }
    this.#parts.doubts.add(entries);
    scope?.end();
    return { kind: 'in-doubt', error: inDoubt(error) };
  }

  async #findVerdict(target: WriteTarget, entries: readonly NewEntry[]) {
    const verdict = await findCommit(this.#parts, target, at(entries, 0));
    if (verdict.kind !== 'committed') return verdict;
    const { version } = verdict.commit;
    return { ...verdict, fault: this.#findFault(target, { base: version - 1, version }, undefined) };
  }

  /** What makes a commit worthless although the engine has made it: files that were cut short, or rows that are missing. */
  #findFault(
    { location, branch }: WriteTarget,
    { base, version }: { readonly base: number; readonly version: number },
    storedRows: number | undefined,
  ): ServiceError | undefined {
    const storage = this.#parts.storages.of(location.root);
    // A write that adds nothing has made no version; columns may take two.
    for (let each = base + 1; each <= version; each += 1) {
      const inspected = storage.inspectCommit(location, branch, each);
      if (inspected?.isIntact === false) return notKept();
      const isOwn = each === version && inspected !== undefined && storedRows !== undefined;
      if (isOwn && inspected.addedRows !== storedRows) return malformed();
    }
    return undefined;
  }

  /** No other write runs meanwhile, so that the version before becomes the latest again. */
  async #takeBack(target: WriteTarget, { entries }: Begun, { version, fault, scope }: Fault): Promise<CommitResult> {
    try {
      await this.#parts.engine.restoreVersion(target, version - 1);
      // Durable before the entries go: nothing else would take the commit back after a power loss.
      await scope?.sync();
      this.#parts.idempotency.abort(entries.map(({ id }) => id));
      return refuse(fault, scope);
    } catch (error) {
      this.#parts.doubts.add(entries);
      scope?.end();
      return { kind: 'in-doubt', error: inDoubt(error) };
    }
  }

  /** Steps 7 and 8: sync, record. The HTTP layer marks and sends the response. */
  async #finish(members: readonly BatchMember[], { entries, scope, version, fields }: CommittedBatch): Promise<void> {
    const { journal, doubts, onStep, onCommit, sync } = this.#parts;
    let isSynced = false;
    try {
      await onStep('sync');
      await scope?.sync();
      isSynced = true;
      await onStep('record');
      const commits = members.map(({ write }, index) =>
        toCommit(write, at(entries, index), version, at(fields, index)),
      );
      const recorded = await journal.record(commits, sync === 'full');
      doubts.untrack(entries);
      onCommit(headOf(members).write.table);
      for (const [index, member] of members.entries()) {
        const { transactionId, properties = member.write.table.properties } = recorded[index] ?? {};
        const entry = at(entries, index);
        // The table was dropped meanwhile: nothing is left that could be asked for again.
        if (recorded[index] === undefined) this.#parts.idempotency.abort([entry.id]);
        const response = recorded[index] === undefined ? undefined : toResponseRef(entry);
        const success = { transactionId, properties, fields: at(fields, index), response };
        member.settle({ kind: 'committed', version, ...success });
      }
    } catch (error) {
      // It is committed, but not known to be durable, or not recorded. The storage says by itself what that means.
      doubts.add(entries);
      const told = isSynced ? inDoubt(error) : toServiceError(error);
      for (const member of members) member.settle({ kind: 'in-doubt', error: told });
    } finally {
      scope?.end();
    }
  }

  /** The latest state of the table. After a failure nothing that is known of it holds. */
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

type Prepared = PreparedCommit<readonly unknown[]>;

interface Base {
  readonly base: number;
  readonly epoch: number;
}

interface Begun {
  readonly entries: readonly NewEntry[];
}

interface Failure {
  readonly error: unknown;
  readonly scope: SyncScope | undefined;
}

interface Fault {
  readonly version: number;
  readonly fault: ServiceError;
  readonly scope: SyncScope | undefined;
}

interface CommittedBatch extends Begun {
  readonly kind: 'committed';
  readonly scope: SyncScope | undefined;
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

function refuse(error: unknown, scope: SyncScope | undefined): FailedWrite {
  scope?.end();
  return { kind: 'refused', error: toServiceError(error) };
}

/** If-Match is about the version that the write will follow. */
function requireVersion({ write }: BatchMember, base: number): void {
  const { expectedVersion } = write.request;
  if (expectedVersion !== undefined && expectedVersion !== base) throw versionDiffers(expectedVersion, base);
}

function toPlans(members: readonly BatchMember[]) {
  const [first, ...others] = members.map(({ write }) => write.plan);
  if (first === undefined) throw new Error('A batch has at least one member.');
  return [first, ...others] as const;
}

function toFields(members: readonly BatchMember[], outcomes: readonly unknown[]): readonly Fields[] {
  return members.map(({ write }, index) => write.toFields(outcomes[index]));
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
