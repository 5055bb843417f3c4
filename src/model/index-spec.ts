import type { FieldPath } from './field-path.ts';
import type { DistanceType } from './query.ts';
import { isObject, parseJson, withoutNulls } from './strict-json.ts';

/** The index types that the service builds, named as both client families expect. */
const VECTOR_INDEX_TYPES = ['IVF_FLAT', 'IVF_PQ', 'IVF_RQ', 'IVF_HNSW_SQ', 'IVF_HNSW_PQ'] as const;
export type VectorIndexType = (typeof VECTOR_INDEX_TYPES)[number];

const SCALAR_INDEX_TYPES = ['BTREE', 'BITMAP', 'LABEL_LIST', 'FM'] as const;
type ScalarIndexType = (typeof SCALAR_INDEX_TYPES)[number];

export const INDEX_TYPES = [...VECTOR_INDEX_TYPES, ...SCALAR_INDEX_TYPES, 'FTS'] as const;
export type IndexType = (typeof INDEX_TYPES)[number];

export function isVectorIndexType(type: string): type is VectorIndexType {
  return VECTOR_INDEX_TYPES.some((each) => each === type);
}

/** How an index is built; the engine chooses `undefined` values. */
export type IndexSpec = VectorIndexSpec | ScalarIndexSpec | FullTextIndexSpec;

export interface VectorIndexSpec {
  readonly kind: 'vector';
  readonly type: VectorIndexType;
  readonly distanceType: DistanceType | undefined;
  readonly partitions: number | undefined;
  /** Rows per partition: an alternative to `partitions`. */
  readonly targetPartitionSize: number | undefined;
  /** The maximum number of partitions that follow from `targetPartitionSize`. */
  readonly partitionsMax?: number;
  readonly subVectors: number | undefined;
  readonly bits: number | undefined;
  readonly sampleRate: number | undefined;
  readonly maxIterations: number | undefined;
  readonly m: number | undefined;
  readonly efConstruction: number | undefined;
}

export interface ScalarIndexSpec {
  readonly kind: 'scalar';
  readonly type: ScalarIndexType;
}

export interface FullTextIndexSpec {
  readonly kind: 'full-text';
  readonly type: 'FTS';
  readonly withPosition: boolean | undefined;
  readonly baseTokenizer: string | undefined;
  readonly language: string | undefined;
  readonly maxTokenLength: number | undefined;
  readonly lowerCase: boolean | undefined;
  readonly stem: boolean | undefined;
  readonly removeStopWords: boolean | undefined;
  /** Instead of those of the language. */
  readonly customStopWords: readonly string[] | undefined;
  readonly asciiFolding: boolean | undefined;
  readonly ngramMinLength: number | undefined;
  readonly ngramMaxLength: number | undefined;
  readonly prefixOnly: boolean | undefined;
  readonly blockSize: BlockSize | undefined;
}

export interface IndexRequest {
  readonly column: FieldPath;
  readonly name: string;
  readonly replace: boolean;
  readonly spec: IndexSpec;
  /** For vector indexes: the recall target of searches without parameters; the setting's if absent. */
  readonly recallTarget?: number | undefined;
}

export interface IndexDescription {
  readonly name: string;
  readonly uuid: string | undefined;
  /** Canonical field paths. */
  readonly columns: readonly string[];
  /** An `IndexType`, otherwise the engine's name. */
  readonly type: string;
  readonly typeUrl: string | undefined;
  readonly createdAt: Date | undefined;
  readonly indexedRows: number | undefined;
  readonly unindexedRows: number | undefined;
  readonly sizeBytes: number | undefined;
  readonly segments: number | undefined;
  readonly formatVersion: number | undefined;
  /** JSON text. */
  readonly details: string | undefined;
}

export interface IndexStatistics {
  readonly type: string;
  readonly indexedRows: number;
  readonly unindexedRows: number;
  readonly distanceType: string | undefined;
  readonly indices: number | undefined;
}

/** The languages that the engine can stem; any other crashes the process. */
export const FULL_TEXT_LANGUAGES: readonly string[] =
  `Arabic Danish Dutch English Finnish French German Greek Hungarian Italian Norwegian Portuguese Romanian Russian Spanish
  Swedish Tamil Turkish`.split(/\s+/);

/** Tokenizers without a dictionary: others read files from a folder of the machine. */
export const FULL_TEXT_TOKENIZERS = ['simple', 'whitespace', 'raw', 'ngram', 'icu'] as const;

/** Documents per block of a posting list. */
export const BLOCK_SIZES = [128, 256] as const;
export type BlockSize = (typeof BLOCK_SIZES)[number];

export const TEXT_PARAMETERS = [
  'with_position',
  'base_tokenizer',
  'language',
  'max_token_length',
  'lower_case',
  'stem',
  'remove_stop_words',
  'custom_stop_words',
  'ascii_folding',
  'block_size',
] as const;
/** For the tokenizer `ngram` only. */
export const NGRAM_PARAMETERS = ['min_ngram_length', 'max_ngram_length', 'prefix_only'] as const;

/** The parameters of a full-text index. `details` is JSON text that the engine stores for it. */
export function readTextParameters(details: string): Readonly<Record<string, unknown>> {
  const all = parseJson(details);
  if (!isObject(all)) return {};
  const names = [...TEXT_PARAMETERS, ...(all['base_tokenizer'] === 'ngram' ? NGRAM_PARAMETERS : [])];
  return withoutNulls(Object.fromEntries(names.map((name) => [name, all[name] ?? null])));
}
