import type { Catalog, JobRecord, JobSubject, JobSummary } from '../catalog/catalog.ts';
import { NotOwner } from '../errors/not-owner.ts';
import { ServiceError } from '../errors/service-error.ts';
import { formatPath } from '../model/identifier.ts';
import type { JobLimits } from '../model/limits.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { SharedJobs } from './shared-jobs.ts';

export type { JobRecord as Job, JobSummary } from '../catalog/catalog.ts';

export interface NewJob extends JobSubject {
  /** Two jobs with the same key never run at the same time. */
  readonly exclusiveKey: string;
  /** A retry of the request while its job is unfinished joins that job. */
  readonly sameAs: string;
}

/** A job of this process. */
interface OwnJob extends JobRecord {
  readonly subject: NewJob;
}

export type JobResult = Readonly<Record<string, unknown>>;

/**
 * Reports what the job does now. Fails when the job was cancelled, or when another node owns the table by now: a running
 * phase cannot be stopped inside.
 */
export type EnterPhase = (phase: string) => Promise<void> | void;

export interface StartedJob<Result extends JobResult> {
  readonly id: string;
  /** Rejects with an error for the caller. */
  readonly outcome: Promise<Result>;
  /** Resolves when every node can find the job. Absent where one process serves. */
  readonly recorded: Promise<void> | undefined;
}

/** What jobs need where several nodes serve. */
interface SharedParts {
  readonly store: Catalog['jobs'];
  /** Whether this node may write to the table. */
  readonly owns: (tableId: string) => Promise<boolean>;
}

export interface JobsSettings {
  readonly limits: JobLimits;
  readonly telemetry: Telemetry;
  readonly now: () => number;
  readonly makeId: () => string;
  /** Whether the table still exists. */
  readonly hasTable: (tableId: string) => Promise<boolean>;
  /** Absent where one process serves. */
  readonly shared?: SharedParts | undefined;
}

interface Entry {
  job: OwnJob;
  readonly work: (enter: EnterPhase) => Promise<JobResult>;
  readonly outcome: Promise<JobResult>;
  readonly settle: { readonly resolve: (result: JobResult) => void; readonly reject: (error: unknown) => void };
  timer: NodeJS.Timeout | undefined;
}

const WAITING = 'waiting';
const MOVED = 'Another node has taken the table over. The job has changed nothing: start it again.';

/**
 * Work that may outlast its request: index builds and maintenance. It runs and is lost with its process: a job commits
 * everything at its end, so one that is lost has changed nothing. Where several nodes serve, all of them see its state.
 */
export class Jobs {
  readonly #settings: JobsSettings;
  readonly #shared: SharedJobs | undefined;
  /** Oldest first; the oldest ended ones are forgotten. */
  readonly #entries = new Map<string, Entry>();
  /** In the order in which they run. */
  readonly #waiting = new Set<Entry>();
  readonly #running = new Set<Entry>();
  #isClosed = false;

  constructor(settings: JobsSettings) {
    const { shared, telemetry, limits } = settings;
    this.#settings = settings;
    this.#shared =
      shared &&
      new SharedJobs({
        store: shared.store,
        telemetry,
        keptMax: limits.keptMax,
        onCancelRequested: (id) => this.#cancelOwn(id),
      });
  }

