import type { FieldPath } from './field-path.ts';
import type { DistanceType } from './query.ts';

/** The index types that the service builds, in the words that both client families read. */
export const VECTOR_INDEX_TYPES = ['IVF_FLAT', 'IVF_PQ', 'IVF_RQ', 'IVF_HNSW_SQ', 'IVF_HNSW_PQ'] as const;
export type VectorIndexType = (typeof VECTOR_INDEX_TYPES)[number];

export const SCALAR_INDEX_TYPES = ['BTREE', 'BITMAP', 'LABEL_LIST', 'FM'] as const;
export type ScalarIndexType = (typeof SCALAR_INDEX_TYPES)[number];

export type IndexType = VectorIndexType | ScalarIndexType | 'FTS';

/** How an index is built. What is `undefined` is left to the engine. */
export type IndexSpec = VectorIndexSpec | ScalarIndexSpec | FullTextIndexSpec;

export interface VectorIndexSpec {
  readonly kind: 'vector';
  readonly type: VectorIndexType;
  readonly distanceType: DistanceType | undefined;
  readonly partitions: number | undefined;
  /** Rows in one partition: another way to say how many partitions. */
  readonly targetPartitionSize: number | undefined;
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
  readonly asciiFolding: boolean | undefined;
  readonly ngramMinLength: number | undefined;
  readonly ngramMaxLength: number | undefined;
  readonly prefixOnly: boolean | undefined;
}

export interface IndexRequest {
  readonly column: FieldPath;
  readonly name: string;
  readonly replace: boolean;
  readonly spec: IndexSpec;
}

/** An index as the table has it. */
export interface IndexDescription {
  readonly name: string;
  readonly uuid: string | undefined;
  /** Canonical field paths. */
  readonly columns: readonly string[];
  /** In the words of `IndexType` where it is one of them; else as the engine calls it. */
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

/** The languages whose words the engine can stem; any other ends the process. */
export const FULL_TEXT_LANGUAGES = [
  'Arabic',
  'Danish',
  'Dutch',
  'English',
  'Finnish',
  'French',
  'German',
  'Greek',
  'Hungarian',
  'Italian',
  'Norwegian',
  'Portuguese',
  'Romanian',
  'Russian',
  'Spanish',
  'Swedish',
  'Tamil',
  'Turkish',
] as const;

/** Tokenizers that need no files of their own: others are looked for in a folder of the machine. */
export const FULL_TEXT_TOKENIZERS = ['simple', 'whitespace', 'raw', 'ngram', 'icu'] as const;

/** Of full-text indexes; the second list is of those with the tokenizer `ngram`. */
export const TEXT_PARAMETERS = [
  'with_position',
  'base_tokenizer',
  'language',
  'max_token_length',
  'lower_case',
  'stem',
  'remove_stop_words',
  'ascii_folding',
] as const;
export const NGRAM_PARAMETERS = ['min_ngram_length', 'max_ngram_length', 'prefix_only'] as const;
