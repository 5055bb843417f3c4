import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * The part of the engine's native layer that this room uses, as its own declarations give it. The JavaScript layer above
 * it is left out: it brings a second Arrow decoder into the process and hands back decoded values, where we want bytes.
 */
export interface NativeEngine {
  readonly Connection: {
    'new'(uri: string, options: NativeConnectionOptions): Promise<NativeConnection>;
  };
  readonly Session: new (indexCacheBytes: bigint, metadataCacheBytes: bigint) => NativeSession;
  readonly JsFullTextQuery: NativeFullTextFactory;
  readonly RrfReranker: { tryNew(k: Float32Array): Promise<NativeReranker> };
  readonly Index: NativeIndexFactory;
}

export interface NativeConnectionOptions {
  readonly manifestEnabled: boolean;
  readonly namespaceClientProperties: Readonly<Record<string, string>>;
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly session: NativeSession;
}

export interface NativeSession {
  sizeBytes(): bigint;
}

export interface NativeConnection {
  close(): void;
  tableNames(namespacePath: readonly string[], startAfter: string | null, limit: number): Promise<string[]>;
  createTable(
    name: string,
    file: Buffer,
    mode: 'create' | 'overwrite',
    namespacePath: readonly string[],
    storageOptions: Readonly<Record<string, string>>,
  ): Promise<NativeTable>;
  openTable(
    name: string,
    namespacePath: readonly string[],
    storageOptions: Readonly<Record<string, string>>,
  ): Promise<NativeTable>;
  dropTable(name: string, namespacePath: readonly string[]): Promise<void>;
  listNamespaces(
    namespacePath: readonly string[],
    pageToken: string | null,
    limit: number,
  ): Promise<{ readonly namespaces: readonly string[]; readonly pageToken?: string }>;
}

export interface NativeTable {
  display(): string;
  close(): void;
  /** The schema as an Arrow IPC file without batches. */
  schema(): Promise<Buffer>;
  version(): Promise<number>;
  countRows(filter?: string | null): Promise<number>;
  add(file: Buffer, mode: 'append' | 'overwrite'): Promise<{ readonly version: number }>;
  delete(predicate: string): Promise<{ readonly numDeletedRows: number; readonly version: number }>;
  mergeInsert(on: readonly string[]): NativeMerge;
  update(
    predicate: string | null,
    columns: readonly (readonly [column: string, expression: string])[],
  ): Promise<{ readonly rowsUpdated: number; readonly version: number }>;
  updateFieldMetadata(updates: readonly NativeFieldMetadata[]): Promise<{ readonly version: number }>;
  query(): NativeQuery;
  checkout(version: number): Promise<void>;
  checkoutLatest(): Promise<void>;
  checkoutTag(tag: string): Promise<void>;
  /** `null` for the main branch. */
  currentBranch(): string | null;
  restore(): Promise<void>;
  listVersions(): Promise<readonly NativeVersion[]>;
  /** Whether the names of manifests count down, as those of all but old tables do. */
  usesV2ManifestPaths(): Promise<boolean>;
  tags(): Promise<NativeTags>;
  branches(): Promise<NativeBranches>;
  stats(): Promise<NativeStatistics>;
  /**
   * Merges fragments, removes versions, and brings indexes up to date, in this order and always all three. Each is a
   * commit of its own, and none is made where there is nothing to do.
   */
  optimize(olderThanMilliseconds: number, deleteUnverified: boolean): Promise<NativeOptimization>;
  /** Adds columns of nulls, and sets the keys of the file's schema metadata. */
  addColumnsWithSchema(file: Buffer): Promise<{ readonly version: number }>;
  listIndices(): Promise<readonly NativeIndexConfig[]>;
  /** `null` when there is none of that name. */
  indexStats(name: string): Promise<NativeIndexStatistics | null>;
  // The engine's own parameter list; it cannot be made shorter here.
  // oxlint-disable-next-line max-params
  createIndex(
    index: NativeIndex,
    column: string,
    replace: boolean,
    waitTimeoutSeconds: number | null,
    name: string,
    train: boolean,
  ): Promise<void>;
  dropIndex(name: string): Promise<void>;
  prewarmIndex(name: string): Promise<void>;
  addColumns(columns: readonly { readonly name: string; readonly valueSql: string }[]): Promise<NativeCommit>;
  alterColumns(alterations: readonly NativeAlteration[]): Promise<NativeCommit>;
  dropColumns(paths: readonly string[]): Promise<NativeCommit>;
}

export interface NativeOptimization {
  readonly compaction: { readonly fragmentsRemoved: number; readonly fragmentsAdded: number };
  readonly prune: { readonly bytesRemoved: number; readonly oldVersionsRemoved: number };
}

