import { setTimeout as sleep } from 'node:timers/promises';
import type { JournalEntry, NewEntry } from '../catalog/catalog.ts';
import type { Committed } from '../engine/engine.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { SyncScope } from '../storage/storage.ts';
import { toCommit, toEntry, toResponseRef } from './journal-entries.ts';
import { toReplayed } from './idempotency/idempotency.ts';
import { inDoubt, notKept, toServiceError, versionDiffers } from './refusals.ts';
import { UndoCommits } from './recovery/undo-commits.ts';
import type { FailedWrite, MultiCommitWrite, WriteResult } from './write.ts';
import type { PipelineParts } from './write-pipeline.ts';

/**
 * The same protocol for a write that takes several commits of the engine, one for each chunk of its data. It is all or
 * nothing: readers see the base version until the write is recorded, and from the first call of the engine on any failure
 * restores the base version. So there is nothing to verify.
 */
export class MultiCommitPipeline {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  async run<Outcome>(write: MultiCommitWrite<Outcome>): Promise<WriteResult> {
    const { idempotency, queues, engine, onStep } = this.#parts;
    try {
      return await idempotency.singleWrite(write.request, async () => {
        await onStep('replay');
        const replayed = await idempotency.findReplay(write.request);
        if (replayed !== undefined) return replayed;

        await onStep('enqueue');
        return new Promise<WriteResult>((resolve, reject) => {
          queues
            .run(write.table.location, async () => engine.runBulk(async () => this.#write(write, resolve)))
            .then(resolve, reject);
        });
      });
    } catch (error) {
      return { kind: 'refused', error: toServiceError(error) };
    }
  }

  /**
   * The queue is kept to the end: what another write commits now would not be seen, and would be lost when the base version
   * is restored. When that has to be retried, the caller is told of the failure meanwhile.
   */
  async #write<Outcome>(
    write: MultiCommitWrite<Outcome>,
    onFailed: (failed: FailedWrite) => void,
  ): Promise<WriteResult> {
    const { engine, storages, coordination, doubts, onStep } = this.#parts;
    const { plan, table, branch } = write;
    const storage = storages.of(table.location.root);
    let scope: SyncScope | undefined;
    try {
      await onStep('own');
      const { epoch } = await coordination.own(table);
      doubts.requireUndone(write);
      await storage.requireRoot();
      scope = await storage.beginSync(table.location);
      const { baseVersion } = await plan.prepare();
      const entry = this.#toEntry(write, { baseVersion, epoch });
      let isUnsynced = false;
      let isRecording = false;
      try {
        await this.#begin(write, entry);
        await engine.holdReaders({ location: table.location, branch }, baseVersion);
        await onStep('commit');
        const committed = await plan.write();
        this.#requireIntact(write, baseVersion, committed.version);
        await onStep('sync');
        isUnsynced = true;
        await scope.sync();
        isUnsynced = false;
        isRecording = true;
        return await this.#record(write, entry, committed);
      } catch (error) {
        if (isUnsynced) {
          // Undone in the background, when the disk lets it; a disk that failed does so after the next start.
          doubts.add([entry]);
          return { kind: 'in-doubt', error: toServiceError(error) };
        }
        const failed = { kind: 'refused', error: toServiceError(error) } as const;
        // Until it is known whether the record was made, the write is in doubt, not refused.
        const early: FailedWrite = isRecording ? { kind: 'in-doubt', error: inDoubt(error) } : failed;
        return (await this.#undo(write, entry, () => onFailed(early))) ?? failed;
      }
    } finally {
      plan.close();
      scope?.end();
    }
  }

  #requireIntact({ table: { location }, branch }: MultiCommitWrite<unknown>, base: number, latest: number): void {
    const storage = this.#parts.storages.of(location.root);
    for (let version = base + 1; version <= latest; version += 1) {
      if (storage.inspectCommit(location, branch, version)?.isIntact === false) throw notKept();
    }
  }

