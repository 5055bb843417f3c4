import { formatFieldPath, parseFieldPath } from '../../model/field-path.ts';
import { INDEX_TYPES } from '../../model/index-spec.ts';
import type { IndexDescription, IndexSpec, IndexStatistics, VectorIndexSpec } from '../../model/index-spec.ts';
import type { EngineRelease } from '../native/engine-release.ts';
import type { NativeIndex, NativeIndexConfig, NativeIndexFactory, NativeIndexStatistics } from '../native/native.ts';
import { toFullTextIndex } from '../native/release-calls.ts';

export function toNativeIndex(factory: NativeIndexFactory, release: EngineRelease, spec: IndexSpec): NativeIndex {
  if (spec.kind === 'vector') return toVectorIndex(factory, spec);
  switch (spec.type) {
    case 'BTREE':
      return factory.btree();
    case 'BITMAP':
      return factory.bitmap();
    case 'LABEL_LIST':
      return factory.labelList();
    case 'FM':
      return factory.fm();
    case 'FTS':
      return toFullTextIndex(factory, release, spec);
  }
}

function toVectorIndex(factory: NativeIndexFactory, spec: VectorIndexSpec): NativeIndex {
  const ivf = [spec.distanceType, spec.partitions] as const;
  const training = [spec.maxIterations, spec.sampleRate] as const;
  const graph = [spec.m, spec.efConstruction] as const;
  const { subVectors, bits } = spec;
  switch (spec.type) {
    case 'IVF_FLAT':
      return factory.ivfFlat(...ivf, ...training);
    case 'IVF_PQ':
      return factory.ivfPq(...ivf, subVectors, bits, ...training);
    case 'IVF_RQ':
      return factory.ivfRq(...ivf, bits, ...training);
    case 'IVF_HNSW_SQ':
      return factory.hnswSq(...ivf, ...training, ...graph);
    case 'IVF_HNSW_PQ':
      return factory.hnswPq(...ivf, subVectors, ...training, ...graph);
  }
}

export function toIndexDescription(index: NativeIndexConfig): IndexDescription {
  return {
    name: index.name,
    uuid: index.indexUuid,
    columns: index.columns.map(toCanonicalPath),
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

/** The engine quotes every name with characters other than letters, digits and underscores. */
function toCanonicalPath(path: string): string {
  return path.includes('`') ? formatFieldPath(parseFieldPath(path)) : path;
}

/** The engine writes `IvfHnswSq` in some calls and `IVF_HNSW_SQ` in others. */
function toIndexType(type: string): string {
  const plain = type.replaceAll('_', '').toUpperCase();
  return TYPES.get(plain) ?? type;
}

/** Includes types that the service does not build. */
const TYPE_NAMES = [...INDEX_TYPES, 'IVF_SQ', 'IVF_HNSW_FLAT'];

const TYPES: ReadonlyMap<string, string> = new Map([
  ...TYPE_NAMES.map((type) => [type.replaceAll('_', ''), type] as const),
  ['FMINDEX', 'FM'],
  ['INVERTED', 'FTS'],
]);
