import { availableParallelism } from 'node:os';
import type { Limits } from '../../model/limits.ts';
import { readIssuers, showIssuer } from './issuers.ts';
import { boolean, bytes, choice, integer, json, list, options, path, seconds, secret, text } from './setting-types.ts';
import type { Setting } from './setting-types.ts';
import {
  readAdminKey,
  readBasePath,
  readDataFolder,
  readHost,
  readHostSuffix,
  readIssuerUrl,
  readStorageRoot,
} from './text-rules.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;
const TiB = 1024 * GiB;

const HOUR = 3600;
const DAY = 24 * HOUR;

/** Settings with an older public name, and their fields in `Limits`. */
export const RENAMED_LIMITS = {
  'http.strangerJsonBytesMax': 'unauthenticatedJsonBytesMax',
  'engine.laneWaitingMax': 'queueWaitingMax',
  'engine.laneWaitSeconds': 'queueWaitSeconds',
  'engine.laneTurnSeconds': 'queueHoldSeconds',
  'engine.abandonedMax': 'orphanedQueriesMax',
  'maintenance.laneBytesMax': 'blockingBytesMax',
  'maintenance.roundSeconds': 'scanSeconds',
} as const;

type RenamedField = (typeof RENAMED_LIMITS)[keyof typeof RENAMED_LIMITS];
type LimitName =
  | { [G in keyof Limits]: `${G}.${Exclude<keyof Limits[G] & string, RenamedField>}` }[keyof Limits]
  | keyof typeof RENAMED_LIMITS;

/**
 * One row for each field of `Limits`. Where a maximum looks low, the engine ends the process, hangs or takes all memory
 * not far beyond it.
 */
