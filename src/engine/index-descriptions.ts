import type { IndexDescription, IndexStatistics } from '../model/index-spec.ts';
import type { NativeIndexConfig, NativeIndexStatistics } from './native.ts';

export function toIndexDescription(index: NativeIndexConfig): IndexDescription {
  return {
    name: index.name,
    uuid: index.indexUuid,
    columns: index.columns,
    type: toIndexType(index.indexType),
    typeUrl: index.typeUrl,
    createdAt: index.createdAt === undefined ? undefined : new Date(index.createdAt),
    indexedRows: index.numIndexedRows,
    unindexedRows: index.numUnindexedRows,
    sizeBytes: index.sizeBytes,
    segments: index.numSegments,
    formatVersion: index.indexVersion,
    details: index.indexDetails === undefined ? undefined : JSON.stringify(index.indexDetails),
  };
}

export function toIndexStatistics(statistics: NativeIndexStatistics): IndexStatistics {
  return {
    type: toIndexType(statistics.indexType),
    indexedRows: statistics.numIndexedRows,
    unindexedRows: statistics.numUnindexedRows,
    distanceType: statistics.distanceType?.toLowerCase(),
    indices: statistics.numIndices,
  };
}

/** The engine writes `IvfHnswSq` in one place and `IVF_HNSW_SQ` in another. */
function toIndexType(type: string): string {
  const plain = type.replaceAll('_', '').toUpperCase();
  return TYPES.get(plain) ?? type;
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ...[
    'IVF_FLAT',
    'IVF_SQ',
    'IVF_PQ',
    'IVF_RQ',
    'IVF_HNSW_FLAT',
    'IVF_HNSW_SQ',
    'IVF_HNSW_PQ',
    'BTREE',
    'BITMAP',
    'LABEL_LIST',
    'FTS',
    'FM',
  ].map((type) => [type.replaceAll('_', ''), type] as const),
  ['FMINDEX', 'FM'],
  ['INVERTED', 'FTS'],
]);
