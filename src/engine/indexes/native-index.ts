import type {
  FullTextIndexSpec,
  IndexSpec,
  ScalarIndexSpec,
  VectorIndexSpec,
  IndexDescription,
  IndexStatistics,
} from '../../model/index-spec.ts';
import type { NativeIndex, NativeIndexFactory, NativeIndexConfig, NativeIndexStatistics } from '../native/native.ts';

export function toNativeIndex(factory: NativeIndexFactory, spec: IndexSpec): NativeIndex {
  switch (spec.kind) {
    case 'vector':
      return toVectorIndex(factory, spec);
    case 'scalar':
      return toScalarIndex(factory, spec);
    case 'full-text':
      return toFullTextIndex(factory, spec);
  }
}

function toVectorIndex(factory: NativeIndexFactory, spec: VectorIndexSpec): NativeIndex {
  const ivf = [spec.distanceType ?? null, spec.partitions ?? null] as const;
  const training = [spec.maxIterations ?? null, spec.sampleRate ?? null] as const;
  const graph = [spec.m ?? null, spec.efConstruction ?? null] as const;
  const [subVectors, bits] = [spec.subVectors ?? null, spec.bits ?? null];
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

function toScalarIndex(factory: NativeIndexFactory, { type }: ScalarIndexSpec): NativeIndex {
  switch (type) {
    case 'BTREE':
      return factory.btree();
    case 'BITMAP':
      return factory.bitmap();
    case 'LABEL_LIST':
      return factory.labelList();
    case 'FM':
      return factory.fm();
  }
}

function toFullTextIndex(factory: NativeIndexFactory, spec: FullTextIndexSpec): NativeIndex {
  return factory.fts(
    spec.withPosition ?? null,
    spec.baseTokenizer ?? null,
    spec.language ?? null,
    spec.maxTokenLength ?? null,
    spec.lowerCase ?? null,
    spec.stem ?? null,
    spec.removeStopWords ?? null,
    spec.asciiFolding ?? null,
    spec.ngramMinLength ?? null,
    spec.ngramMaxLength ?? null,
    spec.prefixOnly ?? null,
  );
}

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
