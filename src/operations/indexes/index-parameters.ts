import { ServiceError } from '../../errors/service-error.ts';
import { NGRAM_PARAMETERS, TEXT_PARAMETERS } from '../../model/index-spec.ts';
import type { IndexType } from '../../model/index-spec.ts';
import type { CreateIndexBody } from '../../wire/indexes.ts';
import { isVectorType } from './index-type.ts';

type Parameter = Exclude<
  keyof CreateIndexBody,
  'identity' | 'context' | 'id' | 'column' | 'index_type' | 'name' | 'replace' | 'branch'
>;

const VECTOR: readonly Parameter[] = [
  'distance_type',
  'metric_type',
  'num_partitions',
  'target_partition_size',
  'sample_rate',
  'max_iterations',
];

const FULL_TEXT: readonly Parameter[] = [
  ...TEXT_PARAMETERS,
  ...NGRAM_PARAMETERS,
  'custom_stop_words',
  'lance_tokenizer',
];

const QUANTIZER: readonly Parameter[] = ['num_sub_vectors', 'num_bits'];
const GRAPH: readonly Parameter[] = ['m', 'ef_construction'];

/** A parameter that the type does not have would be ignored, and its sender deceived. */
export function refuseForeignParameters(body: CreateIndexBody, type: IndexType): void {
  const own = parametersOf(type);
  const foreign = [...VECTOR, ...QUANTIZER, ...GRAPH, ...FULL_TEXT].find(
    (name) => body[name] !== undefined && !own.includes(name),
  );
  if (foreign === undefined) return;
  throw new ServiceError('InvalidInput', `${foreign} is not a parameter of ${type} indexes.`, {
    hint: own.length === 0 ? 'They have none.' : `They have ${own.join(', ')}.`,
  });
}

function parametersOf(type: IndexType): readonly Parameter[] {
  if (type === 'FTS') return FULL_TEXT;
  if (!isVectorType(type)) return [];
  switch (type) {
    case 'IVF_FLAT':
      return VECTOR;
    case 'IVF_PQ':
      return [...VECTOR, ...QUANTIZER];
    case 'IVF_RQ':
      return [...VECTOR, 'num_bits'];
    case 'IVF_HNSW_SQ':
      return [...VECTOR, ...GRAPH];
    case 'IVF_HNSW_PQ':
      return [...VECTOR, 'num_sub_vectors', ...GRAPH];
  }
}
