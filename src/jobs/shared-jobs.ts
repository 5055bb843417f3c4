import type { Catalog, JobRecord, JobSummary } from '../catalog/catalog.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

export interface SharedJobsSettings {
  readonly store: Catalog['jobs'];
  readonly telemetry: Telemetry;
  /** How many ended jobs of all nodes are kept. */
  readonly keptMax: number;
  /** Another process continues jobs of these kinds after theirs has ended. */
  readonly resumedKinds: () => readonly string[];
  /** Called for a job of this node whose cancellation another node requested, until the job has ended. */
  readonly onCancelRequested: (id: string) => void;
}

interface OpenJob {
  job: JobRecord;
  isSaved: boolean;
  saving: Promise<void> | undefined;
}

const POLL_MILLISECONDS = 1000;

/** Jobs as rows of the catalog, which every node can read and cancel. Some outlive their process. */
export class SharedJobs {
  readonly #settings: SharedJobsSettings;
  /** Jobs of this node whose end is not stored yet. While there are any, cancellation requests are polled. */
  readonly #open = new Map<string, OpenJob>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  constructor(settings: SharedJobsSettings) {
    this.#settings = settings;
  }

  /**
   * Resolves when other nodes see the current state, or if it cannot be stored now: then it is stored later. Never
   * rejects.
   */
  async save(job: JobRecord): Promise<void> {
    const open = this.#open.get(job.id) ?? { job, isSaved: false, saving: undefined };
    open.job = job;
    open.isSaved = false;
    this.#open.set(job.id, open);
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MILLISECONDS).unref();
    open.saving ??= this.#write(open);
    return open.saving;
  }

  async find(id: string): Promise<JobRecord | undefined> {
    const found = await this.#settings.store.find(id);
    return found !== undefined && this.#isLost(found) ? toFailed(found) : found;
  }

  /** In any order. */
  async list(databaseId: string): Promise<readonly JobSummary[]> {
    const found = await this.#settings.store.list(databaseId);
    return found.map((job) => (this.#isLost(job) ? { ...job, state: 'FAILED' } : job));
  }

  async cancel(id: string): Promise<JobRecord | undefined> {
    await this.#settings.store.requestCancel(id);
    return this.find(id);
  }

  /**
   * Leaves a job to the next process that looks for abandoned ones. A job that cannot be stored is abandoned when this
   * process ends.
   */
  async release(id: string): Promise<void> {
    this.#open.delete(id);
    await this.#settings.store.release(id).catch(() => {});
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #isLost({ isAbandoned, subject }: Pick<JobSummary, 'subject'> & { readonly isAbandoned: boolean }): boolean {
    return isAbandoned && !this.#settings.resumedKinds().includes(subject.kind);
  }

  async #write(open: OpenJob): Promise<void> {
    const { store, telemetry, keptMax, resumedKinds } = this.#settings;
    try {
      while (!open.isSaved) {
        const { job } = open;
        await store.save(job, keptMax, resumedKinds());
        // The job may have changed meanwhile.
        open.isSaved = open.job === job;
      }
      if (open.job.endedAt !== undefined) this.#open.delete(open.job.id);
    } catch (cause) {
      telemetry.emit({ kind: 'background-failed', task: 'storing the state of a job', cause });
    } finally {
      // In the same turn as the last check of the job, so the next change starts a new write.
      open.saving = undefined;
    }
  }

  async #poll(): Promise<void> {
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      for (const id of await this.#settings.store.listCancelRequested()) this.#settings.onCancelRequested(id);
      for (const { job, isSaved } of this.#open.values()) if (!isSaved) void this.save(job);
    } catch {
      // The catalog is unreachable, which the heartbeat of this node reports.
    } finally {
      this.#isPolling = false;
    }
  }
}

function toFailed(job: JobRecord): JobRecord {
  const { phase } = job;
  const message =
    'The node that ran the job stopped. If the result of the job, such as an index, does not exist, nothing was ' +
    'changed: start the job again.';
  return { ...job, state: 'FAILED', failure: { phase, message, isRetryable: true } };
}
