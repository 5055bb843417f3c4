import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { CheckedStream } from '../arrow/stream/checked-stream.ts';
import type { Catalog, CompletedRequest, Reservation } from '../catalog/catalog.ts';
import type { WriteOutcome } from '../engine/engine.ts';
import type { Limits } from '../model/limits.ts';
import type { TableLocation, TableRecord } from '../model/table.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { BackgroundWork, runSynced } from './background-work.ts';
import { Idempotency } from './idempotency/idempotency.ts';
import { ResponseMarks } from './idempotency/response-marks.ts';
import type { PastMarks } from './idempotency/response-marks.ts';
import { Responses } from './idempotency/responses.ts';
import { MultiCommitPipeline } from './multi-commit.ts';
import { WriteQueues } from './queue/write-queues.ts';
import { InDoubtWrites } from './recovery/in-doubt-writes.ts';
import { inspectCommits } from './recovery/verify.ts';
import { notKept } from './refusals.ts';
import { Inserts } from './uploads/inserts.ts';
import type { RowsWrite } from './uploads/inserts.ts';
import { Spool } from './uploads/spool.ts';
import { Uploads } from './uploads/uploads.ts';
import type { PartOptions, UploadKey } from './uploads/uploads.ts';
import type { Fields, OnWriteStep, TableWrite, WriteRequest, WriteResult } from './write.ts';
import { WritePipeline } from './write-pipeline.ts';
import type { PipelineParts } from './write-pipeline.ts';

export type { BackgroundWork, TimedOptimization } from './background-work.ts';
export type { RowsWrite } from './uploads/inserts.ts';
export type { InsertMode, UploadKey } from './uploads/uploads.ts';
export type * from './write.ts';

export interface WritesSettings extends Pick<
  PipelineParts,
  'engine' | 'storages' | 'coordination' | 'sync' | 'onBatch'