export interface NativeCommit {
  readonly version: number;
}

export interface NativeAlteration {
  readonly path: string;
  readonly rename?: string;
  /** A type in the engine's JSON form, as text. */
  readonly dataType?: string;
  readonly nullable?: boolean;
}

export interface NativeIndexConfig {
  readonly name: string;
  readonly indexType: string;
  readonly columns: readonly string[];
  readonly indexUuid?: string;
  readonly typeUrl?: string;
  readonly createdAt?: Date;
  readonly numIndexedRows?: number;
  readonly numUnindexedRows?: number;
  readonly sizeBytes?: number;
  readonly numSegments?: number;
  readonly indexVersion?: number;
  readonly indexDetails?: unknown;
}

export interface NativeIndexStatistics {
  readonly numIndexedRows: number;
  readonly numUnindexedRows: number;
  readonly indexType: string;
  readonly distanceType?: string;
  readonly numIndices?: number;
}

declare const nativeIndex: unique symbol;
export interface NativeIndex {
  readonly [nativeIndex]: true;
}

type Given<Value> = Value | null;

/** The engine's own parameter lists; what is `null` is left to it. */
export interface NativeIndexFactory {
  ivfFlat(...parameters: [...NativeIvf, ...NativeTraining]): NativeIndex;
  ivfPq(...parameters: [...NativeIvf, subVectors: Given<number>, bits: Given<number>, ...NativeTraining]): NativeIndex;
  ivfRq(...parameters: [...NativeIvf, bits: Given<number>, ...NativeTraining]): NativeIndex;
  hnswSq(...parameters: [...NativeIvf, ...NativeTraining, ...NativeGraph]): NativeIndex;
  hnswPq(...parameters: [...NativeIvf, subVectors: Given<number>, ...NativeTraining, ...NativeGraph]): NativeIndex;
  btree(): NativeIndex;
  bitmap(): NativeIndex;
  labelList(): NativeIndex;
  fm(): NativeIndex;
  /** Ends the process when it does not know the language. */
  fts(...parameters: NativeFullText): NativeIndex;
}

type NativeIvf = [distanceType: Given<string>, partitions: Given<number>];
type NativeTraining = [maxIterations: Given<number>, sampleRate: Given<number>];
type NativeGraph = [m: Given<number>, efConstruction: Given<number>];
type NativeFullText = [
  withPosition: Given<boolean>,
  baseTokenizer: Given<string>,
  language: Given<string>,
  maxTokenLength: Given<number>,
  lowerCase: Given<boolean>,
  stem: Given<boolean>,
  removeStopWords: Given<boolean>,
  asciiFolding: Given<boolean>,
  ngramMinLength: Given<number>,
  ngramMaxLength: Given<number>,
  prefixOnly: Given<boolean>,
];