  #toEntry(
    write: MultiCommitWrite<unknown>,
    { baseVersion, epoch }: { readonly baseVersion: number; readonly epoch: number },
  ): NewEntry {
    const { idempotency, makeId } = this.#parts;
    const { expectedVersion } = write.request;
    if (expectedVersion !== undefined && expectedVersion !== baseVersion) {
      throw versionDiffers(expectedVersion, baseVersion);
    }
    const expected = { kinds: [], isMultiCommit: true, rule: { from: 'nothing' } } as const;
    const generation = idempotency.startMarks();
    return toEntry(write, { id: makeId(), baseVersion, epoch, generation, expected });
  }

  async #begin(write: MultiCommitWrite<unknown>, entry: NewEntry): Promise<void> {
    const { idempotency, doubts, journal, onStep, sync } = this.#parts;
    await onStep('begin');
    const removes = idempotency.takeRemovable();
    const bounds = doubts.unboundedOf(write);
    // Durable in any case: the hold must not be lost while the commits that it hides are not.
    await journal.begin([entry], { bounds, removes, isDurable: sync === 'full' });
    idempotency.removed(removes);
    doubts.bounded(bounds);
  }

  async #record<Outcome>(
    write: MultiCommitWrite<Outcome>,
    entry: NewEntry,
    { version, outcome }: Committed<Outcome>,
  ): Promise<WriteResult> {
    const { engine, journal, onStep, onCommit, sync } = this.#parts;
    await onStep('record');
    const fields = write.toFields(outcome);
    const [recorded] = await journal.record([toCommit(write, entry, version, fields)], sync === 'full');
    engine.releaseReaders({ location: write.table.location, branch: write.branch });
    onCommit(write.table);
    const { transactionId, properties = write.table.properties } = recorded ?? {};
    if (recorded === undefined) this.#parts.idempotency.abort([entry.id]);
    const response = recorded === undefined ? undefined : toResponseRef(entry);
    return { kind: 'committed', version, transactionId, properties, fields, response };
  }

  /**
   * Other writers wait while it is tried; when that takes too long they are refused until it is done in the background.
   * Gives the result if the write was recorded after all.
   */
  async #undo(
    write: MultiCommitWrite<unknown>,
    entry: NewEntry,
    onDelay: () => void,
  ): Promise<WriteResult | undefined> {
    const { journal, doubts, idempotency } = this.#parts;
    const undo = new UndoCommits(this.#parts, write.table, entry);
    let isTold = false;
    const end = (kept?: JournalEntry): void => {
      if (isTold) idempotency.endDoubt(entry.id, kept, true);
    };
    for (let milliseconds = UNDO_MILLISECONDS_MIN; milliseconds <= UNDO_MILLISECONDS_MAX; milliseconds *= 2) {
      try {
        // The transaction that records the write may have been committed, and its reply lost.
        const kept = await journal.find(entry.id);
        if (kept?.state === 'committed') {
          end(kept);
          return this.#succeed(write, kept);
        }
        await undo.run();
        end();
        return undefined;
      } catch (error) {
        if (error instanceof ServiceError && error.kind === 'TableNotFound') {
          end();
          idempotency.abort([entry.id]);
          return undefined;
        }
        // The same request waits for the end of this one.
        if (!isTold) idempotency.addDoubt(entry);
        isTold = true;
        onDelay();
        await sleep(milliseconds, undefined, { ref: false });
      }
    }
    doubts.add([entry]);
    return undefined;
  }

  #succeed({ table, branch }: MultiCommitWrite<unknown>, entry: JournalEntry): WriteResult {
    this.#parts.engine.releaseReaders({ location: table.location, branch });
    this.#parts.onCommit(table);
    return { ...toReplayed(entry), kind: 'committed', properties: table.properties };
  }
}

const UNDO_MILLISECONDS_MIN = 100;
const UNDO_MILLISECONDS_MAX = 5000;
