/** How long a shutdown may take beyond `http.drainSeconds`: for commits that are running, and for closing in order. */
export const SHUTDOWN_GRACE_SECONDS = 10;

/** Every bound that the service keeps, as values. Defaults, ranges and help stand in `config/settings/settings.ts`. */
export interface Limits {
  readonly http: HttpLimits;
  readonly arrow: ArrowLimits;
  readonly sql: SqlLimits;
  readonly query: QueryLimits;
  readonly metadata: MetadataLimits;
  readonly engine: EngineLimits;
  readonly index: IndexLimits;
  readonly jobs: JobLimits;
  readonly access: AccessLimits;
  readonly journal: JournalLimits;
  readonly maintenance: MaintenanceLimits;
  readonly log: LogLimits;
}

export interface HttpLimits {
  readonly jsonBytesMax: number;
  /** For a JSON body that is read before its caller is known, because the credential may be in it. */
  readonly strangerJsonBytesMax: number;
  readonly jsonDepthMax: number;
  readonly headerBytesMax: number;
  readonly headersMax: number;
  readonly requestsMax: number;
  readonly readsMax: number;
  readonly writesMax: number;
  readonly uploadsMax: number;
  readonly administrationMax: number;
  /** Large replies that are being sent. */
  readonly streamsMax: number;
  /** Requests of one kind that wait for a place. */
  readonly waitingMax: number;
  readonly queueSeconds: number;
  /** Memory for bodies that arrive, of all requests together. */
  readonly bufferedBytesMax: number;
  readonly connectionsMax: number;
  readonly rateRequestsPerSecond: number;
  readonly headersSeconds: number;
  readonly bodyIdleSeconds: number;
  readonly bodyBytesPerSecondMin: number;
  /** How long a client may keep us waiting while others need its place. */
  readonly slowSeconds: number;
  readonly keepAliveSeconds: number;
  readonly drainSeconds: number;
  readonly pageSizeMax: number;
  readonly unpagedNamesMax: number;
  readonly renamedSeconds: number;
}

export interface ArrowLimits {
  readonly streamBytesMax: number;
  readonly messageBytesMax: number;
  readonly metadataBytesMax: number;
  readonly decodedBytesMax: number;
  /** Decoded bytes may exceed the received bytes by this factor, once past `decodedFloorBytes`. */
  readonly decodedRatioMax: number;
  readonly decodedFloorBytes: number;
  readonly columnsMax: number;
  readonly depthMax: number;
  readonly rowsPerBatchMax: number;
  readonly dictionaryBytesMax: number;
  readonly chunkBytes: number;
  readonly chunksMax: number;
  /** Buffers of `chunkBytes` that are kept for streams to come. */
  readonly keptChunksMax: number;
}

export interface SqlLimits {
  readonly charactersMax: number;
  readonly operatorsMax: number;
  readonly depthMax: number;
  /** How deep constructs may nest that double the planner's work: `coalesce`, `CAST`, `BETWEEN`, aliases of functions. */
  readonly coalesceDepthMax: number;
  readonly listItemsMax: number;
  readonly fullTextDepthMax: number;
  readonly fullTextClausesMax: number;
  readonly fullTextCharactersMax: number;
  readonly updatesMax: number;
}

export interface QueryLimits {
  readonly kMax: number;
  readonly offsetMax: number;
  readonly vectorsMax: number;
  readonly dimensionsMax: number;
  readonly nprobesMax: number;
  readonly refineFactorMax: number;
  readonly efMax: number;
  readonly columnsMax: number;
  readonly seconds: number;
}

export interface MetadataLimits {
  readonly entriesMax: number;
  readonly keyBytesMax: number;
  readonly valueBytesMax: number;
  readonly propertiesMax: number;
}

export interface EngineLimits {
  readonly openTablesMax: number;
  readonly laneWaitingMax: number;
  readonly laneWaitSeconds: number;
  readonly laneTurnSeconds: number;
  readonly writeAttemptsMax: number;
  /** Queries that nobody waits for any more, and that still run. */
  readonly abandonedMax: number;
  readonly bulkWritesMax: number;
  /** How much lower the priority of the engine's threads is than that of the process; 0 leaves it. */
  readonly threadNice: number;
  /** How many waiting updates of different rows may share one commit. */
  readonly updateGroupMax: number;
  /** How many waiting inserts of the same schema may share one commit, and how much they may hold together. */
  readonly insertGroupMax: number;
  readonly insertGroupRowsMax: number;
  readonly insertGroupBytesMax: number;
  /** How long the queue of a table waits, after a batch of several, for its members to return. */
  readonly batchGatherMilliseconds: number;
  readonly indexCacheBytes: number;
  readonly metadataCacheBytes: number;
  /** Batches of a result are about this large. */
  readonly resultBatchBytes: number;
  /** The engine wants all rows of a merge at once, in memory. */
  readonly mergeBytesMax: number;
  /** For data that waits on disk until all of it has arrived. */
  readonly spoolBytesMax: number;
  readonly uploadSessionsMax: number;
  readonly uploadPartsMax: number;
  readonly uploadIdleSeconds: number;
}

/** Bounds of what an index is built with. */
export interface IndexLimits {
  readonly partitionsMax: number;
  readonly sampleRateMax: number;
  readonly iterationsMax: number;
  readonly mMax: number;
  readonly efConstructionMax: number;
  readonly tokenLengthMax: number;
  readonly ngramLengthMax: number;
}

export interface JobLimits {
  /** How long a request waits for the job that it started, before it is told the job's id instead. */
  readonly answerSeconds: number;
  readonly runningMax: number;
  readonly waitingMax: number;
  readonly waitSeconds: number;
  /** Ended jobs that are remembered. */
  readonly keptMax: number;
}

export interface LogLimits {
  /** 0: no query counts as slow. */
  readonly slowQuerySeconds: number;
  /** How many slow queries are remembered. */
  readonly slowQueriesMax: number;
  readonly slowAnalysesPerMinuteMax: number;
}

export interface AccessLimits {
  readonly grantsMax: number;
}

/** When a table is put in order, and what is kept of its past. */
export interface MaintenanceLimits {
  /** 0 turns maintenance off. */
  readonly runningMax: number;
  readonly dutyPercent: number;
  readonly checkCommits: number;
  readonly quietSeconds: number;
  readonly roundSeconds: number;
  readonly smallFragmentsMax: number;
  readonly deletedPercentMax: number;
  readonly unindexedPercentMax: number;
  /** A commit pays for this much of the next merge, which may write all of the table anew. */
  readonly rewriteBytesPerCommit: number;
  /** Writers of larger tables do not wait for a merge, unless it keeps failing. */
  readonly laneBytesMax: number;
  readonly retentionSeconds: number;
  readonly versionsMin: number;
  /** The engine looks through all versions at every run: more of them make every run slow. */
  readonly versionsMax: number;
  /** No version that was the latest within this time is removed: somebody may be reading it. */
  readonly readerSeconds: number;
  readonly historyRatioMax: number;
  readonly historyFloorBytes: number;
}

/** For how long, and for how many requests, the answers to writes are remembered. */
export interface JournalLimits {
  readonly windowSeconds: number;
  readonly keySeconds: number;
  readonly keysMax: number;
}