export const LIMIT_SETTINGS = {
  'http.jsonBytesMax': bytes(16 * MiB, [KiB, GiB], 'Largest JSON body.'),
  'http.strangerJsonBytesMax': bytes(MiB, [KiB, GiB], 'Largest JSON body read to find the credential inside it.'),
  'http.jsonDepthMax': integer(64, [4, 1000], 'Deepest nesting of a JSON body.'),
  'http.headerBytesMax': bytes(32 * KiB, [4 * KiB, MiB], 'Largest sum of request headers.'),
  'http.headersMax': integer(200, [16, 1000], 'Most headers of a request.'),
  'http.requestsMax': integer(1024, [1, 65_536], 'Requests served at once, of all kinds.'),
  'http.readsMax': integer(
    Math.max(16, 8 * availableParallelism()),
    [1, 65_536],
    'Reads served at once; more wait a little, or are told to slow down.',
    '8 for each processor, at least 16',
  ),
  'http.writesMax': integer(512, [1, 65_536], 'Writes without an Arrow body served at once.'),
  'http.uploadsMax': integer(256, [1, 65_536], 'Arrow bodies received at once.'),
  'http.administrationMax': integer(16, [1, 65_536], 'Requests of administrators served at once.'),
  'http.streamsMax': integer(
    128,
    [1, 65_536],
    'Large replies sent at once; clients that take them slowly lose theirs.',
  ),
  'http.waitingMax': integer(256, [1, 65_536], 'Requests of one kind that may wait for a place.'),
  'http.queueSeconds': seconds(
    1,
    [0, 60],
    'Longest wait for a place; who would have to wait for more than a quarter of it is refused at once.',
  ),
  'http.bufferedBytesMax': bytes(
    192 * MiB,
    [MiB, TiB],
    'Memory for bodies that arrive; beyond it the senders are made to wait, and those who send nothing lose theirs.',
  ),
  'http.connectionsMax': integer(4096, [1, 1_000_000], 'Connections held at once; more are closed.'),
  'http.rateRequestsPerSecond': integer(0, [0, 1_000_000], 'Requests per second and caller; 0 sets no rate.'),
  'http.headersSeconds': seconds(30, [1, HOUR], 'Time in which the headers of a request must arrive.'),
  'http.bodyIdleSeconds': seconds(60, [1, HOUR], 'Longest pause between two parts of a request body.'),
  'http.bodyBytesPerSecondMin': bytes(256, [0, GiB], 'Slowest that a request body may arrive; 0 sets no bound.'),
  'http.slowSeconds': seconds(5, [0, HOUR], 'How long a client may keep its place waiting when others need it.'),
  'http.keepAliveSeconds': seconds(310, [1, DAY], 'How long an idle connection is kept; clients pool for 300.'),
  'http.drainSeconds': seconds(30, [0, HOUR], 'Time that running requests have to finish at shutdown.'),
  'http.pageSizeMax': integer(1000, [1, 100_000], 'Most entries on one page of a listing.'),
  'http.unpagedNamesMax': integer(
    100_000,
    [1, 1_000_000],
    'Most names in a listing of one namespace; clients ask for all at once.',
  ),
  'http.renamedSeconds': seconds(
    300,
    [0, DAY],
    'How long the old name of a renamed table still leads LanceDB clients to it.',
  ),

  'arrow.streamBytesMax': bytes(4 * GiB, [KiB, 16 * TiB], 'Largest Arrow body.'),
  'arrow.messageBytesMax': bytes(GiB, [KiB, 2 * GiB], 'Largest single message (batch) of an Arrow stream.'),
  'arrow.metadataBytesMax': bytes(16 * MiB, [KiB, 256 * MiB], 'Largest header of an Arrow message.'),
  'arrow.decodedBytesMax': bytes(16 * GiB, [KiB, 64 * TiB], 'Largest Arrow body after decompression.'),
  'arrow.decodedRatioMax': integer(200, [1, 100_000], 'Most that a body may grow by decompression.'),
  'arrow.decodedFloorBytes': bytes(64 * MiB, [0, TiB], 'Decoded size below which the ratio is not looked at.'),
  'arrow.columnsMax': integer(2000, [1, 20_000], 'Most columns of a table, nested ones included.'),
  'arrow.depthMax': integer(32, [1, 64], 'Deepest nesting of a column.'),
  'arrow.rowsPerBatchMax': integer(16_777_216, [1, 2_147_483_647], 'Most rows in one batch.'),
  'arrow.dictionaryBytesMax': bytes(256 * MiB, [KiB, 2 * GiB], 'Largest sum of the dictionaries of a stream.'),
  'arrow.chunkBytes': bytes(32 * MiB, [MiB, GiB], 'Size at which a part of a long stream is written.'),
  'arrow.chunksMax': integer(4096, [1, 100_000], 'Most parts in which one stream is written.'),
  'arrow.keptChunksMax': integer(4, [0, 1000], 'Most buffers for such parts that are kept for streams to come.'),

  'sql.charactersMax': integer(1_000_000, [1, 16_000_000], 'Longest SQL text.'),
  'sql.operatorsMax': integer(256, [1, 400], 'Most operators in one SQL expression.'),
  'sql.depthMax': integer(24, [1, 40], 'Deepest nesting of an SQL expression.'),
  'sql.coalesceDepthMax': integer(
    6,
    [1, 12],
    'Deepest nesting of what doubles the planning: coalesce, nvl, ifnull and the like.',
  ),
  'sql.listItemsMax': integer(200_000, [1, 2_000_000], 'Most items in the lists of an SQL expression.'),
  'sql.fullTextDepthMax': integer(32, [1, 100], 'Deepest nesting of a full-text query.'),
  'sql.fullTextClausesMax': integer(256, [1, 10_000], 'Most clauses of a full-text query.'),
  'sql.fullTextCharactersMax': integer(65_536, [1, 1_000_000], 'Longest text of a full-text query.'),
  'sql.updatesMax': integer(512, [1, 10_000], 'Most fields that one update may set.'),

  'query.kMax': integer(1_000_000, [1, 100_000_000], 'Largest number of results.'),
  'query.offsetMax': integer(10_000_000, [0, 2_147_483_647], 'Largest number of results to skip.'),
  'query.vectorsMax': integer(100, [1, 5000], 'Most vectors in one query.'),
  'query.dimensionsMax': integer(16_384, [1, 65_536], 'Most dimensions of a query vector.'),
  'query.nprobesMax': integer(100_000, [1, 1_000_000], 'Largest number of probes.'),
  'query.refineFactorMax': integer(1000, [1, 100_000], 'Largest refine factor.'),
  'query.efMax': integer(100_000, [1, 1_000_000], 'Largest search effort (ef).'),
  'query.columnsMax': integer(4096, [1, 100_000], 'Most columns that a query may name.'),
  'query.seconds': seconds(60, [1, HOUR], 'Time after which a query is stopped.'),

  'metadata.entriesMax': integer(1000, [1, 100_000], 'Most entries in the metadata of a field.'),
  'metadata.keyBytesMax': bytes(KiB, [1, MiB], 'Longest key of metadata and of properties.'),
  'metadata.valueBytesMax': bytes(MiB, [1, 64 * MiB], 'Longest value of metadata and of properties.'),
  'metadata.propertiesMax': integer(1000, [1, 100_000], 'Most properties of a table or namespace.'),

  'engine.openTablesMax': integer(512, [1, 100_000], 'Most tables kept open.'),
  'engine.laneWaitingMax': integer(1024, [1, 100_000], 'Most writes that wait for one table.'),
  'engine.laneWaitSeconds': seconds(60, [1, HOUR], 'Longest wait of a write for its table.'),
  'engine.laneTurnSeconds': seconds(HOUR / 2, [10, 7 * DAY], 'Time after which a write that others wait for is stuck.'),
  'engine.writeAttemptsMax': integer(5, [1, 100], 'How often a write is tried when another writer was faster.'),
  'engine.abandonedMax': integer(16, [1, 10_000], 'Queries that may still run though nobody waits for them.'),
  'engine.bulkWritesMax': integer(
    Math.min(4, Math.max(2, availableParallelism())),
    [1, 1000],
    'Parts of large uploads that are written at once.',
    'one for each processor, from 2 to 4',
  ),
  'engine.threadNice': integer(
    3,
    [0, 19],
    'How far the threads of the engine stand back (nice) behind the one that answers requests; Linux only.',
  ),
  'engine.resultBatchBytes': bytes(MiB, [KiB, GiB], 'Size, about, of the batches in which a result is read and sent.'),
  'engine.updateGroupMax': integer(64, [1, 256], 'Most waiting updates that share one commit; 1: each has its own.'),
  'engine.insertGroupMax': integer(64, [1, 1024], 'Most waiting inserts that share one commit; 1: each has its own.'),
  'engine.insertGroupRowsMax': integer(1_000_000, [1, 100_000_000], 'Most rows of inserts that share one commit.'),
  'engine.insertGroupBytesMax': bytes(16 * MiB, [KiB, GiB], 'Most data of inserts that share one commit.'),
  'engine.batchGatherMilliseconds': integer(
    3,
    [0, 100],
    'Longest wait, after writes that shared a commit, for their senders to return; a lone writer never waits.',
  ),
  'engine.indexCacheBytes': bytes(GiB, [0, TiB], 'Memory for the cache of indexes.'),
  'engine.metadataCacheBytes': bytes(256 * MiB, [0, TiB], 'Memory for the cache of table metadata.'),
  'engine.mergeBytesMax': bytes(128 * MiB, [MiB, 2 * GiB], 'Largest body of a merge, which is held in memory.'),
  'engine.spoolBytesMax': bytes(64 * GiB, [MiB, 64 * TiB], 'Disk space for inserts that have not arrived whole yet.'),
  'engine.uploadSessionsMax': integer(64, [1, 10_000], 'Multipart uploads under way at once.'),
  'engine.uploadPartsMax': integer(4096, [1, 100_000], 'Most parts of a multipart upload.'),
  'engine.uploadIdleSeconds': seconds(HOUR, [1, 30 * DAY], 'Time after which a forgotten multipart upload is dropped.'),

  'index.partitionsMax': integer(65_536, [1, 1_000_000], 'Most partitions of a vector index.'),
  'index.sampleRateMax': integer(65_536, [1, 1_000_000], 'Most rows per partition that train a vector index.'),
  'index.iterationsMax': integer(1000, [1, 100_000], 'Most rounds of training of a vector index.'),
  'index.mMax': integer(256, [1, 4096], 'Most neighbours (m) in the graph of an HNSW index.'),
  'index.efConstructionMax': integer(4096, [1, 100_000], 'Most candidates (ef_construction) while a graph is built.'),
  'index.tokenLengthMax': integer(65_536, [1, 1_000_000], 'Longest word that a full-text index may keep.'),
  'index.ngramLengthMax': integer(32, [1, 256], 'Longest n-gram of a full-text index.'),

  'jobs.answerSeconds': seconds(
    30,
    [0, 280],
    'How long a request waits for an index before it gets the job id instead.',
  ),
  'jobs.runningMax': integer(2, [1, 64], 'Jobs, such as index builds, that run at once.'),
  'jobs.waitingMax': integer(64, [0, 10_000], 'Jobs that wait for their turn; more are told to slow down.'),
  'jobs.waitSeconds': seconds(HOUR, [1, 7 * DAY], 'Longest wait of a job for its turn.'),
  'jobs.keptMax': integer(1000, [0, 100_000], 'Ended jobs that are remembered until the next start.'),

  'maintenance.runningMax': integer(1, [0, 16], 'Tables put in order at once; 0 turns maintenance off.'),
  'maintenance.dutyPercent': integer(
    25,
    [1, 100],
    'Share of the time that maintenance may work, merging and removing each; then it rests.',
  ),
  'maintenance.checkCommits': integer(32, [1, 1_000_000], 'Commits after which a table is looked at.'),
  'maintenance.quietSeconds': seconds(15, [0.1, DAY], 'Time without commits after which a table is looked at.'),
  'maintenance.roundSeconds': seconds(HOUR, [1, 30 * DAY], 'Pause between two looks at all tables.'),
  'maintenance.smallFragmentsMax': integer(64, [2, 100_000], 'Small fragments that a table may have before a merge.'),
  'maintenance.deletedPercentMax': integer(10, [1, 100], 'Share of deleted rows that still take space.'),
  'maintenance.unindexedPercentMax': integer(10, [1, 100], 'Share of rows that may be missing in an index.'),
  'maintenance.rewriteBytesPerCommit': bytes(
    256 * KiB,
    [0, TiB],
    'How much a merge may write for each commit since the last; a quiet table is merged without counting.',
  ),
  'maintenance.laneBytesMax': bytes(64 * MiB, [0, TiB], 'Largest table whose writers wait while it is merged.'),
  'maintenance.retentionSeconds': seconds(7 * DAY, [0, 3650 * DAY], 'How far back a table can be read.'),
  'maintenance.versionsMin': integer(2, [1, 1_000_000], 'Newest versions that are kept in any case.'),
  'maintenance.versionsMax': integer(
    1000,
    [1, 1_000_000],
    'Versions past which the oldest go earlier than the retention.',
  ),
  'maintenance.readerSeconds': seconds(
    120,
    [0, DAY],
    'No version that was the latest within this time is removed; more than a query may take.',
  ),
  'maintenance.historyRatioMax': integer(
    1,
    [0, 100_000],
    'How many times the size of a table its old versions may take, before they go earlier than the retention.',
  ),
  'maintenance.historyFloorBytes': bytes(64 * MiB, [0, TiB], 'Size of old versions below which that is not looked at.'),

  'log.slowQuerySeconds': seconds(1, [0, HOUR], 'Time after which a query counts as slow; 0: none does.'),
  'log.slowQueriesMax': integer(200, [1, 10_000], 'Slow queries that are remembered until the next start.'),
  'log.slowAnalysesPerMinuteMax': integer(6, [0, 1000], 'Slow queries that are run again to be analysed, a minute.'),
  'journal.windowSeconds': seconds(
    60,
    [0, DAY],
    'How long a write whose answer was lost is remembered, so that the same request is not carried out again.',
  ),
  'journal.keySeconds': seconds(DAY, [0, 30 * DAY], 'How long the answer to a write with an Idempotency-Key is kept.'),
  'journal.keysMax': integer(100_000, [0, 10_000_000], 'Most answers that are kept for an Idempotency-Key.'),

  'access.grantsMax': integer(100, [1, 10_000], 'Most grants that a key or a client is made with.'),
} satisfies Record<LimitName, Setting<number>>;

