/** The values of labels are closed sets: never names of tables or callers. */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const MEMBERS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** Why a write was not forwarded, or its reply not passed on. */
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
  requests: counter('tiltyard_requests_total', 'Requests that were answered.', 'operation', 'status', 'dialect'),
  refusals: counter('tiltyard_refusals_total', 'Requests that were not answered as asked, by kind of error.', 'kind'),
  quotaRefusals: counter(
    'tiltyard_quota_refusals_total',
    'Requests that were refused because of a quota: which limit, and whose.',
    'quota',
    'subject',
  ),
  bytesIn: counter('tiltyard_request_bytes_total', 'Bytes of request bodies.', 'operation'),
  bytesOut: counter('tiltyard_reply_bytes_total', 'Bytes of reply bodies.', 'operation'),
  slowQueries: counter(
    'tiltyard_slow_queries_total',
    'Queries that took longer than log.slowQuerySeconds.',
    'operation',
  ),
  unknownFields: counter(
    'tiltyard_unknown_fields_ignored_total',
    'Fields of newer clients that were ignored.',
    'operation',
  ),
  connectionsRefused: counter('tiltyard_connections_refused_total', 'Connections that were closed as one too many.'),
  keySetFetches: counter('tiltyard_key_set_fetches_total', 'Fetches of the keys of identity providers.', 'outcome'),
  backgroundFailures: counter('tiltyard_background_failures_total', 'Failures of work that no request waited for.'),
  manifestsQuarantined: counter('tiltyard_manifests_quarantined_total', 'Torn manifests that were moved aside.'),
  jobs: counter('tiltyard_jobs_total', 'Jobs that ended.', 'job', 'outcome'),
  forwardFailures: counter(
    'tiltyard_forward_failures_total',
    'Attempts to forward a write to the node that owns its table that failed, by reason; owner_away is the end of a wait.',
    'reason',
  ),
  takeovers: counter(
    'tiltyard_lease_takeovers_total',
    'Tables taken over from a node that was silent; pending says whether it left writes to be resolved.',
    'pending',
  ),
  leasesLost: counter('tiltyard_leases_lost_total', 'Tables that another node took over while this one wrote them.'),
  lapses: counter(
    'tiltyard_node_lapses_total',
    'Times that this node was silent for longer than node.leaseSeconds, and came back.',
  ),
  heartbeatFailures: counter(
    'tiltyard_heartbeat_failures_total',
    'Heartbeats of this node that did not reach the catalog.',
  ),
  maintenanceRuns: counter(
    'tiltyard_maintenance_runs_total',
    'Runs of maintenance that ended: done, or lost to writers.',
    'outcome',
  ),
  maintenanceVersions: counter('tiltyard_maintenance_versions_removed_total', 'Old versions that were removed.'),
  maintenanceBytes: counter('tiltyard_maintenance_bytes_removed_total', 'Bytes of old versions that were removed.'),
  maintenanceLaneSeconds: counter(
    'tiltyard_maintenance_lane_seconds_total',
    'Time that writers waited for maintenance of their table.',
  ),
};

export const HISTOGRAMS = {
  requestSeconds: histogram(
    SECONDS,
    'tiltyard_request_duration_seconds',
    'From the head of a request to the end of its reply; not of those that are refused together in a flood.',
    'operation',
  ),
  engineSeconds: histogram(
    SECONDS,
    'tiltyard_engine_call_duration_seconds',
    'From a call of the engine to its answer, or its first rows; the wait of a write for its turn included.',
    'call',
  ),
  forwardSeconds: histogram(
    SECONDS,
    'tiltyard_forward_duration_seconds',
    'From the start of forwarding a write to the head of the reply of the node that owns its table.',
  ),
  jobSeconds: histogram(
    [0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200],
    'tiltyard_job_duration_seconds',
    'From the start of a job to its end, its wait included.',
    'job',
  ),
  writeBatch: histogram(
    MEMBERS,
    'tiltyard_write_batch_members',
    'Writes of one table that shared a commit, counted for each commit.',
    'kind',
  ),
  updateGroup: histogram(
    MEMBERS,
    'tiltyard_update_group_members',
    'Updates of one table that ran as one, counted for each such run.',
  ),
  indexRecall: histogram(
    [0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1],
    'tiltyard_index_recall',
    'Measured recall of vector indexes with the parameters that were chosen; share is that of rows that pass a filter.',
    'index_type',
    'share',
  ),
  eventLoopDelay: histogram(
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    'tiltyard_event_loop_delay_seconds',
    'How late a timer came that was due; ten samples a second.',
  ),
};

