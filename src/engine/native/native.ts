import { availableParallelism } from 'node:os';
import { loadBinary } from './engine-binary.ts';
// The package does not export its native declarations; `paths` in tsconfig.json points there.
import type * as lancedb from '@lancedb/lancedb/native';

/**
 * The engine's native layer. Its JavaScript layer is not used: it adds a second Arrow decoder and returns decoded
 * values, but we need bytes. Rows and schemas are Arrow IPC files.
 */
export interface NativeEngine extends Pick<typeof lancedb, 'Session' | 'JsFullTextQuery' | 'RrfReranker' | 'Index'> {
  readonly Connection: Pick<typeof lancedb.Connection, 'new'>;
}

export type NativeSession = lancedb.Session;
export type NativeConnection = lancedb.Connection;
export type NativeTable = lancedb.Table;
export type NativeQuery = lancedb.Query | lancedb.VectorQuery;
export type NativeVectorQuery = lancedb.VectorQuery;
/** Ends with `null`. */
export type NativeBatches = lancedb.RecordBatchIterator;
export type NativeFullTextFactory = typeof lancedb.JsFullTextQuery;
export type NativeFullTextQuery = lancedb.JsFullTextQuery;
export type NativeMerge = lancedb.NativeMergeInsertBuilder;
export type NativeIndexFactory = typeof lancedb.Index;
export type NativeIndex = lancedb.Index;
export type NativeIndexConfig = lancedb.IndexConfig;
export type NativeIndexStatistics = lancedb.IndexStatistics;
export type NativeAlteration = lancedb.ColumnAlteration;
export type NativeTags = lancedb.Tags;
export type NativeTag = lancedb.TagContents;
export type NativeBranches = lancedb.Branches;
export type NativeBranch = lancedb.BranchContents;

/** `columns: null` means all columns with a full-text index. A built query names its columns itself. */
export interface NativeFullTextSearch {
  readonly query: string | NativeFullTextQuery;
  readonly columns: readonly string[] | null;
}

/**
 * CPU threads: by default the engine uses two fewer than there are cores, at least one. Building the graph of an HNSW
 * index occupies one of them for minutes; with a single one, all writes would wait for it.
 */
const CALCULATION_THREADS_MIN = 4;

/**
 * The library reads these once, when it is loaded. A large stack lets long SQL chains plan instead of crashing the
 * process. Read-ahead is bounded in bytes and fragments: by default one reader could hold up to 2 GiB.
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
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The shape is that of the package's own native.d.ts.
  return loadBinary() as NativeEngine;
}