export interface NativeVersion {
  readonly version: number;
  /** In microseconds since 1970. */
  readonly timestamp: number;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface NativeTags {
  list(): Promise<Readonly<Record<string, NativeTag>>>;
  getVersion(tag: string): Promise<number>;
  create(tag: string, version: number): Promise<void>;
  update(tag: string, version: number): Promise<void>;
  delete(tag: string): Promise<void>;
}

export interface NativeTag {
  readonly version: number;
  readonly manifestSize: number;
}

export interface NativeBranches {
  list(): Promise<Readonly<Record<string, NativeBranch>>>;
  create(name: string, fromBranch: string | null, fromVersion: number | null): Promise<NativeTable>;
  checkout(name: string, version: number | null): Promise<NativeTable>;
  delete(name: string): Promise<void>;
}

export interface NativeBranch {
  readonly parentBranch: string | null;
  readonly parentVersion: number;
  readonly manifestSize: number;
}

export interface NativeStatistics {
  readonly totalBytes: number;
  readonly numRows: number;
  readonly numIndices: number;
  readonly fragmentStats: {
    readonly numFragments: number;
    readonly numSmallFragments: number;
    readonly lengths: Readonly<Record<'min' | 'max' | 'mean' | 'p25' | 'p50' | 'p75' | 'p99', number>>;
  };
}

/** Each call gives a new builder; only the time-out is set in place. */
export interface NativeMerge {
  whenMatchedUpdateAll(condition: string | null): NativeMerge;
  whenNotMatchedInsertAll(): NativeMerge;
  whenNotMatchedBySourceDelete(filter: string | null): NativeMerge;
  useIndex(useIndex: boolean): NativeMerge;
  setTimeout(milliseconds: number): void;
  execute(file: Buffer): Promise<NativeMergeResult>;
}

export interface NativeMergeResult {
  readonly version: number;
  readonly numInsertedRows: number;
  readonly numUpdatedRows: number;
  readonly numDeletedRows: number;
  readonly numAttempts: number;
  readonly numRows: number;
}

export interface NativeFieldMetadata {
  readonly path: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly replace: boolean;
}

export interface NativeQueryBase {
  onlyIf(predicate: string): void;
  fullTextSearch(query: NativeFullTextSearch): void;
  select(columns: readonly (readonly [alias: string, expression: string])[]): void;
  selectColumns(columns: readonly string[]): void;
  limit(limit: number): void;
  offset(offset: number): void;
  fastSearch(): void;
  withRowId(): void;
  orderBy(order: readonly NativeOrder[]): void;
  /** An Arrow IPC file without batches. */
  outputSchema(): Promise<Buffer>;
  execute(maxBatchLength: number, timeoutMilliseconds: number | null): Promise<NativeBatches>;
  explainPlan(verbose: boolean): Promise<string>;
  analyzePlan(): Promise<string>;
}

export interface NativeOrder {
  readonly columnName: string;
  readonly ascending: boolean;
  readonly nullsFirst: boolean;
}

/** Each batch is an Arrow IPC file of its own; `null` at the end. */
export interface NativeBatches {
  next(): Promise<Buffer | null>;
}

export interface NativeQuery extends NativeQueryBase {
  nearestTo(vector: Float32Array): NativeVectorQuery;
}

export interface NativeVectorQuery extends NativeQueryBase {
  column(column: string): void;
  addQueryVector(vector: Float32Array): void;
  distanceType(distanceType: string): void;
  postfilter(): void;
  refineFactor(refineFactor: number): void;
  nprobes(probes: number): void;
  minimumNprobes(probes: number): void;
  maximumNprobes(probes: number): void;
  distanceRange(lowerBound: number | null, upperBound: number | null): void;
  ef(ef: number): void;
  bypassVectorIndex(): void;
  rerank(fuse: (legs: NativeLegs) => Promise<Buffer>): void;
}

export interface NativeLegs {
  readonly query: string;
  readonly vecResults: Buffer;
  readonly ftsResults: Buffer;
}

export interface NativeReranker {
  rerankHybrid(query: string, vectorRows: Buffer, textRows: Buffer): Promise<Buffer>;
}

/** `columns` of `null` means: every column that has a full-text index. A built query names its own columns. */
export interface NativeFullTextSearch {
  readonly query: string | NativeFullTextQuery;
  readonly columns: readonly string[] | null;
}

export interface NativeFullTextQuery {
  readonly queryType: string;
}

export interface NativeFullTextFactory {
  // The engine's own parameter list; it cannot be made shorter here.
  // oxlint-disable-next-line max-params
  matchQuery(
    terms: string,
    column: string,
    boost: number,
    fuzziness: number | null,
    maxExpansions: number,
    operator: string,
    prefixLength: number,
  ): NativeFullTextQuery;
  phraseQuery(terms: string, column: string, slop: number): NativeFullTextQuery;
  boostQuery(positive: NativeFullTextQuery, negative: NativeFullTextQuery, negativeBoost: number): NativeFullTextQuery;
  multiMatchQuery(
    terms: string,
    columns: readonly string[],
    boosts: readonly number[] | null,
    operator: string,
  ): NativeFullTextQuery;
  booleanQuery(clauses: readonly (readonly [occur: string, query: NativeFullTextQuery])[]): NativeFullTextQuery;
}

/**
 * Threads for calculation: by itself the engine takes two fewer than there are cores, at least one. The graph of an HNSW
 * index keeps one of them for minutes, and with a single one every write of every table would wait for it.
 */
const CALCULATION_THREADS_MIN = 4;

/**
 * The library reads these once, when it is loaded. A deep stack lets long SQL chains plan instead of ending the process.
 * How far a scan reads ahead is bounded in bytes and in fragments: by itself it would hold up to 2 GiB for one reader.
 */
const ENVIRONMENT_DEFAULTS = {
  LANCEDB_LOG: 'off',
  RUST_BACKTRACE: '0',
  RUST_MIN_STACK: '67108864',
  LANCE_CPU_THREADS: String(Math.max(CALCULATION_THREADS_MIN, availableParallelism())),
  LANCE_DEFAULT_IO_BUFFER_SIZE: '33554432',
  LANCE_DEFAULT_FRAGMENT_READAHEAD: '4',
};

export function loadNative(): NativeEngine {
  for (const [name, value] of Object.entries(ENVIRONMENT_DEFAULTS)) process.env[name] ??= value;
  const require = createRequire(import.meta.url);
  const entry = require.resolve('@lancedb/lancedb');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The shape is that of the package's own native.d.ts.
  return require(join(dirname(entry), 'native.js')) as NativeEngine;
}