/** Read when the metrics are; with a label, one value for each of its values. */
export const READINGS = {
  build: gauge('tiltyard_build_info', 'Always 1; the label says which release runs.', 'release'),
  engine: gauge(
    'tiltyard_engine_info',
    'Always 1; the label says which release of the storage engine runs.',
    'release',
  ),
  startedAt: gauge('tiltyard_worker_start_time_seconds', 'When the worker started, in seconds since 1970.'),
  workerRestarts: counter('tiltyard_worker_restarts_total', 'Workers that died and were replaced.'),
  memory: gauge('tiltyard_memory_bytes', 'Memory of the worker: all of it (rss), and parts of it.', 'kind'),
  cpu: counter('tiltyard_cpu_seconds_total', 'Processor time of the worker.', 'mode'),
  eventLoopBusy: counter('tiltyard_event_loop_busy_seconds_total', 'Time in which the event loop had work.'),
  connections: gauge('tiltyard_connections', 'Connections that are open.'),
  requestsInFlight: gauge('tiltyard_requests_under_way', 'Requests that are being answered, waiting ones included.'),
  admissionRunning: gauge('tiltyard_admission_running', 'Requests that have a place, by kind of work.', 'work'),
  admissionWaiting: gauge('tiltyard_admission_waiting', 'Requests that wait for a place, by kind of work.', 'work'),
  admissionRefused: counter('tiltyard_admission_refused_total', 'Requests for which there was no place.', 'work'),
  budgetUsed: gauge(
    'tiltyard_budget_used_bytes',
    'Memory that bodies of requests take, and queries (read) by estimate.',
    'budget',
  ),
  budgetMax: gauge('tiltyard_budget_max_bytes', 'Memory that they may take before requests must wait.', 'budget'),
  queuesRunning: gauge('tiltyard_write_lanes_running', 'Tables that are being written.'),
  queuesWaiting: gauge('tiltyard_write_lanes_waiting', 'Writes that wait for their turn at a table.'),
  openTables: gauge('tiltyard_open_tables', 'Tables that are kept open.'),
  openTableUses: counter(
    'tiltyard_open_table_uses_total',
    'Uses of tables: kept open (hit), or opened (miss).',
    'outcome',
  ),
  orphanedQueries: gauge('tiltyard_engine_abandoned_queries', 'Queries that still run after their clients have gone.'),
  lookupEntries: gauge('tiltyard_lookup_cache_entries', 'What the catalog remembers of lookups.'),
  lookups: counter('tiltyard_lookups_total', 'Lookups in the catalog: remembered (hit), or read (miss).', 'outcome'),
  cachedResults: gauge('tiltyard_result_cache_entries', 'Results of queries that are cached.'),
  cachedResultBytes: gauge('tiltyard_result_cache_bytes', 'Memory that cached results take, of query.cacheBytes.'),
  cachedResultLookups: counter(
    'tiltyard_result_cache_lookups_total',
    'Queries answered from the cache (hit), executed because it had no result (miss), or that it cannot serve (bypass).',
    'outcome',
  ),
  cachedResultEvictions: counter('tiltyard_result_cache_evictions_total', 'Cached results that made room for others.'),
  catalogTransactions: counter('tiltyard_catalog_transactions_total', 'Transactions that the catalog committed.'),
  syncs: counter('tiltyard_syncs_total', 'Syncs to disk: of files and folders of tables, and of the catalog.', 'of'),
  nodes: gauge(
    'tiltyard_nodes',
    'Nodes that serve the catalog: alive, or silent for longer than their lease in the last hour without leaving.',
    'state',
  ),
  leasesHeld: gauge('tiltyard_leases_held', 'Tables that this node writes, of the last 10,000.'),
  forwardsRunning: gauge('tiltyard_forwards_running', 'Writes that this node is forwarding to other nodes.'),
  heartbeatAge: gauge(
    'tiltyard_heartbeat_age_seconds',
    'Time since a heartbeat of this node reached the catalog; 0 where one process serves.',
  ),
  jobs: gauge('tiltyard_jobs', 'Jobs that are not over, by state.', 'state'),
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
