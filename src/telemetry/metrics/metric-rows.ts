/** Label values are closed sets: never names of tables or callers. */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const MEMBERS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** Why a write was not forwarded, or its reply not returned. */
export const FORWARD_FAILURES = [
  'unreachable',
  'not_owner',
  'reply_lost',
  'client_gone',
  'too_many',
  'owner_away',
] as const;
export type ForwardFailure = (typeof FORWARD_FAILURES)[number];

export const COUNTERS = {
  requests: counter(
    'tiltyard_requests_total',
    'Requests handled, by operation, status class and client dialect.',
    'operation',
    'status',
    'dialect',
  ),
  refusals: counter('tiltyard_refusals_total', 'Requests that ended with an error, by kind of error.', 'kind'),
  quotaRefusals: counter(
    'tiltyard_quota_refusals_total',
    'Requests refused because of a quota, by limit and by subject of the quota.',
    'quota',
    'subject',
  ),
  bytesIn: counter('tiltyard_request_bytes_total', 'Bytes read from request bodies.', 'operation'),
  bytesOut: counter('tiltyard_reply_bytes_total', 'Bytes sent in reply bodies.', 'operation'),
  slowQueries: counter(
    'tiltyard_slow_queries_total',
    'Queries that took longer than log.slowQuerySeconds.',
    'operation',
  ),
  unknownFields: counter(
    'tiltyard_unknown_fields_ignored_total',
    'Unknown request fields, such as those of newer clients, that were ignored.',
    'operation',
  ),
  connectionsRefused: counter('tiltyard_connections_refused_total', 'Connections closed because too many were open.'),
  keySetFetches: counter('tiltyard_key_set_fetches_total', 'Fetches of the key sets of identity providers.', 'outcome'),
  backgroundFailures: counter('tiltyard_background_failures_total', 'Failures of background tasks.'),
  manifestsQuarantined: counter('tiltyard_manifests_quarantined_total', 'Torn manifests that were quarantined.'),
  jobs: counter('tiltyard_jobs_total', 'Jobs that ended, by outcome.', 'job', 'outcome'),
  webhookAttempts: counter('tiltyard_webhook_deliveries_total', 'Attempts to deliver events to a webhook.', 'outcome'),
  webhooksDisabled: counter(
    'tiltyard_webhooks_disabled_total',
    'Webhooks disabled because they failed for too long, or because of their creator.',
  ),
  embeddingCalls: counter(
    'tiltyard_embedding_calls_total',
    'Calls to the embedding provider: succeeded, timeout, unreachable, refused, or unusable (its reply).',
    'outcome',
  ),
  forwardFailures: counter(
    'tiltyard_forward_failures_total',
    'Failed attempts to forward a write to the node that owns its table, by reason; owner_away: gave up waiting for the owner.',
    'reason',
  ),
  takeovers: counter(
    'tiltyard_lease_takeovers_total',
    'Tables taken over from a silent node; pending: whether it left writes to resolve.',
    'pending',
  ),
  leasesLost: counter(
    'tiltyard_leases_lost_total',
    'Tables that another node took over while this node was writing to them.',
  ),
  lapses: counter(
    'tiltyard_node_lapses_total',
    'Times that this node was silent for longer than node.leaseSeconds and then came back.',
  ),
  heartbeatFailures: counter(
    'tiltyard_heartbeat_failures_total',
    'Heartbeats of this node that did not reach the catalog.',
  ),
  maintenanceRuns: counter(
    'tiltyard_maintenance_runs_total',
    'Maintenance runs that ended: done, or lost to a concurrent write.',
    'outcome',
  ),
  maintenanceVersions: counter('tiltyard_maintenance_versions_removed_total', 'Old versions removed by maintenance.'),
  maintenanceBytes: counter(
    'tiltyard_maintenance_bytes_removed_total',
    'Bytes of old versions removed by maintenance.',
  ),
  maintenanceLaneSeconds: counter(
    'tiltyard_maintenance_lane_seconds_total',
    'Time that writes waited for the maintenance of their table.',
  ),
};

