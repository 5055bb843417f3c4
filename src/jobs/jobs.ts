import type { Catalog, JobRecord, JobSummary } from '../catalog/catalog.ts';
import { GivenUp, NotOwner, ServiceError } from '../errors/service-error.ts';
import { formatPath } from '../model/identifier.ts';
import type { JobLimits } from '../model/limits.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { Attempt } from './attempt.ts';
import { newEntry } from './entry.ts';
import type { EnterPhase, Entry, JobResult, NewJob, OwnJob, Work } from './entry.ts';
import { Cancelled, Interrupted, shuttingDown, toFailure, unavailable } from './job-refusals.ts';
import { SharedJobs } from './shared-jobs.ts';

export type { JobRecord as Job, JobSummary } from '../catalog/catalog.ts';
export type { EnterPhase, JobResult, NewJob } from './entry.ts';

export interface StartedJob<Result extends JobResult> {
  readonly id: string;
  /** Rejects with an error for the caller. */
  readonly outcome: Promise<Result>;
  /** Resolves when every node can find the job. Absent if the job is lost with this process. */
  readonly recorded: Promise<void> | undefined;
}

interface SharedParts {
  readonly store: Catalog['jobs'];
  readonly attempts: Catalog['attempts'];
  /** Whether this node may write to the table. Absent on a single node: then only resumable jobs are stored. */
  readonly owns?: (tableId: string) => Promise<boolean>;
}

/** The work of a job that another process began; `undefined` if its subject no longer exists. */
export type ResumeJob = (job: JobRecord) => Promise<{ readonly subject: NewJob; readonly work: Work } | undefined>;

export interface JobsSettings {
  readonly limits: JobLimits;
  readonly telemetry: Telemetry;
  readonly now: () => number;
  readonly makeId: () => string;
  /** Whether the table still exists. */
  readonly hasTable: (tableId: string) => Promise<boolean>;
  /** Where jobs are stored; absent in tests that need no store. */
  readonly shared?: SharedParts | undefined;
}

const RESUME_MILLISECONDS = 5000;
const WAITING = 'waiting';
const MOVED = 'Another node took over the table. The job changed nothing; start it again.';

/**
 * Work that may outlast its request. Index builds and maintenance are lost with their process: such a job commits
 * everything at its end, so a lost job has changed nothing. Resumable jobs are stored, and continue in the next process
 * or on the next owner of the table. In a cluster, all nodes see the state of all jobs.
 */
