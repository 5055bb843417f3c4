import type { ErrorName } from '../errors/service-error.ts';

export type EventReader = (event: TelemetryEvent) => void;

/**
 * Everything observable; log, metrics and traces read it. The fields are safe to print: no credential, body, header or
 * query. A cause is for the log alone.
 */
export type TelemetryEvent =
  | { readonly kind: 'config-loaded'; readonly settingsGiven: number; readonly data: string; readonly root: string }
  | { readonly kind: 'start-failed'; readonly reasons: readonly string[] }
  | { readonly kind: 'listening'; readonly host: string; readonly port: number; readonly tls: boolean }
  | { readonly kind: 'draining'; readonly reason: string; readonly seconds: number }
  | { readonly kind: 'worker-started'; readonly pid: number; readonly milliseconds: number }
  | { readonly kind: 'worker-stopped'; readonly pid: number }
  | WorkerDied
  | { readonly kind: 'engine-stalled'; readonly pid: number; readonly seconds: number }
  | { readonly kind: 'recovery-done'; readonly swept: number; readonly adopted: number; readonly milliseconds: number }
  | { readonly kind: 'key-set-fetched'; readonly issuer: string; readonly keys: number; readonly milliseconds: number }
  | { readonly kind: 'key-set-failed'; readonly issuer: string; readonly cause: unknown }
  | { readonly kind: 'unknown-fields-ignored'; readonly operation: string; readonly names: readonly string[] }
  | AccessChanged
  | { readonly kind: 'connections-refused'; readonly count: number }
  | ManifestQuarantined
  | { readonly kind: 'background-failed'; readonly task: string; readonly cause: unknown }
  /** Earlier writes could not be recovered at start. Reads are served; the recovery is tried again. */
  | { readonly kind: 'writes-paused'; readonly retryMilliseconds: number; readonly cause: unknown }
  | { readonly kind: 'writes-resumed'; readonly milliseconds: number }
  | MaintenanceDone
  | JobEnded
  | JobInterrupted
  | SlowQuery
  | SlowQueryAnalysed
  | RequestFinished
  | RequestsRefused;

/** Who may do what has changed: by whom, and for whom. */
export interface AccessChanged {
  readonly kind: 'access-changed';
  readonly caller: string;
  readonly action: string;
  readonly principal: string;
}

/** The newest version of a table could not be read after a crash: it was moved aside, and the one before is served. */
export interface ManifestQuarantined {
  readonly kind: 'manifest-quarantined';
  readonly directory: string;
  readonly branch: string | undefined;
  readonly version: number;
}

export interface WorkerDied {
  readonly kind: 'worker-died';
  readonly pid: number;
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** Until the next one is started; none is when the service is ending. */
  readonly restartMilliseconds: number | undefined;
}

export interface RequestFinished {
  readonly kind: 'request-finished';
  readonly requestId: string;
  /** The id of the operation; none when no route matched. */
  readonly operation: string | undefined;
  readonly method: string;
  /** The family of the client. */
  readonly dialect: 'lance' | 'lancedb';
  /** The route's pattern, not the address: addresses may hold what callers did not mean to be logged. */
  readonly route: string | undefined;
  readonly status: number;
  readonly milliseconds: number;
  readonly caller: string | undefined;
  readonly database: string | undefined;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly errorKind: ErrorName | undefined;
  readonly cause: unknown;
}

/** In a flood, those that are like one another are told of together, once a second. */
export interface RequestsRefused extends Pick<
  RequestFinished,
  'method' | 'dialect' | 'route' | 'status' | 'bytesIn' | 'bytesOut'
> {
  readonly kind: 'requests-refused';
  readonly operation: string;
  readonly caller: string;
  readonly errorKind: ErrorName;
  readonly count: number;
}

/** A query took longer than it should. `query` has neither vectors nor literals. */
export interface SlowQuery {
  readonly kind: 'slow-query';
  readonly requestId: string;
  readonly operation: string;
  readonly database: string;
  readonly table: string;
  readonly caller: string;
  readonly milliseconds: number;
  readonly query: readonly string[];
}

/** The same query, run again: its steps, and what each of them cost. */
export interface SlowQueryAnalysed {
  readonly kind: 'slow-query-analysed';
  readonly requestId: string;
  readonly table: string;
  readonly plan: readonly string[];
}

export interface JobEnded {
  readonly kind: 'job-ended';
  readonly jobId: string;
  /** What kind of job it was. */
  readonly job: string;
  readonly outcome: string;
  /** Its wait included. */
  readonly milliseconds: number;
}

/** The server was stopped before the job had ended; nothing of it was committed. */
export interface JobInterrupted {
  readonly kind: 'job-interrupted';
  readonly jobId: string;
  readonly job: string;
  readonly table: string;
  readonly phase: string;
  /** Its wait included. */
  readonly milliseconds: number;
}

/** A table was put in order. */
export interface MaintenanceDone {
  readonly kind: 'maintenance-done';
  readonly table: string;
  readonly reasons: readonly string[];
  readonly version: number;
  readonly fragmentsRemoved: number;
  readonly fragmentsAdded: number;
  readonly versionsRemoved: number;
  readonly bytesRemoved: number;
  readonly filesSwept: number;
  readonly isLost: boolean;
  readonly milliseconds: number;
  /** How long writers of the table had to wait. */
  readonly laneMilliseconds: number;
}