> {
  readonly catalog: Catalog;
  readonly telemetry: Telemetry;
  readonly limits: Limits;
  /** Where responses are marked. */
  readonly marksFile: string;
  /** For data that has not arrived completely. */
  readonly spoolFolder: string;
  readonly onStep?: OnWriteStep | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** As of now. */
export interface WriteCounts {
  /** Writes that have not been answered yet, whether they wait, commit or are being recorded. */
  readonly inFlight: number;
  readonly queuesRunning: number;
  readonly queuesWaiting: number;
}

/** How often idle uploads and expired keys are removed. */
const EXPIRY_MILLISECONDS = 60_000;

/** All that changes a table. Each table is written by one write at a time; what is reported is durable. */
export class Writes {
  readonly background: BackgroundWork;
  readonly idempotency: Idempotency;
  readonly responses: Responses;
  readonly #settings: WritesSettings;
  readonly #queues: WriteQueues;
  readonly #marks: ResponseMarks;
  readonly #inDoubtWrites: InDoubtWrites;
  readonly #pipeline: WritePipeline;
  readonly #inserts: Inserts;
  readonly #spool: Spool;
  readonly #uploads: Uploads;
  readonly #expiry: NodeJS.Timeout;
  #onCommit: (table: TableRecord) => void = () => {};
  #past: { readonly marks: PastMarks | undefined } | undefined;

  private constructor(settings: WritesSettings, spool: Spool) {
    const { engine, storages, catalog, limits, onStep = () => {} } = settings;
    const { journal } = catalog;
    this.#settings = settings;
    this.#spool = spool;
    const queues = (this.#queues = new WriteQueues(limits.engine));
    const marks = (this.#marks = new ResponseMarks(settings.marksFile, readBootId()));
    const responses = (this.responses = new Responses({ journal, marks, limits: limits.journal, now: settings.now }));
    const idempotency = (this.idempotency = new Idempotency({ journal, responses }));
    const shared = { engine, storages, queues, idempotency };
    this.#inDoubtWrites = new InDoubtWrites({ ...shared, catalog, telemetry: settings.telemetry });
    const parts: PipelineParts = {
      ...shared,
      journal,
      responses,
      inDoubtWrites: this.#inDoubtWrites,
      coordination: settings.coordination,
      limits: limits.engine,
      sync: settings.sync,
      makeId: randomUUID,
      onStep,
      onBatch: settings.onBatch,
      onCommit: (table) => this.#onCommit(table),
    };
    this.#pipeline = new WritePipeline(parts);
    const multiCommit = new MultiCommitPipeline(parts);
    this.#inserts = new Inserts({ engine, pipeline: this.#pipeline, multiCommit, spool });
    this.background = new BackgroundWork({ ...shared, attemptsMax: limits.engine.writeAttemptsMax });
    this.#uploads = new Uploads({
      limits: limits.engine,
      now: () => performance.now(),
      discard: async (chunks) => spool.remove(chunks),
    });
    this.#expiry = setInterval(() => this.#expire(), EXPIRY_MILLISECONDS).unref();
  }

  static async open(settings: WritesSettings): Promise<Writes> {
    const { spoolFolder, limits } = settings;
    return new Writes(settings, await Spool.open({ folder: spoolFolder, bytesMax: limits.engine.spoolBytesMax }));
  }

  /**
   * Verifies writes that the former process left pending. To be called before the first write. Those that cannot be
   * resolved are retried in the background; gives the failures.
   */
  async resolvePending(): Promise<readonly unknown[]> {
    return this.#inDoubtWrites.resolvePending();
  }

  /** Next: which of its responses were never begun. May be called again after a failure. */
  async recoverResponses(): Promise<void> {
    // Read once: then the marks of this process replace them.
    this.#past ??= { marks: this.#marks.readPast() };
    await this.responses.recover(this.#past.marks);
  }

  /** Called after each commit. */
  onCommit(listener: (table: TableRecord) => void): void {
    this.#onCommit = listener;
  }

  async run<Outcome>(write: TableWrite<Outcome>): Promise<WriteResult> {
    return this.#pipeline.run(write);
  }

  async insert(write: RowsWrite, stream: CheckedStream): Promise<WriteResult> {
    return this.#inserts.insert(write, stream);
  }

  /** An insert in several requests; gives its id. */
  async beginUpload(upload: Omit<UploadKey, 'id'>): Promise<string> {
    return this.#uploads.begin(upload);
  }

  /** Gives the rows of the part; they are visible once the upload is completed. The stream is opened only if the part is accepted. */
  async insertPart(upload: UploadKey, open: () => Promise<CheckedStream>, options: PartOptions): Promise<number> {
    const part = await this.#uploads.addPart(upload, options, async () =>
      this.#inserts.receivePart(upload.target, await open(), options.mode),
    );
    return part.chunks.reduce((rows, chunk) => rows + chunk.rows, 0);
  }

  async completeUpload(upload: UploadKey, write: Omit<RowsWrite, 'mode'>): Promise<WriteResult> {
    // The upload itself does not survive a restart, its result does.
    const replayed = await this.idempotency.findReplay(write.request);
    if (replayed !== undefined) return replayed;
    return this.#uploads.complete(upload, async (data) => this.#inserts.insertParts(write, data));
  }

  async abortUpload(upload: UploadKey): Promise<void> {
    await this.#uploads.abort(upload);
  }

  /** A request that is one catalog transaction, of which it is not known whether it was committed. */
  addInDoubt({ id, key, digest }: CompletedRequest, { fills, tableId }: Reservation): void {
    this.#inDoubtWrites.add([{ id, key, digest, tableId: fills ?? tableId, branch: undefined, expected: '{}' }]);
  }

  /** The entry of a request that is one catalog transaction, to be written by it. */
  toCompleted(request: WriteRequest, fields: Fields): CompletedRequest {
    const generation = request.key === undefined ? this.responses.startMarks() : undefined;
    const { key } = request;
    return { id: randomUUID(), key, digest: request.digest(), generation, outcome: JSON.stringify(fields) };
  }

  /** Creates a table at a new location. It is invisible until the catalog publishes it: there is nothing to journal. */
  async createTable(
    location: TableLocation,
    stream: CheckedStream,
    storageOptions: Readonly<Record<string, string>>,
  ): Promise<WriteOutcome> {
    const { engine, storages } = this.#settings;
    // In the queue, because its namespace may be dropped meanwhile: the removal must not run into the writing.
    return this.exclusive(location, async () => {
      const outcome = await engine.createTable(location, stream, storageOptions);
      const range = { base: 0, version: outcome.version };
      if (!inspectCommits(storages, { location, branch: undefined }, range).isIntact) throw notKept();
      return outcome;
    });
  }

  /**
   * Atomic work that creates no version, such as a tag, which is one file; or that its caller undoes. No other
   * write of the table runs meanwhile, and it is durable when it is reported.
   */
  async exclusive<Value>(location: TableLocation, work: () => Promise<Value>): Promise<Value> {
    return this.#queues.run(location, async () => runSynced(this.#settings.storages, location, work));
  }

  /** Copies a version of a table into a new one; the source does not change meanwhile. */
  async cloneTable(source: TableLocation, target: TableLocation, work: () => Promise<number>): Promise<number> {
    return runSynced(this.#settings.storages, target, async () => this.#queues.run(source, work));
  }

  /** Waits for the writes before it, and for work beside them that cannot be stopped. Data that is not there is fine. */
  async removeTable(location: TableLocation): Promise<void> {
    const { engine, storages } = this.#settings;
    // An index build would bring the folder back.
    await this.background.whenOver(location);
    await this.#queues.run(location, async () => {
      await engine.dropTable(location);
      storages.of(location.root).forget(location);
    });
  }

  step(step: 'mark' | 'send' | 'sent'): void | Promise<void> {
    return this.#settings.onStep?.(step);
  }

  counts(): WriteCounts {
    return {
      inFlight: this.idempotency.runningCount,
      queuesRunning: this.#queues.running,
      queuesWaiting: this.#queues.waiting,
    };
  }

  /** Refuses while a write has kept others waiting for so long that the engine must have lost it. */
  requireMoving(): void {
    this.#queues.requireMoving();
  }

  async close(): Promise<void> {
    clearInterval(this.#expiry);
    this.#inDoubtWrites.close();
    await this.responses.close();
    await this.#spool.close();
  }

  #expire(): void {
    const tasks = [this.#uploads.expire(), this.#settings.catalog.journal.prune()];
    // What stays is removed the next time.
    void Promise.allSettled(tasks);
  }
}

/** Marks survive a kill, not a restart of the machine. Where the boot has no id, no marks are trusted after a restart. */
function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return randomUUID();
  }
}
