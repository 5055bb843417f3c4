import type { JobRecord, JobSubject } from '../catalog/catalog.ts';
import type { Attempt } from './attempt.ts';

export interface NewJob extends JobSubject {
  /** Its work consists of repeatable steps, so it continues after a restart, or on another node. */
  readonly isResumable?: true;
  /** The server starts work of this name on the table again by itself, also as a new job. */
  readonly repeatedAs?: string;
  /** The server started it by itself. */
  readonly isAutomatic?: true;
  /** Two jobs with the same key never run at the same time. */
  readonly exclusiveKey: string;
  /** A repeated request joins the unfinished job with the same value. */
  readonly sameAs: string;
}

/** A job of this process. */
export interface OwnJob extends JobRecord {
  readonly subject: NewJob;
}

export type JobResult = Readonly<Record<string, unknown>>;

/**
 * Reports the current phase. Throws if the job was cancelled, or another node owns the table by now: a running phase
 * cannot be interrupted.
 */
export type EnterPhase = (phase: string) => Promise<void> | void;

export type Work = (enter: EnterPhase) => Promise<JobResult>;

export interface Entry {
  job: OwnJob;
  readonly work: Work;
  readonly outcome: Promise<JobResult>;
  readonly settle: { readonly resolve: (result: JobResult) => void; readonly reject: (error: unknown) => void };
  /** Absent for work that the server never repeats. */
  readonly attempt: Attempt | undefined;
  /** Nothing but a request has started it. */
  readonly isRequested: boolean;
  timer: NodeJS.Timeout | undefined;
  /** The process is shutting down: a resumable job stops before its next phase, and continues elsewhere. */
  isInterrupted: boolean;
}

export function newEntry(job: OwnJob, work: Work, parts: Pick<Entry, 'isRequested' | 'attempt'>): Entry {
  let settle: Entry['settle'] = { resolve: () => {}, reject: () => {} };
  const outcome = new Promise<JobResult>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // The caller may have stopped waiting; the job keeps the failure.
  outcome.catch(() => {});
  return { ...parts, job, work, outcome, settle, timer: undefined, isInterrupted: false };
}
