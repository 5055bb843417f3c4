import { availableParallelism } from 'node:os';

/** Time for running commits and an orderly shutdown, after `http.drainSeconds`. */
export const SHUTDOWN_GRACE_SECONDS = 10;

export const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;
const TiB = 1024 * GiB;

export const HOUR = 3600;
export const DAY = 24 * HOUR;

/** A number that an operator may set. */
export interface NumberSpec {
  readonly type: 'integer' | 'bytes' | 'seconds';
  readonly default: number;
  /** Words for a default that depends on the machine. */
  readonly defaultText: string | undefined;
  readonly range: readonly [min: number, max: number];
  readonly help: string;
}

export const integer = numberSpec('integer');
export const bytes = numberSpec('bytes');
export const seconds = numberSpec('seconds');

function numberSpec(type: NumberSpec['type']) {
  return (fallback: number, range: NumberSpec['range'], help: string, defaultText?: string): NumberSpec => {
    return { type, default: fallback, defaultText, range, help };
  };
}

/** Each is a setting. Not far beyond a maximum that looks low, the engine ends the process, hangs or takes all memory. */
export const LIMITS = {
  http: {
    jsonBytesMax: bytes(16 * MiB, [KiB, GiB], 'Largest JSON body.'),
    unauthenticatedJsonBytesMax: bytes(MiB, [KiB, GiB], 'Largest JSON body read to find the credential inside it.'),
    jsonDepthMax: integer(64, [4, 1000], 'Deepest nesting of a JSON body.'),
    jsonValuesMax: integer(
      2_000_000,
      [1000, 100_000_000],
      'Most values, numbers of vectors included, in a JSON body; the more, the longer a request may hold up others.',
    ),
    jsonKeysMax: integer(10_000, [100, 1_000_000], 'Most keys of one object in a JSON body.'),
    headerBytesMax: bytes(32 * KiB, [4 * KiB, MiB], 'Largest sum of request headers.'),
    headersMax: integer(200, [16, 1000], 'Most headers of a request.'),
    requestsMax: integer(1024, [1, 65_536], 'Requests served at once, of all kinds.'),
    readsMax: integer(
      Math.max(16, 8 * availableParallelism()),
      [1, 65_536],
      'Reads served at once; more wait a little, or are told to slow down.',
      '8 for each processor, at least 16',
    ),
    writesMax: integer(512, [1, 65_536], 'Writes without an Arrow body served at once.'),
    uploadsMax: integer(256, [1, 65_536], 'Arrow bodies received at once.'),
    administrationMax: integer(16, [1, 65_536], 'Requests of administrators served at once.'),
    streamsMax: integer(128, [1, 65_536], 'Large replies sent at once; clients that take them slowly lose theirs.'),
    waitingMax: integer(256, [1, 65_536], 'Requests of one kind that may wait for a place.'),
    reservedPercent: integer(
      25,
      [0, 90],
      'Share of the places of each kind that one caller leaves to others, however much it sends.',
    ),
    slowReadsPerCallerMax: integer(
      Math.max(2, availableParallelism()),
      [1, 65_536],
      'Reads of one caller that may take longer than 0.1 s at once while other callers are active; its next ones wait.',
      'one for each processor, at least 2',
    ),
    queueSeconds: seconds(
      1,
      [0, 60],
      'Longest wait for a place; who would have to wait for more than a quarter of it is refused at once.',
    ),
    bufferedBytesMax: bytes(
      192 * MiB,
      [MiB, TiB],
      'Memory for bodies that arrive; beyond it the senders are made to wait, and those who send nothing lose theirs.',
    ),
    connectionsMax: integer(4096, [1, 1_000_000], 'Connections held at once; more are closed.'),
    rateRequestsPerSecond: integer(
      0,
      [0, 1_000_000],
      'Requests per second and caller without a quota for it; 0 sets no rate. Each node counts.',
    ),
    headersSeconds: seconds(30, [1, HOUR], 'Time in which the headers of a request must arrive.'),
    bodyIdleSeconds: seconds(60, [1, HOUR], 'Longest pause between two parts of a request body.'),
    bodyBytesPerSecondMin: bytes(256, [0, GiB], 'Slowest that a request body may arrive; 0 sets no bound.'),
    slowSeconds: seconds(5, [0, HOUR], 'How long a client may keep its place waiting when others need it.'),
    keepAliveSeconds: seconds(310, [1, DAY], 'How long an idle connection is kept; clients pool for 300.'),
    drainNoticeSeconds: seconds(
      0,
      [0, HOUR],
      'Time at shutdown for which /readyz already says not ready while requests are still accepted: for load balancers.',
    ),
    drainSeconds: seconds(30, [0, HOUR], 'Time that running requests have to finish at shutdown.'),
    pageSizeMax: integer(1000, [1, 100_000], 'Most entries on one page of a listing.'),
    unpagedNamesMax: integer(
      100_000,
      [1, 1_000_000],
      'Most names in a listing of one namespace; clients ask for all at once.',
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
    decodedRatioMax: integer(200, [1, 100_000], 'Most that a body may grow by decompression.'),
    decodedFloorBytes: bytes(64 * MiB, [0, TiB], 'Decoded size below which the ratio is not looked at.'),
    columnsMax: integer(2000, [1, 20_000], 'Most columns of a table, nested ones included.'),
    depthMax: integer(32, [1, 64], 'Deepest nesting of a column.'),
    rowsPerBatchMax: integer(16_777_216, [1, 2_147_483_647], 'Most rows in one batch.'),
    dictionaryBytesMax: bytes(256 * MiB, [KiB, 2 * GiB], 'Largest sum of the dictionaries of a stream.'),
    chunkBytes: bytes(32 * MiB, [MiB, GiB], 'Size at which a part of a long stream is written.'),
    chunksMax: integer(4096, [1, 100_000], 'Most parts in which one stream is written.'),
    keptChunksMax: integer(4, [0, 1000], 'Most buffers for such parts that are kept for streams to come.'),
  },
  sql: {
    charactersMax: integer(1_000_000, [1, 16_000_000], 'Longest SQL text.'),
    operatorsMax: integer(256, [1, 400], 'Most operators in one SQL expression.'),
    depthMax: integer(24, [1, 40], 'Deepest nesting of an SQL expression.'),
    coalesceDepthMax: integer(
      6,
      [1, 12],
      'Deepest nesting of what doubles the planning: coalesce, nvl, ifnull and the like.',
    ),
    listItemsMax: integer(200_000, [1, 2_000_000], 'Most items in the lists of an SQL expression.'),
    growthMax: integer(
      32,
      [1, 1000],
      'How many times as long as its columns a value may get that an SQL expression computes, as by concat and ||.',
    ),
    computedBytesMax: bytes(
      64 * KiB,
      [KiB, 64 * MiB],
      'Most bytes that texts and lists of an SQL expression may add to a value that it computes for each row.',
    ),
    fullTextDepthMax: integer(32, [1, 100], 'Deepest nesting of a full-text query.'),
    fullTextClausesMax: integer(256, [1, 10_000], 'Most clauses of a full-text query.'),
    fullTextCharactersMax: integer(65_536, [1, 1_000_000], 'Longest text of a full-text query.'),
    fullTextCostMax: integer(
      20_000,
      [100, 10_000_000],
      'Most that a full-text query may cost: 1 per word and column; with fuzziness 1: 3, 2: 25, more: 1,500.',
    ),
    updatesMax: integer(512, [1, 10_000], 'Most fields that one update may set.'),
  },
  query: {
    kMax: integer(1_000_000, [1, 100_000_000], 'Largest number of results.'),
    offsetMax: integer(10_000_000, [0, 2_147_483_647], 'Largest number of results to skip.'),
    vectorsMax: integer(100, [1, 5000], 'Most vectors in one query.'),
    dimensionsMax: integer(16_384, [1, 65_536], 'Most dimensions of a query vector.'),
    nprobesMax: integer(100_000, [1, 1_000_000], 'Largest number of probes.'),
    refineFactorMax: integer(1000, [1, 100_000], 'Largest refine factor.'),
    efMax: integer(100_000, [1, 1_000_000], 'Largest search effort (ef).'),
    columnsMax: integer(4096, [1, 100_000], 'Most columns that a query may name.'),
    seconds: seconds(60, [1, HOUR], 'Time after which a query is stopped.'),
    memoryBytesMax: bytes(
      768 * MiB,
      [MiB, TiB],
      'Memory, by estimate, for all queries at once; small ones are not counted.',
    ),
    memoryPerCallerBytesMax: bytes(512 * MiB, [MiB, TiB], 'Memory, by estimate, for all queries of one caller.'),
    memoryPerRequestBytesMax: bytes(
      512 * MiB,
      [MiB, TiB],
      'Memory, by estimate, that one query may take; larger ones are refused at once.',
    ),
    memoryWaitSeconds: seconds(2, [0, 60], 'Longest wait of a query for memory.'),
    residentBytesMax: bytes(
      1536 * MiB,
      [64 * MiB, 64 * TiB],
      'Resident memory of the worker above which large queries run one at a time; raise it with engine.indexCacheBytes.',
    ),
    cacheBytes: bytes(
      64 * MiB,
      [0, TiB],
      'Memory for results of queries, which answer the same query while the table does not change; 0 turns the cache off.',
    ),
    cachedResultBytesMax: bytes(256 * KiB, [KiB, GiB], 'Largest result that is cached.'),
  },
  metadata: {
    entriesMax: integer(1000, [1, 100_000], 'Most entries in the metadata of a field.'),
    keyBytesMax: bytes(KiB, [1, MiB], 'Longest key of metadata and of properties.'),
    valueBytesMax: bytes(MiB, [1, 64 * MiB], 'Longest value of metadata and of properties.'),
    propertiesMax: integer(1000, [1, 100_000], 'Most properties of a table or namespace.'),
  },
  engine: {
    openTablesMax: integer(512, [1, 100_000], 'Most tables kept open.'),
    queueWaitingMax: integer(1024, [1, 100_000], 'Most writes that wait for one table.'),
    queueWaitingPerCallerMax: integer(768, [1, 100_000], 'Most writes of one caller that wait for one table.'),
    queueWaitSeconds: seconds(60, [1, HOUR], 'Longest wait of a write for its table.'),
    queueHoldSeconds: seconds(HOUR / 2, [10, 7 * DAY], 'Time after which a write that others wait for is stuck.'),
    writeAttemptsMax: integer(5, [1, 100], 'How often a write is tried when another writer was faster.'),
    orphanedQueriesMax: integer(64, [1, 10_000], 'Queries that may keep running after their clients have gone.'),
    orphanedQueriesPerCallerMax: integer(
      4,
      [1, 10_000],
      'Such queries of one caller; at this number only that caller is refused until one ends.',
    ),
    bulkWritesMax: integer(
      Math.min(4, Math.max(2, availableParallelism())),
      [1, 1000],
      'Parts of large uploads that are written at once.',
      'one for each processor, from 2 to 4',
    ),
    threadNice: integer(
      3,
      [0, 19],
      'How far the threads of the engine stand back (nice) behind the one that answers requests; Linux only.',
    ),
    resultBatchBytes: bytes(MiB, [KiB, GiB], 'Size, about, of the batches in which a result is read and sent.'),
    updateGroupMax: integer(64, [1, 256], 'Most waiting updates that share one commit; 1: each has its own.'),
    insertGroupMax: integer(64, [1, 1024], 'Most waiting inserts that share one commit; 1: each has its own.'),
    insertGroupRowsMax: integer(1_000_000, [1, 100_000_000], 'Most rows of inserts that share one commit.'),
    insertGroupBytesMax: bytes(16 * MiB, [KiB, GiB], 'Most data of inserts that share one commit.'),
    backfillBytes: bytes(
      32 * MiB,
      [64 * KiB, 4 * GiB],
      'Size, about, of a step of a backfill; other writers wait for it.',
    ),
    batchGatherMilliseconds: integer(
      3,
      [0, 100],
      'Longest wait, after writes that shared a commit, for their senders to return; a lone writer never waits.',
    ),
    indexCacheBytes: bytes(GiB, [0, TiB], 'Memory for the cache of indexes.'),
    metadataCacheBytes: bytes(256 * MiB, [0, TiB], 'Memory for the cache of table metadata.'),
    manifestBytesMax: bytes(
      64 * MiB,
      [MiB, GiB],
      'Largest manifest that an external writer may commit, to a table whose versions are managed.',
    ),
    batchTablesMax: integer(100, [1, 1000], 'Most changes of tables that one batch commits.'),
    trialSeconds: seconds(10, [1, HOUR], 'Longest trial opening of such a manifest, in a process of its own.'),
    mergeBytesMax: bytes(128 * MiB, [MiB, 2 * GiB], 'Largest body of a merge, which is held in memory.'),
    spoolBytesMax: bytes(64 * GiB, [MiB, 64 * TiB], 'Disk space for inserts that have not arrived whole yet.'),
    uploadSessionsMax: integer(256, [1, 10_000], 'Multipart uploads open at once.'),
    uploadSessionsPerCallerMax: integer(64, [1, 10_000], 'Multipart uploads of one caller open at once.'),
    uploadPartsMax: integer(4096, [1, 100_000], 'Most parts of a multipart upload.'),
    uploadIdleSeconds: seconds(HOUR, [1, 30 * DAY], 'Time after which a forgotten multipart upload is dropped.'),
  },
  index: {
    partitionsMax: integer(65_536, [1, 1_000_000], 'Most partitions of a vector index.'),
    sampleRateMax: integer(65_536, [1, 1_000_000], 'Most rows per partition that train a vector index.'),
    iterationsMax: integer(1000, [1, 100_000], 'Most rounds of training of a vector index.'),
    mMax: integer(256, [1, 4096], 'Most neighbours (m) in the graph of an HNSW index.'),
    efConstructionMax: integer(4096, [1, 100_000], 'Most candidates (ef_construction) while a graph is built.'),
    tokenLengthMax: integer(65_536, [1, 1_000_000], 'Longest word that a full-text index may keep.'),
    stopWordsMax: integer(1000, [1, 100_000], 'Most stop words that a full-text index may be given.'),
    ngramLengthMax: integer(32, [1, 256], 'Longest n-gram of a full-text index.'),
    recallPercent: integer(
      95,
      [50, 99],
      'Share of the exact neighbours that a vector search without parameters shall find; an index may have another.',
    ),
    tuningSeconds: seconds(
      30,
      [0, HOUR],
      'Longest measurement of a vector index after its build, which takes up to a tenth of the build; 0: none.',
    ),
    tuningSecondsMin: seconds(
      1.5,
      [0, HOUR],
      'What that measurement may take even after a quick build, and about half a second more on a busy machine.',
    ),
  },
  jobs: {
    answerSeconds: seconds(30, [0, 280], 'How long a request waits for an index before it gets the job id instead.'),
    runningMax: integer(2, [1, 64], 'Jobs, such as index builds, that run at once.'),
    waitingMax: integer(256, [0, 10_000], 'Jobs that wait for their turn; more are told to slow down.'),
    waitingPerCallerMax: integer(64, [0, 10_000], 'Jobs of one caller that wait; callers take turns.'),
    waitSeconds: seconds(HOUR, [1, 7 * DAY], 'Longest wait of a job for its turn.'),
    keptMax: integer(
      1000,
      [0, 100_000],
      'Ended jobs that are kept; most kinds only until the next start without PostgreSQL.',
    ),
  },
  views: {
    pollSeconds: seconds(10, [0, DAY], 'How often sources of views are looked at for changes; 0: never.'),
    intervalSecondsMin: seconds(10, [1, DAY], 'Shortest time between two refreshes of a view by themselves.'),
  },
  maintenance: {
    runningMax: integer(1, [0, 16], 'Tables that maintenance works on at once; 0 turns it off.'),
    dutyPercent: integer(
      25,
      [1, 100],
      'Share of the time that maintenance may work, merging and removing each; then it rests.',
    ),
    checkCommits: integer(32, [1, 1_000_000], 'Commits after which a table is looked at.'),
    quietSeconds: seconds(15, [0.1, DAY], 'Time without commits after which a table is looked at.'),
    scanSeconds: seconds(HOUR, [1, 30 * DAY], 'Pause between two looks at all tables.'),
    smallFragmentsMax: integer(64, [2, 100_000], 'Small fragments that a table may have before a merge.'),
    deletedPercentMax: integer(10, [1, 100], 'Share of deleted rows that still take space.'),
    unindexedPercentMax: integer(10, [1, 100], 'Share of rows that may be missing in an index.'),
    /** Amortises a compaction, which may rewrite the whole table. */
    rewriteBytesPerCommit: bytes(
      256 * KiB,
      [0, TiB],
      'How much a merge may write for each commit since the last; a quiet table is merged without counting.',
    ),
    /** Larger tables are compacted beside their writers, unless that keeps failing. */
    blockingBytesMax: bytes(64 * MiB, [0, TiB], 'Largest table whose writers wait while it is merged.'),
    retentionSeconds: seconds(7 * DAY, [0, 3650 * DAY], 'How far back a table can be read.'),
    versionsMin: integer(2, [1, 1_000_000], 'Newest versions that are kept in any case.'),
    /** The engine reads all versions in each run. */
    versionsMax: integer(1000, [1, 1_000_000], 'Versions past which the oldest go earlier than the retention.'),
    readerSeconds: seconds(
      120,
      [0, DAY],
      'No version that was the latest within this time is removed; more than a query may take.',
    ),
    historyRatioMax: integer(
      1,
      [0, 100_000],
      'How many times the size of a table its old versions may take, before they go earlier than the retention.',
    ),
    historyFloorBytes: bytes(64 * MiB, [0, TiB], 'Size of old versions below which that is not looked at.'),
  },
  log: {
    slowQuerySeconds: seconds(1, [0, HOUR], 'Time after which a query counts as slow; 0: none does.'),
    slowQueriesMax: integer(200, [1, 10_000], 'Slow queries that are remembered until the next start.'),
    slowAnalysesPerMinuteMax: integer(6, [0, 1000], 'Slow queries that are run again to be analysed, a minute.'),
  },
  journal: {
    windowSeconds: seconds(
      60,
      [0, DAY],
      'How long a write whose reply was lost is remembered, to answer the same request without applying it again.',
    ),
    keySeconds: seconds(DAY, [0, 30 * DAY], 'How long the answer to a write with an Idempotency-Key is kept.'),
    keysMax: integer(100_000, [0, 10_000_000], 'Most answers that are kept for an Idempotency-Key.'),
  },
  access: {
    grantsMax: integer(100, [1, 10_000], 'Most grants that a key or a client is made with.'),
    measureSeconds: integer(2, [1, 60], 'Longest wait for unknown sizes of tables that a quota counts.'),
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
