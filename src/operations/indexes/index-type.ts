import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { SCALAR_INDEX_TYPES, VECTOR_INDEX_TYPES } from '../../model/index-spec.ts';
import type { IndexType, VectorIndexType } from '../../model/index-spec.ts';

const OFFERED: readonly IndexType[] = [...VECTOR_INDEX_TYPES, ...SCALAR_INDEX_TYPES, 'FTS'];

/** Other words for the same; clients also write CamelCase. */
const SYNONYMS: ReadonlyMap<string, IndexType> = new Map([
  ...OFFERED.map((type) => [plain(type), type] as const),
  ['INVERTED', 'FTS'],
  ['FMINDEX', 'FM'],
  ['HNSWSQ', 'IVF_HNSW_SQ'],
  ['HNSWPQ', 'IVF_HNSW_PQ'],
]);

/** Known to the storage format, but not to the part of the engine that this service drives. */
const NOT_OFFERED: ReadonlySet<string> = new Set(['IVFSQ', 'IVFHNSWFLAT', 'NGRAM', 'ZONEMAP', 'BLOOMFILTER', 'RTREE']);

export function readIndexType(text: string): IndexType {
  const type = SYNONYMS.get(plain(text));
  if (type !== undefined) return type;
  const hint = `Use one of ${OFFERED.join(', ')}.`;
  if (NOT_OFFERED.has(plain(text))) {
    throw new ServiceError('Unsupported', `Indexes of type ${quoteForMessage(text)} are not offered.`, { hint });
  }
  throw new ServiceError('InvalidInput', `index_type is ${quoteForMessage(text)}, which is not known.`, { hint });
}

export function isVectorType(type: IndexType): type is VectorIndexType {
  return VECTOR_INDEX_TYPES.some((each) => each === type);
}

/** Whether the LanceDB client knows the word; one that it does not know makes it refuse the whole list. */
export function isKnownToClients(type: string): boolean {
  return SYNONYMS.has(plain(type)) || ['IVFSQ', 'IVFHNSWFLAT'].includes(plain(type));
}

function plain(type: string): string {
  return type.replaceAll('_', '').toUpperCase();
}
