import type { ErrorName } from '../errors/service-error.ts';

export type EventReader = (event: TelemetryEvent) => void;

export type TelemetryEvent = { [Kind in EventKind]: EventOf<Kind> }[EventKind];

export type EventKind = keyof Events;

export type EventOf<Kind extends EventKind> = { readonly kind: Kind } & Readonly<Events[Kind]>;

/** A finished request, also where no route matched. */
export type RequestFinished = EventOf<'request-finished'>;

/**
 * Everything observable; log, metrics and traces read it. The fields are safe to print: no credential, body, header or
 * query. A cause is for the log alone. Milliseconds are durations.
 */
interface Events {
  'config-loaded': { settingsGiven: number; data: string; root: string };
  'start-failed': { reasons: readonly string[] };
  listening: { host: string; port: number; tls: boolean };
  draining: { reason: string; seconds: number };
  /** `engine` is the release of the storage engine. */
  'worker-started': { pid: number; milliseconds: number; engine: string };
  'worker-stopped': { pid: number };
  /** No `restartMilliseconds` during shutdown: the worker is not replaced. */
  'worker-died': {
    pid: number;
    exitCode: number | undefined;
    signal: string | undefined;
    restartMilliseconds: number | undefined;
  };
  'worker-stalled': { pid: number; seconds: number };
  'recovery-done': { swept: number; adopted: number; milliseconds: number };
  /** The configured administrator key was revoked, and is refused. */
  'admin-key-revoked': object;
  'key-set-fetched': { issuer: string; keys: number; milliseconds: number };
  'key-set-failed': { issuer: string; cause: unknown };
  'unknown-fields-ignored': { operation: string; names: readonly string[] };
  /** What `principal` names was changed by `caller`: a key, a client, its grants, a quota, a signing key or a database. */
  'access-changed': { caller: string; action: string; principal: string };
  /** A request was refused because of a quota: of its caller, of its database, or of the creator of the table. */
  'quota-exceeded': {
    quota: 'requests_per_second' | 'concurrent_reads' | 'concurrent_writes' | 'bytes' | 'rows' | 'tables';
    subject: 'caller' | 'database' | 'creator';
  };
  /** `permission` is what the credentials allow on the files of the table, until `expiresAt`. */
  'credentials-vended': {
    requestId: string;
    caller: string;
    database: string;
    table: string;
    permission: 'read' | 'create' | 'stage';
    expiresAt: string;
  };
  'connections-refused': { count: number };
  /** The newest version of a table could not be read after a crash: it was moved aside, and the one before is served. */
  'manifest-quarantined': { directory: string; branch: string | undefined; version: number };
  'background-failed': { task: string; cause: unknown };
  /** Earlier writes could not be recovered at start. Reads are served; the recovery is tried again. */
  'writes-paused': { retryMilliseconds: number; cause: unknown };
  'writes-resumed': { milliseconds: number };
  /** A heartbeat of this node did not reach the catalog. */
  'heartbeat-failed': { cause: unknown };
  /** This node was silent for longer than its lease: other nodes may have taken over its tables. */
  'node-lapsed': { silentSeconds: number };
  /** This node writes the table now. `hasPending`: the former holder left writes whose outcome is found out first. */
  'table-taken-over': { tableId: string; epoch: number; formerHolder: string; hasPending: boolean };
  /** Another node has taken over a table that this one was writing. */
  'lease-lost': { tableId: string; epoch: number };
  /** Of a delivery to the receiver of a webhook. `status` is what it answered, if it did. */
  'webhook-attempted': {
    webhookId: string;
    outcome: 'delivered' | 'failed';
    status: number | undefined;
    milliseconds: number;
  };
  /** It failed for longer than webhooks.disableSeconds, or its creator may no longer manage what it is about. */
  'webhook-disabled': { webhookId: string; failures: number };
  /** Of a call to the embedding provider. `status` is what it answered, if it did. */
  'embedding-fetched': { model: string; milliseconds: number };
  'embedding-failed': {
    model: string;
    reason: 'timeout' | 'unreachable' | 'refused' | 'unusable';
    status: number | undefined;
    milliseconds: number;
    cause: unknown;
  };
  'maintenance-done': {
    table: string;
    reasons: readonly string[];
    version: number;
    fragmentsRemoved: number;
    fragmentsAdded: number;
    versionsRemoved: number;
    bytesRemoved: number;
    filesSwept: number;
    isLost: boolean;
    milliseconds: number;
    /** How long writers of the table had to wait. */
    laneMilliseconds: number;
  };
  /** How well searches without parameters find the exact neighbours; `recalls` in the order of `TUNED_SHARES`. */
  'index-tuned': {
    table: string;
    index: string;
    indexType: string;
    target: number;
    recalls: readonly number[];
    milliseconds: number;
  };
  /** `milliseconds` includes the wait in the queue, here and for an interrupted job. */
  'job-ended': { jobId: string; job: string; outcome: string; milliseconds: number };
  /** The server was stopped before the job had ended; it committed nothing. */
  'job-interrupted': { jobId: string; job: string; table: string; phase: string; milliseconds: number };
  /** `query` has neither vectors nor literals. */
  'slow-query': {
    requestId: string;
    operation: string;
    database: string;
    table: string;
    caller: string;
    milliseconds: number;
    query: readonly string[];
  };
  /** A slow query was run again: its steps and their costs. */
  'slow-query-analysed': { requestId: string; table: string; plan: readonly string[] };
  'request-finished': RequestFields & {
    requestId: string;
    operation: string | undefined;
    milliseconds: number;
    caller: string | undefined;
    database: string | undefined;
    errorKind: ErrorName | undefined;
    cause: unknown;
  };
  /** Equal requests that were refused under overload, in one sum. */
  'requests-refused': RequestFields & { operation: string; caller: string; errorKind: ErrorName; count: number };
}

interface RequestFields {
  method: string;
  dialect: 'lance' | 'lancedb';
  /** The pattern of the path, not the address, which may contain what must not be logged. */
  route: string | undefined;
  status: number;
  bytesIn: number;
  bytesOut: number;
}