/** Settings that are no limits. */
export const SERVICE_SETTINGS = {
  config: path({ default: undefined, help: 'JSON file with settings.' }),
  data: path({
    default: './data',
    help: 'Folder of the catalog and, without storage.root, of the tables; also the argument DATA.',
    rule: readDataFolder,
  }),
  host: text({ default: '127.0.0.1', help: 'Host name or address to listen on.', rule: readHost }),
  port: integer(2333, [0, 65_535], 'Port to listen on; 0 takes any free one.'),
  basePath: text({ default: '', help: 'Path in front of every route, such as /lance.', rule: readBasePath }),
  hostSuffix: text({
    default: undefined,
    help: 'Names in front of this host name choose the database: sales.SUFFIX is the database sales.',
    rule: readHostSuffix,
  }),
  'tls.cert': path({ default: undefined, help: 'PEM file with the certificate chain; needs tls.key.' }),
  'tls.key': path({ default: undefined, help: 'PEM file with the private key; needs tls.cert.' }),
  adminKey: secret(
    'API key with every right, at least 32 characters; a flag shows it to other users of the machine.',
    readAdminKey,
  ),
  'auth.required': boolean(true, 'Whether every request needs a credential.'),
  'auth.allowOpenNetwork': boolean(false, 'Allows listening beyond this machine without authentication.'),
  'auth.issuers': json({
    range: 'JSON list of issuers',
    help: 'Identity providers whose access tokens are accepted, and what their claims permit.',
    read: readIssuers,
    show: showIssuer,
  }),
  'auth.tokenEndpoint': boolean(true, 'Whether the server issues access tokens to clients of its own, at /oauth.'),
  'auth.issuerUrl': text({
    default: undefined,
    defaultText: 'on a loopback host its own address and /oauth, else none',
    help: 'Address of /oauth as clients see it, such as https://tables.example.com/oauth; needed beyond this machine.',
    rule: readIssuerUrl,
  }),
  'auth.tokenSeconds': integer(900, [60, DAY], 'Life of an access token that the server issues.'),
  'auth.failuresPerMinuteMax': integer(20, [1, 10_000], 'Wrong secrets per minute for one client from one address.'),
  'auth.tokenBytesMax': bytes(16 * KiB, [256, 256 * KiB], 'Longest access token that is looked at.'),
  'auth.clockSkewSeconds': seconds(30, [0, 600], 'How far the clock of an issuer may be off.'),
  'auth.keySetCooldownSeconds': seconds(30, [1, HOUR], 'Shortest time between two fetches of a key set.'),
  'auth.keySetSeconds': seconds(600, [1, DAY], 'How long a fetched key set is used.'),
  'auth.fetchSeconds': seconds(5, [0.1, 60], 'Time in which an issuer must answer.'),
  'storage.root': text({
    default: undefined,
    defaultText: 'the data folder',
    help: 'Where tables are kept: a folder, or an s3://, gs:// or az:// address.',
    rule: readStorageRoot,
  }),
  'storage.options': options('Options of the storage layer, such as aws_region; values are never shown.'),
  'storage.sync': choice(
    'full',
    ['full', 'os'],
    'When a write on a local disk is answered: full, once it is on disk; os, once the operating system has it.',
  ),
  'storage.lockSeconds': seconds(
    5,
    [0, HOUR],
    'How long a start waits for another server that uses the same folder; for one that is shutting down, its drain time.',
  ),
  'storage.allowedCallerOptions': list([], 'Names of storage options that callers may send with a create.'),
  catalogFile: path({
    default: undefined,
    defaultText: 'tiltyard.db in the data folder',
    help: 'File of the catalog.',
  }),
  'log.level': choice('info', ['error', 'warn', 'info', 'debug'], 'Least level that is logged.'),
  'log.format': choice('auto', ['auto', 'json', 'text'], 'Log lines: auto is text on a terminal, else JSON.'),
  'metrics.access': choice(
    'administrators',
    ['administrators', 'everyone', 'off'],
    'Who may read /metrics: administrators of the server, everyone without a credential, or nobody.',
  ),
  watchdogSeconds: seconds(10, [0.5, HOUR], 'Time without an answer from the engine after which it is replaced.'),
};

export const SETTINGS = { ...SERVICE_SETTINGS, ...LIMIT_SETTINGS };

export type SettingName = keyof typeof SETTINGS;

export const SETTING_NAMES: readonly SettingName[] = Object.keys(SETTINGS).filter(isSettingName);

export type SettingValues = {
  readonly [N in SettingName]: (typeof SETTINGS)[N] extends Setting<infer T> ? T : never;
};

/** The rows in the order of the table. */
export function settingRows(): readonly (readonly [SettingName, Setting<unknown>])[] {
  return SETTING_NAMES.map((name) => [name, SETTINGS[name]]);
}

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name);
}
