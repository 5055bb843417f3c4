import { setTimeout as sleep } from 'node:timers/promises';
import type { JournalEntry, NewEntry } from '../catalog/catalog.ts';
import { NotOwner, ServiceError } from '../errors/service-error.ts';
import type { SyncScope } from '../storage/storage.ts';
import { toCommit, toEntry, toReplayed } from './journal-entries.ts';
import { prepareUndo } from './recovery/undo-commits.ts';
import { findFault } from './recovery/verify.ts';
import { asServiceError, inDoubt, isClearRefusal, refuse } from './refusals.ts';
import type { FailedWrite, JournaledWrite, MultiCommitWrite, SucceededWrite, WriteResult } from './write.ts';
import { beginEntries, noteLostLease, requireExpectedVersion, runReplayable, toSuccess } from './shared-steps.ts';
import type { PipelineParts } from './shared-steps.ts';

interface UnfinishedWrite {
  readonly entry: NewEntry;
  /** A commit may still be on its way to an object store. */
  readonly mayArrive: boolean;
}

/**
 * The protocol for a write that takes several engine commits, one for each chunk of its data. It is all or nothing:
 * readers see the base version until the write is recorded, and any failure after the first engine call restores it. So
 * there is nothing to verify.
 */
export class MultiCommitPipeline {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  async run<Outcome>(write: MultiCommitWrite<Outcome>): Promise<WriteResult> {
    const { queues, engine } = this.#parts;
    return runReplayable(
      this.#parts,
      write,
      async () =>
        new Promise<WriteResult>((resolve, reject) => {
          queues
            .run(write.table.location, async () => engine.runBulk(async () => this.#write(write, resolve)), {
              caller: write.request.caller,
            })
            .then(resolve, reject);
        }),
    );
  }

  /**
   * Holds the queue to the end, because restoring the base version would lose the commits of other writes. While the
   * restore is retried, the caller already gets the failure.
   */
  async #write<Outcome>(
    write: MultiCommitWrite<Outcome>,
    onFailed: (failed: FailedWrite) => void,
  ): Promise<WriteResult> {
    const { engine, storages, responses, inDoubtWrites, onStep } = this.#parts;
    const { plan, table, branch } = write;
    const target = { location: table.location, branch };
    const storage = storages.of(table.location.root);
    let scope: SyncScope | undefined;
    try {
      await onStep('own');
      const { epoch } = await inDoubtWrites.own(table);
      inDoubtWrites.requireUndone(write);
      await write.confirm?.();
      await storage.requireRoot();
      scope = await storage.beginSync(table.location);
      const { baseVersion, transactionId } = await plan.prepare();
      requireExpectedVersion(write, baseVersion);
      const expected = { kinds: [], isMultiCommit: true, transactionId, rule: { from: 'nothing' } } as const;
      const entry = toEntry(write, { baseVersion, epoch, generation: responses.startMarks(), expected });
      let phase: 'beginning' | 'committing' | 'syncing' | 'recording' = 'beginning';
      try {
        await onStep('begin');
        await beginEntries(this.#parts, [write], [entry]);
        await engine.holdReaders(target, baseVersion);
        await onStep('commit');
        phase = 'committing';
        const { version, outcome } = await plan.write();
        const fault = await findFault(storages, target, { base: baseVersion, version });
        if (fault !== undefined) throw fault;
        await onStep('sync');
        phase = 'syncing';
        await scope.sync();
        phase = 'recording';
        return await this.#record(write, entry, { version, fields: write.toFields(outcome) });
      } catch (error) {
        noteLostLease(this.#parts, write, error);
        if (phase === 'syncing') {
          // Undone in the background once the disk works again; after a failed sync, at the next start.
          inDoubtWrites.add([entry]);
          return { kind: 'in-doubt', error: asServiceError(error) };
        }
        const failed = refuse(error);
        // Until it is known whether the record was written, the write is in doubt.
        const early: FailedWrite = phase === 'recording' ? { kind: 'in-doubt', error: inDoubt(error) } : failed;
        const mayArrive = phase === 'committing' && !isClearRefusal(error);
        const undone = await this.#undo(write, { entry, mayArrive }, () => onFailed(early));
        if (undone === 'undone') return failed;
        return undone === 'left' ? early : undone;
      }
    } finally {
      plan.close();
      scope?.end();
    }
  }

  async #record(
    write: JournaledWrite,
    entry: NewEntry,
    { version, fields }: Pick<SucceededWrite, 'version' | 'fields'>,
  ): Promise<WriteResult> {
    const { journal, onStep, sync } = this.#parts;
    await onStep('record');
    const [recorded] = await journal.record([toCommit(write, entry, version, fields)], sync === 'full');
    await this.#publish(write);
    return toSuccess(this.#parts, write, entry, { version, fields, recorded });
  }

  async #publish({ table, branch }: JournaledWrite): Promise<void> {
    this.#parts.engine.releaseReaders({ location: table.location, branch });
    await this.#parts.onCommit(table, { isAppend: false, mayChangeIndexes: true });
  }

  /**
   * Other writers wait during the first attempts; if these take too long, they are refused until the undo succeeds in
   * the background. Returns the result if the write was recorded after all, and `left` if it is undone later.
   */
  async #undo(
    write: JournaledWrite,
    { entry, mayArrive }: UnfinishedWrite,
    onDelay: () => void,
  ): Promise<WriteResult | 'undone' | 'left'> {
    const { engine, journal, fences, inDoubtWrites, idempotency, responses } = this.#parts;
    const target = { location: write.table.location, branch: write.branch };
    const undo = prepareUndo(this.#parts, write.table, entry);
    let isDelayed = false;
    const end = (kept?: JournalEntry): void => {
      if (isDelayed) idempotency.endInDoubt(entry.id, kept, true);
    };
    for (let milliseconds = UNDO_MILLISECONDS_MIN; milliseconds <= UNDO_MILLISECONDS_MAX; milliseconds *= 2) {
      try {
        // The transaction that records the write may have been committed although its reply was lost.
        const kept = await journal.find(entry.id);
        if (kept?.state === 'committed') {
          end(kept);
          await this.#publish(write);
          return { ...toReplayed(kept), kind: 'committed', properties: write.table.properties };
        }
        // Invariant 17: restore the base version only after no late commit can follow it.
        if (mayArrive) await fences.fence(target, entry);
        await undo();
        end();
        return 'undone';
      } catch (error) {
        if (error instanceof ServiceError && error.kind === 'TableNotFound') {
          end();
          responses.abort([entry.id]);
          return 'undone';
        }
        if (error instanceof NotOwner) break;
        // The same request waits until this one has ended.
        if (!isDelayed) idempotency.addInDoubt(entry);
        isDelayed = true;
        onDelay();
        await sleep(milliseconds, undefined, { ref: false });
      }
    }
    // Undone in the background, or by the new owner. Until then the catalog pins the readers, unless the write was
    // recorded.
    engine.releaseReaders(target);
    inDoubtWrites.add([entry]);
    return 'left';
  }
}

const UNDO_MILLISECONDS_MIN = 100;
const UNDO_MILLISECONDS_MAX = 5000;
