import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckedStream } from '../arrow/stream/checked-stream.ts';
import type { Catalog, CompletedRequest, JournalEntry, Reservation } from '../catalog/catalog.ts';
import type { LocateOptions, Owner } from '../coordination/coordination.ts';
import type { WriteOutcome } from '../engine/engine.ts';
import { NotOwner } from '../errors/service-error.ts';
import type { Limits } from '../model/limits.ts';
import { changeInDoubt } from '../model/refusals.ts';
import type { TableLocation, TableRecord } from '../model/table.ts';
import { SerialRuns } from '../model/time/serial-runs.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { BackgroundWork, removeVersions, runSynced } from './background-work.ts';
import { BatchCommits } from './batch-commit.ts';
import type { BatchWrite } from './batch-commit.ts';
import { Idempotency } from './idempotency/idempotency.ts';
import { ResponseMarks } from './idempotency/response-marks.ts';
import { Responses } from './idempotency/responses.ts';
import { branchNameOf, readExpectation } from './journal-entries.ts';
import { MultiCommitPipeline } from './multi-commit.ts';
import { WriteQueues } from './queue/write-queues.ts';
import { Fences } from './recovery/fences.ts';
import { InDoubtWrites } from './recovery/in-doubt-writes.ts';
import { findFault } from './recovery/verify.ts';
import { orInDoubt } from './refusals.ts';
import { Inserts } from './uploads/inserts.ts';
import type { RowsWrite, WholeWrite } from './uploads/inserts.ts';
import { Spool } from './uploads/spool.ts';
import { Uploads } from './uploads/uploads.ts';
import type {
  Fields,
  JournaledWrite,
  MultiCommitWrite,
  OnCommit,
  OnWriteStep,
  TableWrite,
  WriteRequest,
  WriteResult,
} from './write.ts';
import { WritePipeline } from './write-pipeline.ts';
import type { PipelineParts } from './shared-steps.ts';

export type { BackgroundWork, TimedOptimization } from './background-work.ts';
export type { BatchWrite, BatchedDeletion, BatchedVersion } from './batch-commit.ts';
export type { InsertMode } from './uploads/inserts.ts';
export type { UploadKey } from './uploads/uploads.ts';
export type * from './write.ts';

export interface WritesSettings extends Pick<
  PipelineParts,
  'engine' | 'storages' | 'coordination' | 'sync' | 'onBatch'