export const HISTOGRAMS = {
  requestSeconds: histogram(
    SECONDS,
    'tiltyard_request_duration_seconds',
    'Time from the head of a request to the end of its reply, except for requests that are refused in bulk under overload.',
    'operation',
  ),
  engineSeconds: histogram(
    SECONDS,
    'tiltyard_engine_call_duration_seconds',
    'Time from a call to the storage engine to its result or first rows, including the time that a write waits in the write queue.',
    'call',
  ),
  forwardSeconds: histogram(
    SECONDS,
    'tiltyard_forward_duration_seconds',
    'Time from the start of forwarding a write to the head of the reply from the node that owns its table.',
  ),
  webhookSeconds: histogram(
    SECONDS,
    'tiltyard_webhook_delivery_duration_seconds',
    'Time from the start of a delivery to the head of its reply, or to its failure.',
  ),
  embeddingSeconds: histogram(
    SECONDS,
    'tiltyard_embedding_call_duration_seconds',
    'Time from the start of a call to the embedding provider to its vector, or to its failure.',
  ),
  jobSeconds: histogram(
    [0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200],
    'tiltyard_job_duration_seconds',
    'Time from the start of a job to its end, including its time in the queue.',
    'job',
  ),
  writeBatch: histogram(
    MEMBERS,
    'tiltyard_write_batch_members',
    'Number of writes to one table that shared a commit, observed once per commit.',
    'kind',
  ),
  updateGroup: histogram(
    MEMBERS,
    'tiltyard_update_group_members',
    'Number of updates to one table that ran as one, observed once per run.',
  ),
  indexRecall: histogram(
    [0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1],
    'tiltyard_index_recall',
    'Measured recall of vector indexes with the chosen search parameters; share: fraction of rows that pass the filter.',
    'index_type',
    'share',
  ),
  eventLoopDelay: histogram(
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    'tiltyard_event_loop_delay_seconds',
    'How late timers fire, sampled ten times per second.',
  ),
};

