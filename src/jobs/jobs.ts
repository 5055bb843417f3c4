import { ServiceError } from '../errors/service-error.ts';
import { formatPath } from '../model/identifier.ts';
import type { TablePath } from '../model/identifier.ts';
import type { JobLimits } from '../model/limits.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

export type JobState = 'IN_PROGRESS' | 'DONE' | 'FAILED' | 'CANCELLED' | 'TIMED_OUT';

/** What a job is about. */
export interface JobSubject {
  readonly kind: string;
  readonly databaseId: string;
  readonly table: TablePath;
  readonly tableId: string;
  readonly caller: string;
  /** Two jobs with the same key never run at the same time. */
  readonly exclusiveKey: string;
  /** A retry of the request while its job is unfinished joins that job. */
  readonly sameAs: string;
  /** What was asked for, as a reply may show it. */
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface Job {
  readonly id: string;
  readonly subject: JobSubject;
  readonly state: JobState;
  /** What it is doing, or was when it ended. */
  readonly phase: string;
  readonly isCancelRequested: boolean;
  readonly createdAt: number;
  readonly endedAt?: number;
  readonly result?: JobResult;
  /** Its message is for callers. */
  readonly failure?: { readonly phase: string; readonly message: string; readonly isRetryable: boolean };
}

export type JobResult = Readonly<Record<string, unknown>>;

/** Reports what the job does now. Throws when the job was cancelled: a running phase cannot be stopped inside. */
export type EnterPhase = (phase: string) => void;

export interface StartedJob<Result extends JobResult> {
  readonly id: string;
  /** Rejects with an error for the caller. */
  readonly outcome: Promise<Result>;
}

export interface JobsSettings {
  readonly limits: JobLimits;
  readonly telemetry: Telemetry;
  readonly now: () => number;
  readonly makeId: () => string;
  /** Whether the table still exists. */
  readonly hasTable: (tableId: string) => Promise<boolean>;
}

interface Entry {
  job: Job;
  readonly work: (enter: EnterPhase) => Promise<JobResult>;
  readonly outcome: Promise<JobResult>;
  readonly settle: { readonly resolve: (result: JobResult) => void; readonly reject: (error: unknown) => void };
  timer: NodeJS.Timeout | undefined;
}

const WAITING = 'waiting';

/**
 * Work that may outlast its request: index builds. Kept in memory only: a job commits everything at its end, so one that
 * is lost in a restart has changed nothing.
 */
export class Jobs {
  readonly #settings: JobsSettings;
  /** Oldest first; the oldest ended ones are forgotten. */
  readonly #entries = new Map<string, Entry>();
  readonly #waiting = new Set<Entry>();
  readonly #running = new Set<Entry>();
  #isClosed = false;

  constructor(settings: JobsSettings) {
    this.#settings = settings;
  }

  start<Result extends JobResult>(
    subject: JobSubject,
    work: (enter: EnterPhase) => Promise<Result>,
  ): StartedJob<Result> {
    const same = [...this.#waiting, ...this.#running].find(({ job }) => job.subject.sameAs === subject.sameAs);
    const entry = same ?? this.#add(subject, work);
    if (same === undefined) this.#runNext(false);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The same request asks for the same kind of work.
    return { id: entry.job.id, outcome: entry.outcome as Promise<Result> };
  }

  find(id: string): Job | undefined {
    return this.#entries.get(id)?.job;
  }

  counts() {
    return { running: this.#running.size, waiting: this.#waiting.size };
  }

  /** Newest first. */
  list(databaseId: string): readonly Job[] {
    return [...this.#entries.values()]
      .map(({ job }) => job)
      .filter(({ subject }) => subject.databaseId === databaseId)
      .toReversed();
  }

  /** A waiting job ends at once; a running one ends before its next phase, if there is one. */
  cancel(id: string): Job | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    if (this.#waiting.has(entry)) this.#drop(entry, 'CANCELLED', new Cancelled());
    else if (this.#running.has(entry)) entry.job = { ...entry.job, isCancelRequested: true };
    return entry.job;
  }

  /** No job starts any more, and waiting jobs are cancelled. Resolves when the running ones have ended. */
  async drain(): Promise<void> {
    this.#isClosed = true;
    for (const entry of this.#waiting) this.#drop(entry, 'CANCELLED', shuttingDown());
    await Promise.allSettled([...this.#running].map(({ outcome }) => outcome));
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
  }

  #add(subject: JobSubject, work: Entry['work']): Entry {
    const { limits, now, makeId } = this.#settings;
    if (this.#isClosed) throw shuttingDown();
    if (this.#running.size >= limits.runningMax && this.#waiting.size >= limits.waitingMax) {
      throw unavailable(`${limits.waitingMax} jobs are already waiting.`, 30);
    }
    const job: Job = {
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

  #runNext(haveWaited: boolean): void {
    for (const entry of this.#waiting) {
      if (this.#running.size >= this.#settings.limits.runningMax) return;
      const { exclusiveKey } = entry.job.subject;
      if ([...this.#running].some(({ job }) => job.subject.exclusiveKey === exclusiveKey)) continue;
      this.#waiting.delete(entry);
      this.#running.add(entry);
      clearTimeout(entry.timer);
      void this.#run(entry, haveWaited);
    }
  }

  async #run(entry: Entry, hasWaited: boolean): Promise<void> {
    const enter: EnterPhase = (phase) => {
      if (entry.job.isCancelRequested) throw new Cancelled();
      entry.job = { ...entry.job, phase };
    };
    try {
      if (hasWaited) await this.#requireTable(entry);
      const result = await entry.work(enter);
      await this.#requireTable(entry);
      this.#end(entry, { state: 'DONE', result });
      entry.settle.resolve(result);
    } catch (error) {
      await this.#fail(entry, error);
    }
    this.#runNext(true);
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
      entry.settle.reject(cause);
      return;
    }
    const error = await this.#requireTable(entry).then(
      () => cause,
      (missing: unknown) => missing,
    );
    if (!(error instanceof ServiceError) || error.traits.status >= 500) {
      const task = `job ${entry.job.subject.kind}`;
      this.#settings.telemetry.emit({ kind: 'background-failed', task, cause: error });
    }
    this.#end(entry, { state: 'FAILED', failure: toFailure(entry.job.phase, error) });
    entry.settle.reject(error);
  }

  /** Ends a job that waits. */
  #drop(entry: Entry, state: 'CANCELLED' | 'TIMED_OUT', error: ServiceError): void {
    clearTimeout(entry.timer);
    this.#end(entry, { state, failure: toFailure(WAITING, error) });
    entry.settle.reject(error);
  }

  #end(entry: Entry, end: Partial<Job>): void {
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

function newEntry(job: Job, work: Entry['work']): Entry {
  let settle: Entry['settle'] = { resolve: () => {}, reject: () => {} };
  const outcome = new Promise<JobResult>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // The caller may have stopped waiting; the job keeps the failure.
  outcome.catch(() => {});
  return { job, work, outcome, settle, timer: undefined };
}

function toFailure(phase: string, error: unknown): NonNullable<Job['failure']> {
  if (!(error instanceof ServiceError)) return { phase, message: 'The job failed.', isRetryable: false };
  return { phase, message: error.detail, isRetryable: error.traits.retryable };
}

function shuttingDown(): ServiceError {
  return unavailable('The service is shutting down.', 1);
}

function unavailable(detail: string, retryAfterSeconds: number): ServiceError {
  return new ServiceError('ServiceUnavailable', detail, { retryAfterSeconds });
}