  start<Result extends JobResult>(subject: NewJob, work: (enter: EnterPhase) => Promise<Result>): StartedJob<Result> {
    const same = [...this.#waiting, ...this.#running].find(({ job }) => job.subject.sameAs === subject.sameAs);
    const entry = same ?? this.#add(subject, work);
    if (same === undefined) this.#runNext(false);
    const recorded = this.#shared?.save(entry.job);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The same request asks for the same kind of work.
    return { id: entry.job.id, outcome: entry.outcome as Promise<Result>, recorded };
  }

  async find(id: string): Promise<JobRecord | undefined> {
    return this.#entries.get(id)?.job ?? (await this.#shared?.find(id));
  }

  counts() {
    return { running: this.#running.size, waiting: this.#waiting.size };
  }

  /** Newest first. */
  async list(databaseId: string): Promise<readonly JobSummary[]> {
    const own = [...this.#entries.values()]
      .map(({ job }) => job)
      .filter(({ subject }) => subject.databaseId === databaseId)
      .toReversed();
    if (this.#shared === undefined) return own;
    const others = (await this.#shared.list(databaseId)).filter(({ id }) => !this.#entries.has(id));
    // Every node lists them in the same order: the next page may come from another one.
    return [...own, ...others].toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  }

  /** A waiting job ends at once; a running one ends before its next phase, if there is one. */
  async cancel(id: string): Promise<JobRecord | undefined> {
    if (!this.#entries.has(id)) return this.#shared?.cancel(id);
    this.#cancelOwn(id);
    return this.find(id);
  }

  /** No job starts any more, and waiting jobs are cancelled. Resolves when the running ones have ended. */
  async drain(): Promise<void> {
    this.#isClosed = true;
    const outcomes = [...this.#waiting, ...this.#running].map(({ outcome }) => outcome);
    for (const entry of this.#waiting) this.#drop(entry, 'CANCELLED', shuttingDown());
    await Promise.allSettled(outcomes);
  }

  /** Running jobs end before their next phase, if there is one. */
  interrupt(): void {
    void this.drain();
    for (const entry of this.#running) entry.job = { ...entry.job, isCancelRequested: true };
  }

  /** Leaves running jobs to themselves: they commit only at their end, and everything at once. */
  close(): void {
    this.interrupt();
    for (const { job } of this.#running) {
      const { id: jobId, subject, phase, createdAt } = job;
      const milliseconds = this.#settings.now() - createdAt;
      const facts = { jobId, job: subject.kind, table: formatPath(subject.table), phase, milliseconds };
      this.#settings.telemetry.emit({ kind: 'job-interrupted', ...facts });
    }
    this.#shared?.close();
  }

  #cancelOwn(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.job.isCancelRequested || entry.job.endedAt !== undefined) return;
    entry.job = { ...entry.job, isCancelRequested: true };
    if (this.#waiting.has(entry)) this.#drop(entry, 'CANCELLED', new Cancelled());
    else void this.#shared?.save(entry.job);
  }

  #add(subject: NewJob, work: Entry['work']): Entry {
    const { limits, now, makeId } = this.#settings;
    if (this.#isClosed) throw shuttingDown();
    if (this.#running.size >= limits.runningMax) this.#requireQueueSpace(subject.caller);
    const job: OwnJob = {
      id: makeId(),
      subject,
      state: 'IN_PROGRESS',
      phase: WAITING,
      isCancelRequested: false,
      createdAt: now(),
    };
    const entry = newEntry(job, work);
    this.#entries.set(job.id, entry);
    this.#waiting.add(entry);
    const timedOut = unavailable(`The job waited ${limits.waitSeconds} seconds for its turn.`, 30);
    entry.timer = setTimeout(() => this.#drop(entry, 'TIMED_OUT', timedOut), limits.waitSeconds * 1000);
    entry.timer.unref();
    return entry;
  }

  #requireQueueSpace(caller: string): void {
    const { waitingMax, waitingPerCallerMax } = this.#settings.limits;
    const own = [...this.#waiting].filter(({ job }) => job.subject.caller === caller).length;
    if (own >= waitingPerCallerMax) throw unavailable(`${own} jobs of this caller are already waiting.`, 30);
    if (this.#waiting.size >= waitingMax) throw unavailable(`${waitingMax} jobs are already waiting.`, 30);
  }

  #runNext(haveWaited: boolean): void {
    while (this.#running.size < this.#settings.limits.runningMax) {
      const taken = new Set([...this.#running].map(({ job }) => job.subject.exclusiveKey));
      const entry = [...this.#waiting].find(({ job }) => !taken.has(job.subject.exclusiveKey));
      if (entry === undefined) return;
      this.#waiting.delete(entry);
      this.#letOthersPass(entry.job.subject.caller);
      this.#running.add(entry);
      clearTimeout(entry.timer);
      void this.#run(entry, haveWaited);
    }
  }

  /** Round-robin: the jobs that this caller still has go behind those of others. */
  #letOthersPass(caller: string): void {
    for (const entry of [...this.#waiting].filter(({ job }) => job.subject.caller === caller)) {
      this.#waiting.delete(entry);
      this.#waiting.add(entry);
    }
  }

  async #run(entry: Entry, hasWaited: boolean): Promise<void> {
    const enter: EnterPhase = (phase) => {
      if (entry.job.isCancelRequested) throw new Cancelled();
      entry.job = { ...entry.job, phase };
      return this.#requireOwner(entry);
    };
    try {
      if (hasWaited) await this.#requireTable(entry);
      const result = await entry.work(enter);
      await this.#requireTable(entry);
      this.#end(entry, { state: 'DONE', result });
      this.#settle(entry, () => entry.settle.resolve(result));
    } catch (error) {
      await this.#fail(entry, error);
    }
    this.#runNext(true);
  }

  /** Work on a table that another node writes by now would be in its way. Nothing to wait for where one process serves. */
  #requireOwner(entry: Entry): Promise<void> | undefined {
    const { shared } = this.#settings;
    if (shared === undefined) return undefined;
    void this.#shared?.save(entry.job);
    return this.#checkOwner(entry, shared);
  }

  async #checkOwner(entry: Entry, { owns }: SharedParts): Promise<void> {
    if (!(await owns(entry.job.subject.tableId))) throw new NotOwner(MOVED);
    if (entry.job.isCancelRequested) throw new Cancelled();
  }

  /** Work on a table that was dropped meanwhile has no effect. */
  async #requireTable({ job: { subject } }: Entry): Promise<void> {
    // An unreachable catalog does not fail the job.
    const hasTable = await this.#settings.hasTable(subject.tableId).catch(() => true);
    if (!hasTable) throw new ServiceError('TableNotFound', 'The table was dropped before the job was done.');
  }

  async #fail(entry: Entry, cause: unknown): Promise<void> {
    if (cause instanceof Cancelled) {
      this.#end(entry, { state: 'CANCELLED' });
      this.#settle(entry, () => entry.settle.reject(cause));
      return;
    }
    const error = await this.#requireTable(entry).then(
      () => cause,
      (missing: unknown) => missing,
    );
    const isFault = !(error instanceof ServiceError) || error.traits.status >= 500;
    if (isFault && !(error instanceof NotOwner)) {
      const task = `job ${entry.job.subject.kind}`;
      this.#settings.telemetry.emit({ kind: 'background-failed', task, cause: error });
    }
    this.#end(entry, { state: 'FAILED', failure: toFailure(entry.job.phase, error) });
    this.#settle(entry, () => entry.settle.reject(error));
  }

  /** Ends a job that waits. */
  #drop(entry: Entry, state: 'CANCELLED' | 'TIMED_OUT', error: ServiceError): void {
    clearTimeout(entry.timer);
    this.#end(entry, { state, failure: toFailure(WAITING, error) });
    this.#settle(entry, () => entry.settle.reject(error));
  }

  /** Once a caller has the outcome, every node shows it. */
  #settle({ job }: Entry, settle: () => void): void {
    const saved = this.#shared?.save(job);
    if (saved === undefined) settle();
    else void saved.then(settle);
  }

  #end(entry: Entry, end: Partial<OwnJob>): void {
    this.#waiting.delete(entry);
    this.#running.delete(entry);
    const endedAt = this.#settings.now();
    entry.job = { ...entry.job, ...end, endedAt };
    const { id: jobId, subject, state: outcome, createdAt } = entry.job;
    const milliseconds = endedAt - createdAt;
    this.#settings.telemetry.emit({ kind: 'job-ended', jobId, job: subject.kind, outcome, milliseconds });
    const ended = [...this.#entries].filter(([, { job }]) => job.endedAt !== undefined);
    const forgotten = ended.slice(0, Math.max(0, ended.length - this.#settings.limits.keptMax));
    for (const [id] of forgotten) this.#entries.delete(id);
  }
}

class Cancelled extends ServiceError {
  constructor() {
    super('InvalidInput', 'The job was cancelled.');
  }
}

function newEntry(job: OwnJob, work: Entry['work']): Entry {
  let settle: Entry['settle'] = { resolve: () => {}, reject: () => {} };
  const outcome = new Promise<JobResult>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // The caller may have stopped waiting; the job keeps the failure.
  outcome.catch(() => {});
  return { job, work, outcome, settle, timer: undefined };
}

function toFailure(phase: string, error: unknown): NonNullable<JobRecord['failure']> {
  if (!(error instanceof ServiceError)) return { phase, message: 'The job failed.', isRetryable: false };
  return { phase, message: error.detail, isRetryable: error.traits.retryable };
}

function shuttingDown(): ServiceError {
  return unavailable('The service is shutting down.', 1);
}

function unavailable(detail: string, retryAfterSeconds: number): ServiceError {
  return new ServiceError('ServiceUnavailable', detail, { retryAfterSeconds });
}
