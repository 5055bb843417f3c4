import type { ErrorName } from '../errors/service-error.ts';

export type EventReader = (event: TelemetryEvent) => void;

export type TelemetryEvent = { [Kind in EventKind]: EventOf<Kind> }[EventKind];

export type EventKind = keyof Events;

export type EventOf<Kind extends EventKind> = { readonly kind: Kind } & Readonly<Events[Kind]>;

/** A finished request, including those that matched no route. */
export type RequestFinished = EventOf<'request-finished'>;

/**
 * All events, which log, metrics and traces consume. The fields are safe to print: no credentials, bodies, headers or
 * queries. A cause is for the log only. Milliseconds are durations.
 */
interface Events {
  'config-loaded': { settingsGiven: number; data: string; root: string };
  'start-failed': { reasons: readonly string[] };
  listening: { host: string; port: number; tls: boolean };
  draining: { reason: string; seconds: number };
  /** `engine` is the release of the storage engine. */
  'worker-started': { pid: number; milliseconds: number; engine: string };
  'worker-stopped': { pid: number };
  /** `restartMilliseconds` is absent during shutdown, when the worker is not replaced. */
  'worker-died': {
    pid: number;
    exitCode: number | undefined;
    signal: string | undefined;
    restartMilliseconds: number | undefined;
  };
  'worker-stalled': { pid: number; seconds: number };
  'recovery-done': { swept: number; adopted: number; milliseconds: number };
  /** The configured administrator key was revoked, so it is refused. */
  'admin-key-revoked': object;
  'key-set-fetched': { issuer: string; keys: number; milliseconds: number };
  'key-set-failed': { issuer: string; cause: unknown };
  /** Some keys of a set cannot be read; the others are used. */
  'key-set-keys-skipped': { issuer: string; keys: number; reason: string };
  'unknown-fields-ignored': { operation: string; names: readonly string[] };
  /** `caller` changed what `principal` names: a key, a client, its grants, a quota, a signing key or a database. */
  'access-changed': { caller: string; action: string; principal: string };
  /** A request was refused because of a quota: of its caller, its database, or the creator of the table. */
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
  /**
   * The newest version of a table could not be read after a crash: it was moved aside, and the previous one is served.
   */
  'manifest-quarantined': { directory: string; branch: string | undefined; version: number };
  'background-failed': { task: string; cause: unknown };
  /** Earlier writes could not be recovered at start. Reads are served; the recovery is retried. */
  'writes-paused': { retryMilliseconds: number; cause: unknown };
  'writes-resumed': { milliseconds: number };
  /** A heartbeat of this node did not reach the catalog. */
  'heartbeat-failed': { cause: unknown };
  /** This node was silent for longer than its lease: other nodes may have taken over its tables. */
  'node-lapsed': { silentSeconds: number };
  /** This node now writes the table. `hasPending`: the previous holder left writes that must be resolved first. */
  'table-taken-over': { tableId: string; epoch: number; formerHolder: string; hasPending: boolean };
  /** Another node has taken over a table that this one was writing. */
  'lease-lost': { tableId: string; epoch: number };
  /** A delivery to a webhook's receiver. `status` is that of its reply, if any. */
  'webhook-attempted': {
    webhookId: string;
    outcome: 'delivered' | 'failed';
    status: number | undefined;
    milliseconds: number;
  };
  /**
   * Deliveries failed for longer than webhooks.disableSeconds, or the creator may no longer manage the webhook's
   * target.
   */
  'webhook-disabled': { webhookId: string; failures: number };
  /** A call to the embedding provider. `status` is that of its reply, if any. */
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
  /** The recall of searches without parameters; `recalls` in the order of `TUNED_SHARES`. */
  'index-tuned': {
    table: string;
    index: string;
    indexType: string;
    target: number;
    recalls: readonly number[];
    milliseconds: number;
  };
  /** `milliseconds` includes the wait in the queue, also for an interrupted job. */
  'job-ended': { jobId: string; job: string; outcome: string; milliseconds: number };
  /** The server stopped before the job had ended; the job committed nothing. */
  'job-interrupted': { jobId: string; job: string; table: string; phase: string; milliseconds: number };
  /** `query` contains neither vectors nor literals. */
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
  /** Identical requests that were refused under overload, as one sum. */
  'requests-refused': RequestFields & { operation: string; caller: string; errorKind: ErrorName; count: number };
}

interface RequestFields {
  method: string;
  dialect: 'lance' | 'lancedb';
  /** The pattern of the path, not the address, which may contain sensitive data. */
  route: string | undefined;
  status: number;
  bytesIn: number;
  bytesOut: number;
}
