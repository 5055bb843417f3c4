import type { Journal, NewEntry } from '../catalog/catalog.ts';
import type { OpenTable, PreparedCommit, WriteTarget } from '../engine/engine.ts';
import { NotOwner, ServiceError } from '../errors/service-error.ts';
import type { CommitKind } from '../model/table.ts';
import type { SyncScope } from '../storage/storage.ts';
import { readExpectation, toCommit, toEntry } from './journal-entries.ts';
import { BatchMember, prepareBatch, takeBatch } from './queue/batch.ts';
import type { Batch } from './queue/batch.ts';
import { findFault, rebuildFields, findOrFenceCommit } from './recovery/verify.ts';
import { asServiceError, inDoubt, isClearRefusal, refuse } from './refusals.ts';
import { beginEntries, noteLostLease, requireExpectedVersion, runReplayable, toSuccess } from './shared-steps.ts';
import type { PipelineParts } from './shared-steps.ts';
import type { FailedWrite, Fields, TableWrite, WriteResult } from './write.ts';

/**
 * The commit protocol of a write that is one engine commit, from top to bottom. It keeps invariants 8 to 14 of
 * ARCHITECTURE.md. The result is a value: success is never reported by an exception, and nothing below calls back into
 * this class.
 */
export class WritePipeline {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Steps 1 and 2: replay, enqueue. */
  async run<Outcome>(write: TableWrite<Outcome>): Promise<WriteResult> {
    const { queues, inDoubtWrites } = this.#parts;
    const { takeovers } = inDoubtWrites;
    return runReplayable(this.#parts, write, async () => {
      const member = new BatchMember(write, takeovers);
      const queued = { candidate: member, caller: write.request.caller, signal: () => write.request.signal() };
      await queues.runBatch(write.table.location, async () => this.#runBatch(member), queued);
      return member.result;
    });
  }