export class Jobs {
  readonly #settings: JobsSettings;
  readonly #shared: SharedJobs | undefined;
  /** Oldest first; the oldest ended jobs are removed. */
  readonly #entries = new Map<string, Entry>();
  /** In the order in which they will run. */
  readonly #waiting = new Set<Entry>();
  readonly #running = new Set<Entry>();
  readonly #resumers = new Map<string, ResumeJob>();
  #resuming: NodeJS.Timeout | undefined;
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
        resumedKinds: () => [...this.#resumers.keys()],
        onCancelRequested: (id) => this.#cancelOwn(id),
      });
  }

  start<Result extends JobResult>(subject: NewJob, work: (enter: EnterPhase) => Promise<Result>): StartedJob<Result> {
    const same = [...this.#waiting, ...this.#running].find(({ job }) => job.subject.sameAs === subject.sameAs);
    const entry = same ?? this.#add(subject, work);
    if (same === undefined) this.#runNext(false);
    const recorded = this.#save(entry.job);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The same request asks for the same kind of work.
    return { id: entry.job.id, outcome: entry.outcome as Promise<Result>, recorded };
  }

  /** Registers how to continue unfinished jobs of this kind. Call it before `startResuming`. */
  registerKind(kind: string, resume: ResumeJob): void {
    this.#resumers.set(kind, resume);
  }

  /** Call it once tables may be written: resumes jobs now and, in a cluster, periodically. */
  startResuming(): void {
    void this.#resumeAbandoned();
    if (this.#settings.shared?.owns === undefined) return;
    this.#resuming ??= setInterval(() => void this.#resumeAbandoned(), RESUME_MILLISECONDS).unref();
  }

  /** Resumable jobs stop before their next phase. */
  handOver(): void {
    clearInterval(this.#resuming);
    for (const entry of this.#running) {
      entry.isInterrupted = true;
      void entry.attempt?.takeBack();
    }
  }

  /** Whether automatic work of this name has ended its process too often. A request for it that succeeds changes that. */
  async isGivenUp(tableId: string, work: string): Promise<boolean> {
    const { shared, limits } = this.#settings;
    const begun = await shared?.attempts.find({ tableId, work });
    return begun !== undefined && begun >= limits.attemptsMax;
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
    const stored = (await this.#shared?.list(databaseId)) ?? [];
    const others = stored.filter(({ id }) => !this.#entries.has(id));
    if (others.length === 0 && this.#settings.shared?.owns === undefined) return own;
    // All nodes sort them in the same way, because the next page may come from another node.
    return [...own, ...others].toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  }

  /** A waiting job ends at once; a running one before its next phase, if there is one. */
  async cancel(id: string): Promise<JobRecord | undefined> {
    if (!this.#entries.has(id)) return this.#shared?.cancel(id);
    this.#cancelOwn(id);
    return this.find(id);
  }

  /** Starts no more jobs and cancels waiting ones. Resolves when the running ones have ended. */
  async drain(): Promise<void> {
    this.#isClosed = true;
    const outcomes = [...this.#waiting, ...this.#running].map(({ outcome }) => outcome);
    this.handOver();
    for (const entry of this.#waiting) {
      if (entry.job.subject.isResumable === true) this.#leave(entry, shuttingDown());
      else this.#drop(entry, 'CANCELLED', shuttingDown());
    }
    await Promise.allSettled(outcomes);
  }

  /** Running jobs end before their next phase, if there is one. */
  interrupt(): void {
    void this.drain();
    for (const entry of this.#running) {
      if (entry.job.subject.isResumable !== true) entry.job = { ...entry.job, isCancelRequested: true };
    }
  }

  /** Abandons running jobs: they commit everything at once, at their end. */
  close(): void {
    this.interrupt();
    for (const { job } of this.#running) {
      const { id: jobId, subject, phase, createdAt } = job;
      const milliseconds = this.#settings.now() - createdAt;
      const facts = { jobId, job: subject.kind, table: formatPath(subject.table), phase, milliseconds };
      this.#settings.telemetry.emit({ kind: 'job-interrupted', ...facts });
    }
    clearInterval(this.#resuming);
    this.#shared?.close();
  }

  #cancelOwn(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.job.isCancelRequested || entry.job.endedAt !== undefined) return;
    entry.job = { ...entry.job, isCancelRequested: true };
    if (this.#waiting.has(entry)) this.#drop(entry, 'CANCELLED', new Cancelled());
    else void this.#save(entry.job);
  }

  #add(subject: NewJob, work: Work, former?: JobRecord): Entry {
    const { limits, now, makeId } = this.#settings;
    if (this.#isClosed) throw shuttingDown();
    const isFull = this.#running.size >= limits.runningMax;
    if (isFull && former === undefined) this.#requireQueueSpace(subject.caller);
    const job: OwnJob = {
      id: former?.id ?? makeId(),
      subject,
      state: 'IN_PROGRESS',
      phase: WAITING,
      isCancelRequested: former?.isCancelRequested ?? false,
      createdAt: former?.createdAt ?? now(),
    };
    const isRequested = former === undefined && subject.isAutomatic !== true;
    const entry = newEntry(job, work, { isRequested, attempt: this.#newAttempt(job) });
    this.#entries.set(job.id, entry);
    this.#waiting.add(entry);
    const timedOut = unavailable(`The job waited in the queue for ${limits.waitSeconds} s.`, 30);
    entry.timer = setTimeout(() => this.#drop(entry, 'TIMED_OUT', timedOut), limits.waitSeconds * 1000);
    entry.timer.unref();
    return entry;
  }

  #newAttempt({ id, subject: { tableId, isResumable, repeatedAs } }: OwnJob): Attempt | undefined {
    const { shared, telemetry, limits } = this.#settings;
    const work = repeatedAs ?? (isResumable === true ? `job ${id}` : undefined);
    if (shared === undefined || work === undefined) return undefined;
    const { attemptsMax } = limits;
    return new Attempt({ store: shared.attempts, telemetry, attemptsMax }, { tableId, work });
  }

  #requireQueueSpace(caller: string): void {
    const { waitingMax, waitingPerCallerMax } = this.#settings.limits;
    const own = [...this.#waiting].filter(({ job }) => job.subject.caller === caller).length;
    if (own >= waitingPerCallerMax) throw unavailable(`${own} jobs of this caller are already in the queue.`, 30);
    if (this.#waiting.size >= waitingMax) throw unavailable(`${waitingMax} jobs are already in the queue.`, 30);
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

  /** Round-robin: moves the waiting jobs of this caller behind those of others. */
  #letOthersPass(caller: string): void {
    for (const entry of [...this.#waiting].filter(({ job }) => job.subject.caller === caller)) {
      this.#waiting.delete(entry);
      this.#waiting.add(entry);
    }
  }

  async #run(entry: Entry, hasWaited: boolean): Promise<void> {
    const enter: EnterPhase = (phase) => {
      if (entry.job.isCancelRequested) throw new Cancelled();
      if (entry.isInterrupted && entry.job.subject.isResumable === true) throw new Interrupted();
      entry.job = { ...entry.job, phase };
      return this.#requireOwner(entry);
    };
    try {
      if (hasWaited) await this.#requireTable(entry);
      if (entry.attempt !== undefined) await entry.attempt.begin(entry.isRequested);
      const result = await entry.work(enter);
      await this.#requireTable(entry);
      if (entry.attempt !== undefined) await entry.attempt.end();
      this.#end(entry, { state: 'DONE', result });
      this.#settle(entry, () => entry.settle.resolve(result));
    } catch (error) {
      await this.#fail(entry, error);
    }
    this.#runNext(true);
  }

  /** Stops work on a table that another node writes by now. Returns no promise on a single node. */
  #requireOwner(entry: Entry): Promise<void> | undefined {
    const owns = this.#settings.shared?.owns;
    if (owns === undefined) return undefined;
    void this.#save(entry.job);
    return this.#checkOwner(entry, owns);
  }

  async #checkOwner(entry: Entry, owns: NonNullable<SharedParts['owns']>): Promise<void> {
    if (!(await owns(entry.job.subject.tableId))) throw new NotOwner(MOVED);
    if (entry.job.isCancelRequested) throw new Cancelled();
  }

  /** Work on a table that was dropped meanwhile has no effect. */
  async #requireTable({ job: { subject } }: Entry): Promise<void> {
    // An unreachable catalog does not fail the job.
    const hasTable = await this.#settings.hasTable(subject.tableId).catch(() => true);
    if (!hasTable) throw new ServiceError('TableNotFound', 'The table was dropped before the job finished.');
  }

  async #fail(entry: Entry, cause: unknown): Promise<void> {
    const isLeft =
      entry.job.subject.isResumable === true && (cause instanceof Interrupted || cause instanceof NotOwner);
    if (isLeft) await entry.attempt?.takeBack();
    // Work that may come again as a new job stays given up until a request for it succeeds.
    else if (!(cause instanceof GivenUp && entry.job.subject.repeatedAs !== undefined)) await entry.attempt?.end();
    if (cause instanceof Cancelled) {
      this.#end(entry, { state: 'CANCELLED' });
      this.#settle(entry, () => entry.settle.reject(cause));
      return;
    }
    if (isLeft) {
      this.#leave(entry, cause);
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

  /** Leaves the job to another process. */
  #leave(entry: Entry, error: Error): void {
    clearTimeout(entry.timer);
    this.#waiting.delete(entry);
    this.#running.delete(entry);
    this.#entries.delete(entry.job.id);
    void this.#shared?.release(entry.job.id);
    entry.settle.reject(error);
  }

  /** Resolves when every process can find the job. `undefined` if it is not stored. */
  #save(job: OwnJob): Promise<void> | undefined {
    const isStored = this.#settings.shared?.owns !== undefined || job.subject.isResumable === true;
    return isStored ? this.#shared?.save(job) : undefined;
  }

  async #resumeAbandoned(): Promise<void> {
    const { shared, telemetry } = this.#settings;
    if (shared === undefined || this.#resumers.size === 0) return;
    let hasFailed = false;
    const fail = (cause: unknown): void => {
      hasFailed = true;
      telemetry.emit({ kind: 'background-failed', task: 'resuming jobs', cause });
    };
    try {
      const kinds = [...this.#resumers.keys()];
      for (let page = await shared.store.listAbandoned(kinds); page.length > 0 && !this.#isClosed;) {
        for (const job of page) await this.#takeOver(job, shared).catch(fail);
        page = await shared.store.listAbandoned(kinds, page.at(-1));
      }
    } catch (cause) {
      fail(cause);
    }
    // In a cluster, it is called again periodically anyway.
    if (!hasFailed || shared.owns !== undefined || this.#isClosed) return;
    this.#resuming = setTimeout(() => void this.#resumeAbandoned(), RESUME_MILLISECONDS).unref();
  }

  async #takeOver(job: JobRecord, { store, owns }: SharedParts): Promise<void> {
    if (this.#isClosed || this.#entries.has(job.id) || (await owns?.(job.subject.tableId)) === false) return;
    const claimed = await store.claim(job);
    if (claimed === undefined) return;
    try {
      await this.#resume(claimed);
    } catch (error) {
      await this.#shared?.release(job.id);
      throw error;
    }
  }

  async #resume(job: JobRecord): Promise<void> {
    const found = await this.#resumers.get(job.subject.kind)?.(job);
    if (found === undefined) {
      const failure = toFailure(job.phase, new ServiceError('TableNotFound', 'The table of the job no longer exists.'));
      await this.#shared?.save({ ...job, state: 'FAILED', failure, endedAt: this.#settings.now() });
      return;
    }
    this.#add(found.subject, found.work, job);
    this.#runNext(true);
  }

  /** Ends a waiting job. */
  #drop(entry: Entry, state: 'CANCELLED' | 'TIMED_OUT', error: ServiceError): void {
    clearTimeout(entry.timer);
    if (entry.job.subject.repeatedAs === undefined) void entry.attempt?.end();
    this.#end(entry, { state, failure: toFailure(WAITING, error) });
    this.#settle(entry, () => entry.settle.reject(error));
  }

  /** Every node shows the outcome before the caller gets it. */
  #settle({ job }: Entry, settle: () => void): void {
    const saved = this.#save(job);
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