/** Read when the metrics are read; with a label, one value per label value. */
export const READINGS = {
  build: gauge('tiltyard_build_info', 'Always 1; the label is the running release.', 'release'),
  engine: gauge('tiltyard_engine_info', 'Always 1; the label is the running release of the storage engine.', 'release'),
  startedAt: gauge('tiltyard_worker_start_time_seconds', 'Start time of the worker, in seconds since 1970.'),
  workerRestarts: counter('tiltyard_worker_restarts_total', 'Workers that died and were replaced.'),
  memory: gauge('tiltyard_memory_bytes', 'Memory of the worker: the total (rss) and parts of it.', 'kind'),
  cpu: counter('tiltyard_cpu_seconds_total', 'CPU time of the worker.', 'mode'),
  eventLoopBusy: counter('tiltyard_event_loop_busy_seconds_total', 'Time that the event loop was busy.'),
  connections: gauge('tiltyard_connections', 'Open connections.'),
  requestsInFlight: gauge('tiltyard_requests_under_way', 'Requests in flight, including those that wait.'),
  admissionRunning: gauge('tiltyard_admission_running', 'Requests that hold a slot, by kind of work.', 'work'),
  admissionWaiting: gauge('tiltyard_admission_waiting', 'Requests that wait for a slot, by kind of work.', 'work'),
  admissionRefused: counter(
    'tiltyard_admission_refused_total',
    'Requests refused because no slot was free, by kind of work.',
    'work',
  ),
  budgetUsed: gauge(
    'tiltyard_budget_used_bytes',
    'Memory used by request bodies (arrow, json) and, as an estimate, by queries (read).',
    'budget',
  ),
  budgetMax: gauge('tiltyard_budget_max_bytes', 'Memory that a budget allows before requests have to wait.', 'budget'),
  queuesRunning: gauge('tiltyard_write_lanes_running', 'Tables that are being written to.'),
  queuesWaiting: gauge('tiltyard_write_lanes_waiting', 'Writes that wait in the write queue of a table.'),
  openTables: gauge('tiltyard_open_tables', 'Tables kept open.'),
  openTableUses: counter(
    'tiltyard_open_table_uses_total',
    'Uses of tables that were already open (hit) or had to be opened (miss).',
    'outcome',
  ),
  orphanedQueries: gauge(
    'tiltyard_engine_abandoned_queries',
    'Orphaned queries: still running after a timeout or after the client disconnected.',
  ),
  sharedQueries: counter('tiltyard_shared_queries_total', 'Queries that ran as one with similar ones.'),
  lookupEntries: gauge(
    'tiltyard_lookup_cache_entries',
    'Catalog lookups that are cached; the limit of their memory is catalog.cacheBytes.',
  ),
  lookups: counter(
    'tiltyard_lookups_total',
    'Catalog lookups served from the cache (hit) or read from the catalog (miss).',
    'outcome',
  ),
  cachedResults: gauge('tiltyard_result_cache_entries', 'Cached query results.'),
  cachedResultBytes: gauge(
    'tiltyard_result_cache_bytes',
    'Memory used by cached query results; the limit is query.cacheBytes.',
  ),
  cachedResultLookups: counter(
    'tiltyard_result_cache_lookups_total',
    'Queries served from the cache (hit), executed because it had no result (miss), or that the cache cannot serve (bypass).',
    'outcome',
  ),
  cachedResultEvictions: counter(
    'tiltyard_result_cache_evictions_total',
    'Cached query results evicted to make room for others.',
  ),
  catalogTransactions: counter('tiltyard_catalog_transactions_total', 'Transactions committed by the catalog.'),
  syncs: counter(
    'tiltyard_syncs_total',
    'Syncs to disk: of files and directories of tables, and of the catalog.',
    'of',
  ),
  nodes: gauge(
    'tiltyard_nodes',
    'Nodes of the cluster: alive, or silent (lease expired in the last hour, without a clean shutdown).',
    'state',
  ),
  leasesHeld: gauge('tiltyard_leases_held', 'Tables whose lease this node holds, of the 10,000 that it wrote last.'),
  forwardsRunning: gauge('tiltyard_forwards_running', 'Writes that this node is forwarding to other nodes.'),
  heartbeatAge: gauge(
    'tiltyard_heartbeat_age_seconds',
    'Time since the last heartbeat of this node that reached the catalog; 0 for a single node.',
  ),
  eventListeners: gauge('tiltyard_event_listeners', 'Open event streams.'),
  webhooksRunning: gauge('tiltyard_webhook_deliveries_running', 'Webhooks with a delivery in progress.'),
  embeddingCallsRunning: gauge('tiltyard_embedding_calls_running', 'Calls to the embedding provider in progress.'),
  cachedEmbeddings: gauge('tiltyard_embedding_cache_entries', 'Cached embeddings of texts.'),
  cachedEmbeddingBytes: gauge(
    'tiltyard_embedding_cache_bytes',
    'Memory used by cached embeddings; the limit is embeddings.cacheBytes.',
  ),
  embeddingLookups: counter(
    'tiltyard_embedding_lookups_total',
    'Texts whose embedding was cached (hit), was being fetched already (shared), or had to be fetched (miss).',
    'outcome',
  ),
  jobs: gauge('tiltyard_jobs', 'Jobs that are running or waiting, by state.', 'state'),
};

export type Readings = { readonly [Name in keyof typeof READINGS]: number | Readonly<Record<string, number>> };

/** For the docs. */
export function metricsReference(): readonly MetricRow[] {
  return [COUNTERS, HISTOGRAMS, READINGS].flatMap((rows): MetricRow[] => Object.values(rows));
}

function counter(name: string, help: string, ...labels: readonly string[]): MetricRow {
  return { type: 'counter', name, help, labels };
}

function gauge(name: string, help: string, ...labels: readonly string[]): MetricRow {
  return { type: 'gauge', name, help, labels };
}

function histogram(buckets: readonly number[], name: string, help: string, ...labels: readonly string[]) {
  return { type: 'histogram', name, help, labels, buckets } as const;
}
