import { availableParallelism } from 'node:os';
import { INTEGRATION_LIMITS } from './limits/integration-limits.ts';
import { DAY, GiB, HOUR, KiB, MiB, TiB, bytes, integer, seconds } from './limits/number-spec.ts';

export { DAY, HOUR, KiB, MiB, TiB, bytes, integer, seconds } from './limits/number-spec.ts';
export type { NumberSpec } from './limits/number-spec.ts';

/** Time for running commits and an orderly shutdown, after `http.drainSeconds`. */
export const SHUTDOWN_GRACE_SECONDS = 10;

/**
 * Each is a setting. Maximums that seem low have a reason: slightly beyond them, the engine crashes, hangs or uses up
 * all memory.
 */
export const LIMITS = {
  http: {
    jsonBytesMax: bytes(16 * MiB, [KiB, GiB], 'Largest JSON body.'),
    unauthenticatedJsonBytesMax: bytes(MiB, [KiB, GiB], 'Largest JSON body of a caller who is not authenticated yet.'),
    jsonDepthMax: integer(64, [4, 1000], 'Deepest nesting of a JSON body.'),
    jsonValuesMax: integer(
      2_000_000,
      [1000, 100_000_000],
      'Maximum number of values in a JSON body, including those of vectors; parsing more delays other requests.',
    ),
    jsonKeysMax: integer(10_000, [100, 1_000_000], 'Maximum number of keys of one object in a JSON body.'),
    headerBytesMax: bytes(32 * KiB, [4 * KiB, MiB], 'Maximum total size of request headers.'),
    headersMax: integer(200, [16, 1000], 'Maximum number of headers of a request.'),
    requestsMax: integer(1024, [1, 65_536], 'Maximum concurrent requests of all kinds.'),
    readsMax: integer(
      Math.max(16, 8 * availableParallelism()),
      [1, 65_536],
      'Maximum concurrent reads; more wait briefly or are refused with a Retry-After.',
      '8 per processor, at least 16',
    ),
    writesMax: integer(512, [1, 65_536], 'Maximum concurrent writes without an Arrow body.'),
    uploadsMax: integer(256, [1, 65_536], 'Maximum concurrent Arrow uploads.'),
    administrationMax: integer(16, [1, 65_536], 'Maximum concurrent administration requests.'),
    streamsMax: integer(
      128,
      [1, 65_536],
      'Maximum concurrent large replies; slow clients are disconnected when others wait.',
    ),
    waitingMax: integer(256, [1, 65_536], 'Maximum number of queued requests of each kind.'),
    reservedPercent: integer(25, [0, 90], 'Share of each concurrency limit that is reserved for other callers.'),
    slowReadsPerCallerMax: integer(
      Math.max(2, availableParallelism()),
      [1, 65_536],
      'Maximum concurrent reads of one caller that take longer than 0.1 s while other callers are active.',
      'one per processor, at least 2',
    ),
    queueSeconds: seconds(
      1,
      [0, 60],
      'Maximum time in the queue; requests expected to wait over a quarter of it are refused at once.',
    ),
    bufferedBytesMax: bytes(
      192 * MiB,
      [MiB, TiB],
      'Memory for request bodies; when it is full, senders wait, and idle ones are disconnected.',
    ),
    connectionsMax: integer(4096, [1, 1_000_000], 'Maximum number of connections; more are closed.'),
    rateRequestsPerSecond: integer(
      0,
      [0, 1_000_000],
      'Requests per second of a caller without a quota; 0: unlimited. Counted per node.',
    ),
    headersSeconds: seconds(30, [1, HOUR], 'Timeout for request headers.'),
    bodyIdleSeconds: seconds(60, [1, HOUR], 'Longest pause between two parts of a request body.'),
    bodyBytesPerSecondMin: bytes(256, [0, GiB], 'Minimum upload rate of a request body; 0: none.'),
    slowSeconds: seconds(5, [0, HOUR], 'How long a stalled client may hold its slot while others wait.'),
    keepAliveSeconds: seconds(310, [1, DAY], 'How long an idle connection is kept; clients reuse theirs for 300 s.'),
    drainNoticeSeconds: seconds(
      0,
      [0, HOUR],
      'At shutdown, how long /readyz reports not ready while requests are still accepted, for load balancers.',
    ),
    drainSeconds: seconds(30, [0, HOUR], 'How long in-flight requests may run at shutdown.'),
    pageSizeMax: integer(1000, [1, 100_000], 'Maximum number of entries on one page of a listing.'),
    unpagedNamesMax: integer(
      100_000,
      [1, 1_000_000],
      'Maximum number of names in a listing of one namespace; clients request all of them at once.',
    ),
    renamedSeconds: seconds(
      300,
      [0, DAY],
      'How long the old name of a renamed table still leads LanceDB clients to it.',
    ),
  },
  arrow: {
    streamBytesMax: bytes(4 * GiB, [KiB, 16 * TiB], 'Largest Arrow body.'),
    messageBytesMax: bytes(GiB, [KiB, 2 * GiB], 'Largest single message (batch) of an Arrow stream.'),
    metadataBytesMax: bytes(16 * MiB, [KiB, 256 * MiB], 'Largest header of an Arrow message.'),
    decodedBytesMax: bytes(16 * GiB, [KiB, 64 * TiB], 'Largest Arrow body after decompression.'),
    decodedRatioMax: integer(200, [1, 100_000], 'Maximum ratio of decompressed to compressed size.'),
    decodedFloorBytes: bytes(64 * MiB, [0, TiB], 'Decompressed size below which the ratio is not checked.'),
    columnsMax: integer(2000, [1, 20_000], 'Maximum number of columns of a table, nested ones included.'),
    depthMax: integer(32, [1, 64], 'Deepest nesting of a column.'),
    rowsPerBatchMax: integer(16_777_216, [1, 2_147_483_647], 'Maximum number of rows in one batch.'),
    dictionaryBytesMax: bytes(256 * MiB, [KiB, 2 * GiB], 'Maximum total size of the dictionaries of a stream.'),
    chunkBytes: bytes(32 * MiB, [MiB, GiB], 'Size of the chunks in which a long stream is written.'),
    chunksMax: integer(4096, [1, 100_000], 'Maximum number of chunks of one stream.'),
    keptChunksMax: integer(4, [0, 1000], 'Maximum number of chunk buffers kept for reuse.'),
  },
  sql: {
    charactersMax: integer(1_000_000, [1, 16_000_000], 'Longest SQL text.'),
    operatorsMax: integer(256, [1, 400], 'Maximum number of operators in one SQL expression.'),
    depthMax: integer(24, [1, 40], 'Deepest nesting of an SQL expression.'),
    coalesceDepthMax: integer(
      6,
      [1, 12],
      'Deepest nesting of functions that double planning time: coalesce, nvl, ifnull and similar.',
    ),
    listItemsMax: integer(200_000, [1, 2_000_000], 'Maximum number of items in the lists of an SQL expression.'),
    growthMax: integer(
      32,
      [1, 1000],
      'How many times longer than its columns a value computed by an SQL expression may be, as with concat and ||.',
    ),
    computedBytesMax: bytes(
      64 * KiB,
      [KiB, 64 * MiB],
      'Maximum bytes that literals of an SQL expression may add to a computed value.',
    ),
    fullTextDepthMax: integer(32, [1, 100], 'Deepest nesting of a full-text query.'),
    fullTextClausesMax: integer(256, [1, 10_000], 'Maximum number of clauses of a full-text query.'),
    fullTextCharactersMax: integer(65_536, [1, 1_000_000], 'Longest text of a full-text query.'),
    fullTextCostMax: integer(
      20_000,
      [100, 10_000_000],
      'Maximum cost of a full-text query: 1 per word and column; 3, 25 or 1,500 with fuzziness 1, 2 or more.',
    ),
    updatesMax: integer(512, [1, 10_000], 'Maximum number of fields that one update may set.'),
  },
  query: {
    kMax: integer(1_000_000, [1, 100_000_000], 'Largest number of results.'),
    offsetMax: integer(10_000_000, [0, 2_147_483_647], 'Largest number of results to skip.'),
    vectorsMax: integer(100, [1, 5000], 'Maximum number of vectors in one query.'),
    dimensionsMax: integer(16_384, [1, 65_536], 'Maximum number of dimensions of a query vector.'),
    nprobesMax: integer(100_000, [1, 1_000_000], 'Largest number of probes.'),
    refineFactorMax: integer(1000, [1, 100_000], 'Largest refine factor.'),
    efMax: integer(100_000, [1, 1_000_000], 'Largest search effort (ef).'),
    columnsMax: integer(4096, [1, 100_000], 'Maximum number of columns that a query may name.'),
    seconds: seconds(60, [1, HOUR], 'Query timeout.'),
    memoryBytesMax: bytes(
      768 * MiB,
      [MiB, TiB],
      'Estimated memory of all running queries; small ones are not counted.',
    ),
    memoryPerCallerBytesMax: bytes(512 * MiB, [MiB, TiB], 'Estimated memory of all running queries of one caller.'),
    memoryPerRequestBytesMax: bytes(512 * MiB, [MiB, TiB], 'Estimated memory of one query; larger ones are refused.'),
    memoryWaitSeconds: seconds(2, [0, 60], 'How long a query waits for memory.'),
    residentBytesMax: bytes(
      1536 * MiB,
      [64 * MiB, 64 * TiB],
      'Resident memory of the worker above which large queries run one at a time; raise it with engine.indexCacheBytes.',
    ),
    cacheBytes: bytes(
      64 * MiB,
      [0, TiB],
      'Memory of the result cache, which serves repeated queries until the table changes; 0: off.',
    ),
    diffRowsMax: integer(
      6_000_000,
      [1000, 1_000_000_000],
      'Maximum number of rows of both versions that a diff compares.',
    ),
    diffShownMax: integer(
      10_000,
      [1, 1_000_000],
      'Maximum number of changed rows that a diff returns; all are counted.',
    ),
    diffBytesMax: bytes(32 * MiB, [KiB, GiB], 'Maximum size of the changed rows that a diff returns, as JSON.'),
    cachedResultBytesMax: bytes(256 * KiB, [KiB, GiB], 'Largest result that is cached.'),
  },
  metadata: {
    entriesMax: integer(1000, [1, 100_000], 'Maximum number of entries in the metadata of a field or a version.'),
    keyBytesMax: bytes(KiB, [1, MiB], 'Longest key of metadata and of properties.'),
    valueBytesMax: bytes(MiB, [1, 64 * MiB], 'Longest value of metadata and of properties.'),
    propertiesMax: integer(1000, [1, 100_000], 'Maximum number of properties of a table or namespace.'),
    propertiesBytesMax: bytes(2 * MiB, [1, 64 * MiB], 'Largest total of the properties of a table or namespace.'),
    versionBytesMax: bytes(8 * KiB, [1, MiB], 'Largest metadata of a version that an external writer commits.'),
  },
  engine: {
    openTablesMax: integer(512, [1, 100_000], 'Maximum number of tables kept open.'),
    queueWaitingMax: integer(1024, [1, 100_000], "Maximum length of a table's write queue."),
    queueWaitingPerCallerMax: integer(768, [1, 100_000], "Maximum writes of one caller in a table's write queue."),
    queueWaitSeconds: seconds(60, [1, HOUR], 'Maximum time of a write in the queue.'),
    queueHoldSeconds: seconds(
      HOUR / 2,
      [10, 7 * DAY],
      'How long a write may block its queue before it counts as stuck.',
    ),
    writeAttemptsMax: integer(5, [1, 100], 'Attempts of a write that conflicts with external writers.'),
    orphanedQueriesMax: integer(
      64,
      [1, 10_000],
      'Maximum number of orphaned queries: still running after a timeout or after the client disconnected.',
    ),
    orphanedQueriesPerCallerMax: integer(
      4,
      [1, 10_000],
      'Maximum number of orphaned queries of one caller; then only that caller is refused.',
    ),
    bulkWritesMax: integer(
      Math.min(4, Math.max(2, availableParallelism())),
      [1, 1000],
      'Large uploads that are written to tables concurrently; the chunks of a create count one by one.',
      'one per processor, from 2 to 4',
    ),
    threadNice: integer(
      3,
      [0, 19],
      "Nice value of the engine's threads, below the thread that handles requests; Linux only.",
    ),
    resultBatchBytes: bytes(MiB, [KiB, GiB], 'Approximate size of result batches.'),
    updateGroupMax: integer(64, [1, 256], 'Maximum number of updates in one group commit; 1: no group commit.'),
    insertGroupMax: integer(64, [1, 1024], 'Maximum number of inserts in one group commit; 1: no group commit.'),
    insertGroupRowsMax: integer(1_000_000, [1, 100_000_000], 'Maximum number of rows in one group commit of inserts.'),
    insertGroupBytesMax: bytes(16 * MiB, [KiB, GiB], 'Maximum size of one group commit of inserts.'),
    backfillBytes: bytes(
      32 * MiB,
      [64 * KiB, 4 * GiB],
      'Approximate size of one step of a backfill; other writers wait for it.',
    ),
    batchGatherMilliseconds: integer(
      3,
      [0, 100],
      'After a group commit, how long to wait for more writes; a lone writer never waits.',
    ),
    sharedQueriesMax: integer(16, [1, 64], 'Maximum number of similar queries that run as one; 1: no sharing.'),
    indexCacheBytes: bytes(GiB, [0, TiB], 'Memory for the cache of indexes.'),
    metadataCacheBytes: bytes(256 * MiB, [0, TiB], 'Memory for the cache of table metadata.'),
    manifestBytesMax: bytes(64 * MiB, [MiB, GiB], 'Largest manifest that an external writer may commit.'),
    batchTablesMax: integer(100, [1, 1000], 'Maximum number of operations in one batch commit.'),
    trialSeconds: seconds(10, [1, HOUR], 'Maximum time to open such a manifest on trial, in a separate process.'),
    mergeBytesMax: bytes(128 * MiB, [MiB, 2 * GiB], 'Largest body of an upsert (merge_insert), held in memory.'),
    spoolBytesMax: bytes(64 * GiB, [MiB, 64 * TiB], 'Disk space for unfinished inserts; one caller may use 75 %.'),
    uploadSessionsMax: integer(256, [1, 10_000], 'Maximum number of open multipart uploads.'),
    uploadSessionsPerCallerMax: integer(64, [1, 10_000], 'Maximum number of open multipart uploads of one caller.'),
    uploadPartsMax: integer(4096, [1, 100_000], 'Maximum number of parts of a multipart upload.'),
    uploadIdleSeconds: seconds(HOUR, [1, 30 * DAY], 'Time after which an idle multipart upload is aborted.'),
  },
  index: {
    partitionsMax: integer(65_536, [1, 1_000_000], 'Maximum number of partitions of a vector index.'),
    sampleRateMax: integer(65_536, [1, 1_000_000], 'Maximum sample rate (rows per partition) of a vector index.'),
    iterationsMax: integer(1000, [1, 100_000], 'Maximum number of training iterations of a vector index.'),
    mMax: integer(256, [1, 4096], 'Maximum number of neighbours (m) in the graph of an HNSW index.'),
    efConstructionMax: integer(
      4096,
      [1, 100_000],
      'Maximum number of candidates (ef_construction) while a graph is built.',
    ),
    tokenLengthMax: integer(65_536, [1, 1_000_000], 'Longest word that a full-text index may contain.'),
    stopWordsMax: integer(1000, [1, 100_000], 'Maximum number of custom stop words of a full-text index.'),
    ngramLengthMax: integer(32, [1, 256], 'Longest n-gram of a full-text index.'),
    recallPercent: integer(
      95,
      [50, 99],
      'Recall target, in percent, of vector searches without parameters; an index may set its own.',
    ),
    tuningSeconds: seconds(
      30,
      [0, HOUR],
      'Maximum time for measuring recall after an index build, which takes up to 10% of the build; 0: off.',
    ),
    tuningSecondsMin: seconds(1.5, [0, HOUR], 'Minimum time that measuring recall may take, even after a quick build.'),
  },
  jobs: {
    answerSeconds: seconds(30, [0, 280], 'How long a request waits for a job before it gets the job id instead.'),
    runningMax: integer(2, [1, 64], 'Maximum number of running jobs, such as index builds.'),
    waitingMax: integer(256, [0, 10_000], 'Maximum number of queued jobs; more are refused with a Retry-After.'),
    waitingPerCallerMax: integer(64, [0, 10_000], 'Maximum number of queued jobs of one caller.'),
    waitSeconds: seconds(HOUR, [1, 7 * DAY], 'Maximum time of a job in the queue.'),
    attemptsMax: integer(
      3,
      [1, 100],
      'How often a backfill, a refresh or automatic maintenance is started, if the server process crashes each time.',
    ),
    keptMax: integer(
      1000,
      [0, 100_000],
      'Maximum number of finished jobs that are kept; without PostgreSQL, most only until the next start.',
    ),
  },
  views: {
    pollSeconds: seconds(10, [0, DAY], 'How often the sources of views are checked for changes; 0: never.'),
    intervalSecondsMin: seconds(10, [1, DAY], 'Minimum time between two automatic refreshes of a view.'),
  },
  ...INTEGRATION_LIMITS,
  maintenance: {
    runningMax: integer(1, [0, 16], 'Maximum number of tables under maintenance at once; 0 turns maintenance off.'),
    dutyPercent: integer(25, [1, 100], 'Maximum share of time for maintenance, for compaction and cleanup each.'),
    checkCommits: integer(32, [1, 1_000_000], 'Commits after which a table is checked for maintenance.'),
    quietSeconds: seconds(15, [0.1, DAY], 'Idle time after which a table is checked for maintenance.'),
    scanSeconds: seconds(HOUR, [1, 30 * DAY], 'Time between two checks of all tables.'),
    smallFragmentsMax: integer(64, [2, 100_000], 'Small fragments that trigger a compaction.'),
    deletedPercentMax: integer(10, [1, 100], 'Share of deleted rows that triggers a compaction.'),
    unindexedPercentMax: integer(10, [1, 100], 'Share of unindexed rows that triggers an index refresh.'),
    /** Amortizes a compaction, which may rewrite the whole table. */
    rewriteBytesPerCommit: bytes(
      256 * KiB,
      [0, TiB],
      'Bytes that a compaction may rewrite per commit since the last one; idle tables are exempt.',
    ),
    /** Larger tables are compacted concurrently with their writers, unless that keeps failing. */
    blockingBytesMax: bytes(
      64 * MiB,
      [0, TiB],
      'Largest table whose writers wait during a compaction, unless they only add rows.',
    ),
    retentionSeconds: seconds(7 * DAY, [0, 3650 * DAY], 'How long old versions are kept.'),
    versionsMin: integer(2, [1, 1_000_000], 'Number of newest versions that are always kept.'),
    /** The engine reads all versions in each run. */
    versionsMax: integer(
      1000,
      [1, 1_000_000],
      'Number of versions above which the oldest are removed before their retention ends.',
    ),
    readerSeconds: seconds(120, [0, DAY], 'Versions that were the latest within this time stay for running readers.'),
    historyRatioMax: integer(
      1,
      [0, 100_000],
      'Size of old versions, as a multiple of the table, above which they are removed early.',
    ),
    historyFloorBytes: bytes(64 * MiB, [0, TiB], 'Size of old versions below which that limit does not apply.'),
  },
  log: {
    slowQuerySeconds: seconds(1, [0, HOUR], 'Duration from which a query counts as slow; 0: off.'),
    slowQueriesMax: integer(200, [1, 10_000], 'Maximum number of slow queries in the list.'),
    activityPointsMax: integer(90, [0, 10_000], 'Length of /metrics/history: one point every 10 s; 0: off.'),
    slowAnalysesPerMinuteMax: integer(6, [0, 1000], 'Slow queries per minute that are run a second time for analysis.'),
  },
  journal: {
    windowSeconds: seconds(
      60,
      [0, DAY],
      'How long a retry of a write whose reply was lost gets the stored result instead of being applied again.',
    ),
    keySeconds: seconds(DAY, [0, 30 * DAY], 'How long the result of a write with an Idempotency-Key is kept.'),
    keysMax: integer(100_000, [0, 10_000_000], 'Maximum number of stored results of Idempotency-Keys.'),
  },
  access: {
    grantsMax: integer(100, [1, 10_000], 'Maximum number of grants of a key, a client or the subject of a token.'),
    measureSeconds: integer(2, [1, 60], 'How long a request waits for table sizes that a quota needs.'),
  },
};

export type Limits = {
  readonly [Group in keyof typeof LIMITS]: { readonly [Field in keyof (typeof LIMITS)[Group]]: number };
};
export type HttpLimits = Limits['http'];
export type ArrowLimits = Limits['arrow'];
export type SqlLimits = Limits['sql'];
export type QueryLimits = Limits['query'];
export type MetadataLimits = Limits['metadata'];
export type EngineLimits = Limits['engine'];
export type IndexLimits = Limits['index'];
export type JobLimits = Limits['jobs'];
export type MaintenanceLimits = Limits['maintenance'];
export type LogLimits = Limits['log'];
export type JournalLimits = Limits['journal'];