  /** Step 3, at the head of the table's queue: the batch. */
  async #runBatch(first: BatchMember): Promise<void> {
    const { engine, queues, onStep } = this.#parts;
    const { location } = first.write.table;
    let batch: Batch = [first];
    try {
      await queues.gather(location);
      await onStep('batch');
      batch = await takeBatch(first, queues, engine);
      queues.recordBatch(location, batch.length);
      const [next, ...others] = await this.#withoutReplayed(batch);
      if (next !== undefined) await this.#commit([next, ...others]);
    } catch (error) {
      // Nothing has begun yet; after this point, every failure is a value.
      for (const member of batch) member.settle(refuse(error));
    }
  }

  /** Step 1 again, for writes that arrived before this node knew what the table's former owner had committed. */
  async #withoutReplayed(batch: Batch): Promise<readonly BatchMember[]> {
    const { inDoubtWrites, idempotency } = this.#parts;
    await inDoubtWrites.own(batch[0].write.table);
    if (batch.every(({ takeovers }) => takeovers === inDoubtWrites.takeovers)) return batch;
    const open: BatchMember[] = [];
    for (const member of batch) {
      const replayed = await idempotency.findReplay(member.write.request).catch(refuse);
      if (replayed === undefined) open.push(member);
      else member.settle(replayed);
    }
    return open;
  }

  /**
   * Leaves the queue after the engine's commit: sync and record overlap the commit of the next batch. A refused batch
   * of several writes is split, so that only the faulty write fails.
   */
  async #commit(batch: Batch): Promise<void> {
    const result = await this.#commitOnce(batch);
    if (result.kind === 'committed') {
      this.#parts.inDoubtWrites.track(result.entries);
      void this.#finish(batch, result);
      return;
    }
    // After an outage, or on a node that may not write, do not split: each part would fail in the same way.
    const { kind, error } = result;
    const isFinal = kind === 'in-doubt' || error.kind === 'ServiceUnavailable' || error instanceof NotOwner;
    const middle = Math.ceil(batch.length / 2);
    const [next, ...last] = batch.slice(middle);
    if (isFinal || next === undefined) {
      for (const member of batch) member.settle(result);
      return;
    }
    await this.#commit([batch[0], ...batch.slice(1, middle)]);
    await this.#commit([next, ...last]);
  }

  /** Steps 4 to 6: own, begin, commit; then verify, if it is unclear whether the commit was made. */
  async #commitOnce(batch: Batch): Promise<CommitResult> {
    const { engine, storages, journal, inDoubtWrites, limits, onStep, onBatch } = this.#parts;
    const { write } = batch[0];
    const { table: record, branch, plan } = write;
    const target = { location: record.location, branch };
    let scope: SyncScope | undefined;
    let entries: readonly NewEntry[] | undefined;
    try {
      await onStep('own');
      const { epoch } = await inDoubtWrites.own(record);
      inDoubtWrites.requireUndone(write);
      const storage = storages.of(record.location.root);
      await storage.requireRoot();
      scope = await storage.beginSync(record.location);
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#withTable(target, plan.mayBeMissing === true, async (table) => {
            const base = await table.version();
            requireExpectedVersion(write, base);
            const prepared = await prepareBatch(batch, table);
            if (prepared === undefined) return this.#abort({ entries: entries ?? [], scope }, cannotShare());
            if (entries === undefined) entries = await this.#begin(batch, prepared, { baseVersion: base, epoch });
            // Asked after the base was read: a commit that a new owner made before conflicts, and this attempt is not
            // repeated.
            else await journal.requireOwner(record.id, epoch);
            await onStep('commit');
            const startedAt = performance.now();
            const { version, outcome, ...committed } = await prepared.commit();
            const { storedRows } = prepared;
            // The first version of a branch does not follow its base.
            const range = { base: Math.max(base, version - 1), version, storedRows };
            const fault = committed.fault ?? (await findFault(storages, target, range));
            if (fault !== undefined) return this.#revertCommit(target, { entries, scope }, version, fault);
            onBatch({ kind: at(plan.kinds, 0), members: batch.length, startedAt, endedAt: performance.now() });
            const fields = batch.map((member, index) => member.write.toFields(outcome[index]));
            return { kind: 'committed', entries, scope, version, fields };
          });
        } catch (error) {
          // A conflict commits nothing; the next attempt starts from the newest version.
          if (attempt >= limits.writeAttemptsMax || !engine.isConflict(error)) throw error;
        }
      }
    } catch (error) {
      if (entries === undefined) {
        scope?.end();
        return refuse(error);
      }
      noteLostLease(this.#parts, write, error);
      const isRefused = isClearRefusal(error) || engine.isConflict(error) || error instanceof NotOwner;
      return isRefused ? this.#abort({ entries, scope }, error) : this.#verify(target, { entries, scope }, error);
    }
  }

  async #begin(
    batch: Batch,
    { expected: outcomes, addedRows, transactionId }: PreparedCommit<readonly unknown[]>,
    base: Pick<NewEntry, 'baseVersion' | 'epoch'>,
  ): Promise<readonly NewEntry[]> {
    const { responses, onStep } = this.#parts;
    await onStep('begin');
    const generation = responses.startMarks();
    const entries = batch.map(({ write }, index) => {
      const outcome = outcomes?.[index];
      const rule = outcome === undefined ? write.rule : { from: 'values' as const, fields: write.toFields(outcome) };
      const expected = { kinds: write.plan.kinds, addedRows, transactionId, rule };
      return toEntry(write, { ...base, generation, expected });
    });
    try {
      const [first, ...others] = entries;
      if (first !== undefined) await beginEntries(this.#parts, [batch[0].write], [first, ...others]);
    } catch (error) {
      // The entries may exist even if the catalog's commit failed.
      responses.abort(entries.map(({ id }) => id));
      throw error;
    }
    return entries;
  }

  async #verify(target: WriteTarget, pending: PendingBatch, error: unknown): Promise<CommitResult> {
    const { entries } = pending;
    await this.#parts.onStep('verify');
    try {
      const verdict = await findOrFenceCommit(this.#parts, target, at(entries, 0));
      if (verdict.kind === 'not-committed') return this.#abort(pending, error);
      if (verdict.kind === 'committed') {
        const { commit, rowsBefore } = verdict;
        const { version } = commit;
        const fault = await findFault(this.#parts.storages, target, { base: version - 1, version });
        if (fault !== undefined) return await this.#revertCommit(target, pending, version, fault);
        const fields = entries.map((entry) => rebuildFields(readExpectation(entry).rule, commit, rowsBefore));
        return { kind: 'committed', ...pending, version, fields };
      }
    } catch {
      // Without a verdict the write is in doubt too.
    }
    return this.#leaveInDoubt(pending, error);
  }

  /** Restores the version before the write. No other write runs meanwhile. */
  async #revertCommit(
    target: WriteTarget,
    pending: PendingBatch,
    version: number,
    fault: ServiceError,
  ): Promise<CommitResult> {
    try {
      const { tableId, epoch } = at(pending.entries, 0);
      await this.#parts.journal.requireOwner(tableId, epoch);
      await this.#parts.engine.restoreVersion(target, version - 1, version);
      // Must be durable before the entries are removed: after a power loss, nothing else would revert the commit.
      await pending.scope?.sync();
      return this.#abort(pending, fault);
    } catch (error) {
      return this.#leaveInDoubt(pending, error);
    }
  }

  #abort({ entries, scope }: PendingBatch, error: unknown): FailedWrite {
    this.#parts.responses.abort(entries.map(({ id }) => id));
    scope?.end();
    return refuse(error);
  }

  #leaveInDoubt({ entries, scope }: PendingBatch, error: unknown): FailedWrite {
    this.#parts.inDoubtWrites.add(entries);
    scope?.end();
    return { kind: 'in-doubt', error: inDoubt(error) };
  }

  /** Steps 7 and 8: sync, record (invariants 8 and 9). The HTTP layer marks and sends the response. */
  async #finish(batch: Batch, { entries, scope, version, fields }: CommittedBatch): Promise<void> {
    const { journal, inDoubtWrites, onStep, onCommit, sync } = this.#parts;
    let isSynced = false;
    let recorded: Awaited<ReturnType<Journal['record']>>;
    try {
      await onStep('sync');
      await scope?.sync();
      isSynced = true;
      await onStep('record');
      const commits = batch.map(({ write }, index) => toCommit(write, at(entries, index), version, at(fields, index)));
      recorded = await journal.record(commits, sync === 'full');
    } catch (error) {
      noteLostLease(this.#parts, batch[0].write, error);
      // Committed, but not durable for certain, or not recorded. The storage's error explains the former.
      inDoubtWrites.add(entries);
      const reported = isSynced ? inDoubt(error) : asServiceError(error);
      for (const member of batch) member.settle({ kind: 'in-doubt', error: reported });
      return;
    } finally {
      scope?.end();
    }
    inDoubtWrites.untrack(entries);
    const { table, plan } = batch[0].write;
    const isAppend = plan.kinds.every((kind) => kind === 'append');
    await onCommit(table, { isAppend, mayChangeIndexes: !plan.kinds.every((kind) => ROW_CHANGES.has(kind)) });
    for (const [index, { write, settle }] of batch.entries()) {
      const commit = { version, fields: at(fields, index), recorded: recorded[index] };
      settle(toSuccess(this.#parts, write, at(entries, index), commit));
    }
  }

  /** Opens the latest state of the table. After a failure, its cached handles are dropped. */
  async #withTable<Value>(
    target: WriteTarget,
    mayBeMissing: boolean,
    work: (table: OpenTable) => Promise<Value>,
  ): Promise<Value> {
    const { engine } = this.#parts;
    if (mayBeMissing && (await engine.findLatestVersion(target)) === undefined) return work(MISSING);
    return engine.useLatest(target, async (table) => {
      try {
        return await work(table);
      } catch (error) {
        table.forget();
        throw error;
      }
    });
  }
}

const ROW_CHANGES: ReadonlySet<CommitKind> = new Set(['append', 'update', 'delete']);

/** A batch whose journal entries are written. */
interface PendingBatch {
  readonly entries: readonly NewEntry[];
  readonly scope: SyncScope | undefined;
}

interface CommittedBatch extends PendingBatch {
  readonly kind: 'committed';
  readonly version: number;
  /** The fields of each member's reply, in order. */
  readonly fields: readonly Fields[];
}

type CommitResult = CommittedBatch | FailedWrite;

/** What a plan sees if there is no data and it may create the table. */
const MISSING: OpenTable = {
  get native(): never {
    throw new Error('There is no table.');
  },
  version: async () => 0,
  knownVersion: () => 0,
  schema: async () => ({ fields: [], metadata: new Map() }),
  moved: () => {},
  forget: () => {},
};

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error('Each member of a batch has its entry and its fields.');
  return item;
}

/** Internal: a batch that cannot be prepared is split. */
function cannotShare(): ServiceError {
  return new ServiceError('Internal', 'The writes cannot share a commit.');
}