> {
  readonly catalog: Catalog;
  readonly telemetry: Telemetry;
  readonly limits: Limits;
  /** Where responses are marked; absent in a cluster. */
  readonly marksFile: string | undefined;
  /** For data that has not arrived completely. */
  readonly spoolFolder: string;
  readonly onStep?: OnWriteStep | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** How long to wait for committed writes to be recorded before the table is removed anyway. */
const RECORDING_MILLISECONDS_MAX = 2000;
const RECORDING_PAUSE_MILLISECONDS = 10;
const OUTLAST_PAUSE_MILLISECONDS = 100;

/** How often idle uploads and expired keys are removed. */
const EXPIRY_MILLISECONDS = 60_000;

/** All changes of tables. Writes to a table run one at a time, and are durable when reported. */
export class Writes {
  readonly background: BackgroundWork;
  readonly idempotency: Idempotency;
  readonly inDoubtWrites: InDoubtWrites;
  readonly queues: WriteQueues;
  readonly responses: Responses;
  /** Inserts in several requests. */
  readonly uploads: Uploads;
  readonly onStep: OnWriteStep;
  onCommit: OnCommit = async () => {};
  readonly #settings: WritesSettings;
  readonly #pipeline: WritePipeline;
  readonly #multiCommit: MultiCommitPipeline;
  readonly #batches: BatchCommits;
  readonly #inserts: Inserts;
  readonly #spool: Spool;
  readonly #expiry: NodeJS.Timeout;
  readonly #serialRuns = new SerialRuns();

  private constructor(settings: WritesSettings, spool: Spool) {
    const { engine, catalog, onStep = () => {}, now } = settings;
    const limits = settings.limits.engine;
    const { journal, tables } = catalog;
    this.#settings = settings;
    this.#spool = spool;
    this.onStep = onStep;
    const queues = (this.queues = new WriteQueues(limits));
    const { marksFile } = settings;
    const marks = marksFile === undefined ? undefined : new ResponseMarks(marksFile, readBootId());
    const responses = (this.responses = new Responses({ journal, marks, limits: settings.limits.journal, now }));
    const idempotency = (this.idempotency = new Idempotency(journal, responses));
    const fences = new Fences({ engine, journal });
    const shared = { ...settings, limits, journal, queues, idempotency, fences };
    const inDoubtWrites = (this.inDoubtWrites = new InDoubtWrites({ ...shared, tables }));
    const onCommit: OnCommit = async (table, options) => this.onCommit(table, options);
    const parts: PipelineParts = { ...shared, responses, inDoubtWrites, onStep, onCommit };
    this.#pipeline = new WritePipeline(parts);
    this.#batches = new BatchCommits({ ...parts, batches: catalog.batches, telemetry: settings.telemetry });
    const multiCommit = (this.#multiCommit = new MultiCommitPipeline(parts));
    const inserts = (this.#inserts = new Inserts({ engine, pipeline: this.#pipeline, multiCommit, spool }));
    this.background = new BackgroundWork(shared);
    const claim = async (table: TableRecord): Promise<void> => {
      if (!(await this.owns(table))) await settings.coordination.claim(table);
    };
    this.uploads = new Uploads({ limits, inserts, spool, idempotency, claim, now: () => performance.now() });
    // The next run removes what this one could not.
    const expire = (): void =>
      void Promise.allSettled([this.uploads.expire(), journal.prune(), this.removeDeletedVersions()]);
    this.#expiry = setInterval(expire, EXPIRY_MILLISECONDS).unref();
  }

  static async open(settings: WritesSettings): Promise<Writes> {
    const { spoolFolder, limits } = settings;
    return new Writes(settings, await Spool.open(spoolFolder, limits.engine.spoolBytesMax));
  }

  /**
   * The node that may write to the table, if it is another one. Otherwise this node may write, and nothing is left
   * pending.
   */
  async locate(table: TableRecord, options?: LocateOptions): Promise<Owner | undefined> {
    const { coordination } = this.#settings;
    const owner = await coordination.locate(table, options);
    if (owner !== undefined) return owner;
    const { hasPending } = await coordination.own(table);
    if (hasPending) await this.queues.run(table.location, async () => this.inDoubtWrites.own(table));
    return undefined;
  }

  /** Whether this node may write to the table. For work without a journal entry, whose `begin` would check that. */
  async owns(table: TableRecord): Promise<boolean> {
    try {
      if ((await this.locate(table)) !== undefined) return false;
      await this.#requireOwner(table);
      return true;
    } catch (error) {
      if (error instanceof NotOwner) return false;
      throw error;
    }
  }

  /**
   * For a commit outside the queue: resolves when no write that another node has begun can undo it. Claims the table,
   * so that no other node can write from a base version before the commit. If the table is too busy to be claimed,
   * waits until the writes that would undo the commit have ended.
   */
  async outlastOthers({ table, branch }: Pick<JournaledWrite, 'table' | 'branch'>): Promise<void> {
    const { coordination, catalog } = this.#settings;
    const name = branchNameOf({ tableId: table.id, branch });
    const undoes = (entry: JournalEntry): boolean =>
      branchNameOf(entry) === name && readExpectation(entry).isMultiCommit === true;
    for (;;) {
      try {
        if (!(await this.owns(table))) await coordination.claim(table);
        if ((await this.locate(table)) === undefined) return;
      } catch (error) {
        if (!(error instanceof NotOwner)) throw error;
        if (!(await catalog.journal.pending(table.id)).some(undoes)) return;
      }
      await sleep(OUTLAST_PAUSE_MILLISECONDS);
    }
  }

  async run<Outcome>(write: TableWrite<Outcome>): Promise<WriteResult> {
    return this.#pipeline.run(write);
  }

  /** Runs one at a time for each table: for writes that are checked against what earlier ones have recorded. */
  async serialize<Value>(tableId: string, run: () => Promise<Value>): Promise<Value> {
    return this.#serialRuns.run(tableId, run);
  }

  /** A write of several commits, which become visible together. */
  async runSeveral<Outcome>(write: MultiCommitWrite<Outcome>): Promise<WriteResult> {
    return this.#multiCommit.run(write);
  }

  /** Versions and other changes of several tables, all or nothing. */
  async runBatch(request: WriteRequest, prepare: () => Promise<BatchWrite>): Promise<WriteResult> {
    return this.#batches.run(request, prepare);
  }

  async insert(write: RowsWrite, stream: CheckedStream): Promise<WriteResult> {
    return this.#inserts.insert(write, stream);
  }

  /** Inserts rows and sets properties in the transaction that makes the rows visible. */
  async insertWhole(write: WholeWrite, stream: CheckedStream): Promise<WriteResult> {
    return this.#inserts.insertWhole(write, stream);
  }

  /** Adds a request that is one catalog transaction whose outcome is unknown. */
  addInDoubt({ id, key, digest }: CompletedRequest, { fills, tableId }: Reservation): void {
    this.inDoubtWrites.add([{ id, key, digest, tableId: fills ?? tableId, branch: undefined, expected: '{}' }]);
  }

  /** The journal entry of a request that is one catalog transaction, for that transaction to write. */
  toCompleted(request: WriteRequest, fields: Fields): CompletedRequest {
    const generation = request.key === undefined ? this.responses.startMarks() : undefined;
    const { key } = request;
    return { id: randomUUID(), key, digest: request.digest(), generation, outcome: JSON.stringify(fields) };
  }

  /**
   * Creates a table at a new location. It is invisible until the catalog publishes it, so there is nothing to journal.
   */
  async createTable(
    location: TableLocation,
    stream: CheckedStream,
    storageOptions: Readonly<Record<string, string>>,
  ): Promise<WriteOutcome> {
    const { engine, storages } = this.#settings;
    // In the queue, because its namespace may be dropped meanwhile: the removal must not overlap the writing.
    return this.exclusive(location, async () => {
      const outcome = await engine.createTable(location, stream, storageOptions);
      const range = { base: 0, version: outcome.version };
      const fault = await findFault(storages, { location, branch: undefined }, range);
      if (fault !== undefined) throw fault;
      return outcome;
    });
  }

  /**
   * Runs atomic work that creates no version, such as a tag (one file), or work that its caller undoes. No other write
   * of the table runs meanwhile, and the work is durable when it is reported.
   */
  async exclusive<Value>(location: TableLocation, work: () => Promise<Value>): Promise<Value> {
    return this.queues.run(location, async () => runSynced(this.#settings.storages, location, work));
  }

  /**
   * Like `exclusive`, for changes that nothing undoes or resolves: they may have been made unless clearly refused. The
   * work calls `confirm` right before the change, after it has read what the change depends on.
   */
  async change<Value>(table: TableRecord, work: (confirm: () => Promise<void>) => Promise<Value>): Promise<Value> {
    return this.exclusive(table.location, async () => {
      await this.inDoubtWrites.own(table);
      const { epoch } = await this.#settings.coordination.own(table);
      const confirm = async (): Promise<void> => this.#requireEpoch(table, epoch);
      await confirm();
      const value = await work(confirm).catch((error: unknown) => {
        throw orInDoubt(error);
      });
      // A new owner may already have removed what the change depends on.
      await confirm().catch((error: unknown) => {
        throw changeInDoubt(error);
      });
      return value;
    });
  }

  /** Copies a state of a table into a new one; the source does not change meanwhile. */
  async cloneTable(source: TableLocation, target: TableLocation, work: () => Promise<number>): Promise<number> {
    return runSynced(this.#settings.storages, target, async () => this.queues.run(source, work));
  }

  /** Detaches a table whose data stays. First, earlier writes are recorded. */
  async release<Value>({ id, location }: TableRecord, work: () => Promise<Value>): Promise<Value> {
    const { journal } = this.#settings.catalog;
    return this.queues.run(location, async () => {
      const giveUpAt = performance.now() + RECORDING_MILLISECONDS_MAX;
      // Writes leave the queue when they are committed, before they are recorded.
      while ((await journal.pending(id)).length > 0 && performance.now() < giveUpAt)
        await sleep(RECORDING_PAUSE_MILLISECONDS);
      return work();
    });
  }

  /** Waits for earlier writes, and for background work that cannot be cancelled. Missing data is not an error. */
  async removeTable(location: TableLocation): Promise<void> {
    const { engine, storages } = this.#settings;
    // An index build would create the folder again.
    await this.background.whenIdle(location);
    await this.queues.run(location, async () => {
      await engine.dropTable(location);
      storages.of(location.root).forget(location);
    });
  }

  /**
   * Removes versions whose deletion was committed but interrupted by an outage or a crash. Skips tables of other nodes.
   */
  async removeDeletedVersions(): Promise<void> {
    const { engine, storages, catalog, telemetry } = this.#settings;
    const { batches, tables } = catalog;
    for (const removal of await batches.listRemovals()) {
      try {
        const table = await tables.findById(removal.tableId);
        if (table === undefined) await batches.finishRemoval(removal.id);
        else if (await this.owns(table)) {
          await this.queues.run(table.location, async () =>
            removeVersions({ engine, storages, batches }, table, [removal]),
          );
        }
      } catch (cause) {
        telemetry.emit({ kind: 'background-failed', task: 'removal of deleted versions', cause });
      }
    }
  }

  /** The cached lease may be outdated, so the catalog is asked. */
  async #requireOwner(table: TableRecord): Promise<void> {
    const { epoch } = await this.#settings.coordination.own(table);
    await this.#requireEpoch(table, epoch);
  }

  async #requireEpoch(table: TableRecord, epoch: number): Promise<void> {
    const { coordination, catalog } = this.#settings;
    try {
      await catalog.journal.requireOwner(table.id, epoch);
    } catch (error) {
      if (error instanceof NotOwner) coordination.lost(table.id);
      throw error;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#expiry);
    this.inDoubtWrites.close();
    await this.responses.close();
    await this.#spool.close();
  }
}

/** Marks survive a kill, not a reboot. If the boot has no id, no marks are trusted after a restart. */
function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return randomUUID();
  }
}
