/** Time for running commits and an orderly shutdown, after `http.drainSeconds`. */
export const SHUTDOWN_GRACE_SECONDS = 10;

/** False when the work takes longer; it goes on then. */
export async function endsWithin(seconds: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), seconds * 1000);
  });
  return Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer));
}

/** All limits. Their defaults, ranges and descriptions are in `config/settings/settings.ts`. */
export interface Limits {
  readonly http: HttpLimits;
  readonly arrow: ArrowLimits;
  readonly sql: SqlLimits;
  readonly query: QueryLimits;
  readonly metadata: MetadataLimits;
  readonly engine: EngineLimits;
  readonly index: IndexLimits;
  readonly jobs: JobLimits;
  readonly access: { readonly grantsMax: number };
  readonly journal: JournalLimits;
  readonly maintenance: MaintenanceLimits;
  readonly log: LogLimits;
}

export interface HttpLimits {
  readonly jsonBytesMax: number;
  /** For a JSON body that may hold the credential, read before the caller is authenticated. */
  readonly unauthenticatedJsonBytesMax: number;
  readonly jsonDepthMax: number;
  readonly headerBytesMax: number;
  readonly headersMax: number;
  readonly requestsMax: number;
  readonly readsMax: number;
  readonly writesMax: number;
  readonly uploadsMax: number;
  readonly administrationMax: number;
  readonly streamsMax: number;
  readonly waitingMax: number;
  readonly queueSeconds: number;
  /** For the request bodies of all clients together. */
  readonly bufferedBytesMax: number;
  readonly connectionsMax: number;
  readonly rateRequestsPerSecond: number;
  readonly headersSeconds: number;
  readonly bodyIdleSeconds: number;
  readonly bodyBytesPerSecondMin: number;
  /** A slower client is evicted when others wait. */
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
  /** Decoded by received bytes, checked above `decodedFloorBytes`. */
  readonly decodedRatioMax: number;
  readonly decodedFloorBytes: number;
  readonly columnsMax: number;
  readonly depthMax: number;
  readonly rowsPerBatchMax: number;
  readonly dictionaryBytesMax: number;
  readonly chunkBytes: number;
  readonly chunksMax: number;
  /** Size of the buffer pool, in buffers of `chunkBytes`. */
  readonly keptChunksMax: number;
}

export interface SqlLimits {
  readonly charactersMax: number;
  readonly operatorsMax: number;
  readonly depthMax: number;
  /** For constructs that double the planner's work: `coalesce`, `CAST`, `BETWEEN`, aliases of functions. */
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
  readonly queueWaitingMax: number;
  readonly queueWaitSeconds: number;
  readonly queueHoldSeconds: number;
  readonly writeAttemptsMax: number;
  readonly orphanedQueriesMax: number;
  readonly bulkWritesMax: number;
  /** Added to the niceness of the engine's threads. */
  readonly threadNice: number;
  readonly updateGroupMax: number;
  readonly insertGroupMax: number;
  readonly insertGroupRowsMax: number;
  readonly insertGroupBytesMax: number;
  /** Wait of a write queue, after a group commit, for the next writes of its clients. */
  readonly batchGatherMilliseconds: number;
  readonly indexCacheBytes: number;
  readonly metadataCacheBytes: number;
  readonly resultBatchBytes: number;
  /** The engine needs all rows of a merge in memory. */
  readonly mergeBytesMax: number;
  /** For uploads on disk. */
  readonly spoolBytesMax: number;
  readonly uploadSessionsMax: number;
  readonly uploadPartsMax: number;
  readonly uploadIdleSeconds: number;
}

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
  /** A request that started a longer job returns its id. */
  readonly answerSeconds: number;
  readonly runningMax: number;
  readonly waitingMax: number;
  readonly waitSeconds: number;
  /** Finished jobs in memory. */
  readonly keptMax: number;
}

export interface LogLimits {
  /** 0: none. */
  readonly slowQuerySeconds: number;
  readonly slowQueriesMax: number;
  readonly slowAnalysesPerMinuteMax: number;
}

export interface MaintenanceLimits {
  /** 0: maintenance is off. */
  readonly runningMax: number;
  readonly dutyPercent: number;
  readonly checkCommits: number;
  readonly quietSeconds: number;
  readonly scanSeconds: number;
  readonly smallFragmentsMax: number;
  readonly deletedPercentMax: number;
  readonly unindexedPercentMax: number;
  /** Amortises a compaction, which may rewrite the whole table, over this many bytes per commit. */
  readonly rewriteBytesPerCommit: number;
  /** Larger tables are compacted beside their writers, unless that keeps failing. */
  readonly blockingBytesMax: number;
  readonly retentionSeconds: number;
  readonly versionsMin: number;
  /** The engine reads all versions in each run. */
  readonly versionsMax: number;
  /** A version that was the latest within this time may still be read. */
  readonly readerSeconds: number;
  readonly historyRatioMax: number;
  readonly historyFloorBytes: number;
}

/** How long, and how many, results of writes are kept for replay. */
export interface JournalLimits {
  readonly windowSeconds: number;
  readonly keySeconds: number;
  readonly keysMax: number;
}
