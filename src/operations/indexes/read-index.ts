import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { checkIndexName } from '../../guard/names.ts';
import { requireInteger } from '../../guard/numbers.ts';
import { formatFieldPath, parseFieldPath } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import {
  BLOCK_SIZES,
  FULL_TEXT_LANGUAGES,
  FULL_TEXT_TOKENIZERS,
  INDEX_TYPES,
  NGRAM_PARAMETERS,
  TEXT_PARAMETERS,
  isVectorIndexType,
} from '../../model/index-spec.ts';
import type {
  BlockSize,
  FullTextIndexSpec,
  IndexSpec,
  IndexType,
  VectorIndexSpec,
  VectorIndexType,
} from '../../model/index-spec.ts';
import type { IndexLimits } from '../../model/limits.ts';
import { DISTANCE_TYPES } from '../../model/query.ts';
import type { DistanceType } from '../../model/query.ts';
import type { CreateIndexBody } from '../../wire/indexes.ts';
import type { TableRequest } from '../operation.ts';
import { requireEntries } from '../shared/parameters.ts';

export type IndexKinds = 'all' | 'scalar';

type NamedIndexBody = CreateIndexBody & { readonly index_type: string };
type CreateIndexRequest = Pick<TableRequest<NamedIndexBody>, 'body' | 'dialect'>;

export function readIndexRequest({ body, dialect }: CreateIndexRequest, kinds: IndexKinds, limits: IndexLimits) {
  const column = parseFieldPath(body.column);
  const type = readIndexType(body.index_type);
  if (kinds === 'scalar' && isVectorIndexType(type)) {
    throw invalidInput(`index_type is ${type}, which is not a scalar index.`, 'Use create_index for vector indexes.');
  }
  if (dialect === 'lance') refuseForeignParameters(body, type);
  const name = toIndexName(body);
  const spec = readSpec(body, type, limits);
  return { column, name, replace: body.replace ?? true, spec, recallTarget: body.recall_target };
}

export function toIndexName({ name: given, column }: Pick<CreateIndexBody, 'name' | 'column'>): string {
  const name = given ?? `${formatFieldPath(parseFieldPath(column))}_idx`;
  checkIndexName(name);
  return name;
}

function readSpec(body: CreateIndexBody, type: IndexType, limits: IndexLimits): IndexSpec {
  if (type === 'FTS') return readFullText(body, limits);
  return isVectorIndexType(type) ? readVector(body, type, limits) : { kind: 'scalar', type };
}

function readVector(body: CreateIndexBody, type: VectorIndexType, limits: IndexLimits): VectorIndexSpec {
  if (body.num_partitions !== undefined && body.target_partition_size !== undefined) {
    throw invalidInput('num_partitions and target_partition_size are both given.', 'Give one of them.');
  }
  return {
    kind: 'vector',
    type,
    distanceType: readDistance(body),
    partitions: atMost(body, 'num_partitions', limits.partitionsMax),
    targetPartitionSize: atMost(body, 'target_partition_size', Number.MAX_SAFE_INTEGER),
    partitionsMax: limits.partitionsMax,
    subVectors: type.endsWith('PQ') ? atMost(body, 'num_sub_vectors', SUB_VECTORS_MAX) : undefined,
    bits: readBits(body, type),
    sampleRate: atMost(body, 'sample_rate', limits.sampleRateMax),
    maxIterations: atMost(body, 'max_iterations', limits.iterationsMax),
    ...(type.includes('HNSW') ? readGraph(body, limits) : { m: undefined, efConstruction: undefined }),
  };
}

/** The engine's limits. */
const NEIGHBOURS_MIN = 4;
const NEIGHBOURS_DEFAULT = 20;

function readGraph(body: CreateIndexBody, limits: IndexLimits): Pick<VectorIndexSpec, 'm' | 'efConstruction'> {
  if (body.m !== undefined) requireInteger(body.m, { field: 'm', minimum: NEIGHBOURS_MIN, maximum: limits.mMax });
  const efConstruction = atMost(body, 'ef_construction', limits.efConstructionMax);
  const { m = NEIGHBOURS_DEFAULT } = body;
  if (efConstruction !== undefined && efConstruction < m) {
    throw invalidInput(
      `ef_construction is ${efConstruction}, which is less than m (${m}).`,
      `Give at least ${m}, or a smaller m.`,
    );
  }
  return { m: body.m, efConstruction };
}

/** No vector is longer. Whether the number divides its length is checked once the column is known. */
const SUB_VECTORS_MAX = 65_536;

function readBits(body: CreateIndexBody, type: VectorIndexType): number | undefined {
  const bits = body.num_bits;
  if (bits === undefined || (type !== 'IVF_PQ' && type !== 'IVF_RQ')) return undefined;
  if (type === 'IVF_RQ') return requireInteger(bits, { field: 'num_bits', minimum: 1, maximum: 9 });
  if (bits === 4 || bits === 8) return bits;
  throw invalidInput(`num_bits is ${bits}; for an IVF_PQ index it must be 4 or 8.`);
}

function readDistance(body: CreateIndexBody): DistanceType | undefined {
  const [given, other] = [body.distance_type, body.metric_type].map((text) => text?.toLowerCase());
  if (given !== undefined && other !== undefined && given !== other) {
    throw invalidInput('distance_type and metric_type differ.', 'Give one of them.');
  }
  const wanted = given ?? other;
  if (wanted === undefined) return undefined;
  const found = DISTANCE_TYPES.find((type) => type === wanted);
  if (found !== undefined) return found;
  throw unknownWord('distance_type', wanted, `Use one of ${DISTANCE_TYPES.join(', ')}.`);
}

function readFullText(body: CreateIndexBody, limits: IndexLimits): FullTextIndexSpec {
  for (const name of NOT_OFFERED_PARAMETERS) {
    if (body[name] !== undefined) throw new ServiceError('Unsupported', `${name} is not offered.`);
  }
  const ngramMinLength = atMost(body, 'min_ngram_length', limits.ngramLengthMax);
  const ngramMaxLength = atMost(body, 'max_ngram_length', limits.ngramLengthMax);
  if (ngramMinLength !== undefined && ngramMaxLength !== undefined && ngramMinLength > ngramMaxLength) {
    throw invalidInput('min_ngram_length is greater than max_ngram_length.');
  }
  return {
    kind: 'full-text',
    type: 'FTS',
    withPosition: body.with_position,
    baseTokenizer: oneOf(body, 'base_tokenizer', FULL_TEXT_TOKENIZERS),
    language: oneOf(body, 'language', FULL_TEXT_LANGUAGES),
    maxTokenLength: atMost(body, 'max_token_length', limits.tokenLengthMax),
    lowerCase: body.lower_case,
    stem: body.stem,
    removeStopWords: body.remove_stop_words,
    customStopWords: readStopWords(body, limits),
    asciiFolding: body.ascii_folding,
    ngramMinLength,
    ngramMaxLength,
    prefixOnly: body.prefix_only,
    blockSize: readBlockSize(body),
  };
}

function readStopWords(
  { custom_stop_words: words }: CreateIndexBody,
  limits: IndexLimits,
): readonly string[] | undefined {
  if (words === undefined) return undefined;
  requireEntries('custom_stop_words', words.length, { maximum: limits.stopWordsMax });
  if (words.every((word) => word.length <= limits.tokenLengthMax)) return words;
  throw invalidInput(`A word of custom_stop_words is longer than ${limits.tokenLengthMax} characters.`);
}

function readBlockSize({ block_size: size }: CreateIndexBody): BlockSize | undefined {
  if (size === undefined) return undefined;
  const found = BLOCK_SIZES.find((each) => each === size);
  if (found !== undefined) return found;
  throw invalidInput(`block_size is ${size}; it must be 128 or 256.`);
}

type NumberName = {
  [Name in keyof CreateIndexBody]-?: CreateIndexBody[Name] extends number | undefined ? Name : never;
}[keyof CreateIndexBody];

function atMost(body: CreateIndexBody, name: NumberName, maximum: number): number | undefined {
  const value = body[name];
  return value === undefined ? undefined : requireInteger(value, { field: name, minimum: 1, maximum });
}

/** Case-insensitive. The engine gets the spelling of the list, because any other aborts the process. */
function oneOf(
  body: CreateIndexBody,
  name: 'base_tokenizer' | 'language',
  allowed: readonly string[],
): string | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  const found = allowed.find((each) => each.toLowerCase() === value.toLowerCase());
  if (found !== undefined) return found;
  throw unknownWord(name, value, `Use one of ${allowed.join(', ')}.`);
}

function unknownWord(name: string, value: string, hint: string): ServiceError {
  return invalidInput(`${name} is ${quoteForMessage(value)}, which is unknown.`, hint);
}

type Parameter = Exclude<
  keyof CreateIndexBody,
  'identity' | 'context' | 'id' | 'column' | 'index_type' | 'name' | 'replace' | 'branch'
>;

const NOT_OFFERED_PARAMETERS = ['lance_tokenizer'] as const;
const FULL_TEXT: readonly Parameter[] = [...TEXT_PARAMETERS, ...NGRAM_PARAMETERS, ...NOT_OFFERED_PARAMETERS];
const PARTITIONS: readonly Parameter[] = [
  'distance_type',
  'metric_type',
  'num_partitions',
  'target_partition_size',
  'sample_rate',
  'max_iterations',
  'recall_target',
];
const QUANTIZER: readonly Parameter[] = ['num_sub_vectors', 'num_bits'];
const GRAPH: readonly Parameter[] = ['m', 'ef_construction'];

/** Scalar types have none. */
const PARAMETERS: Readonly<Partial<Record<IndexType, readonly Parameter[]>>> = {
  FTS: FULL_TEXT,
  IVF_FLAT: PARTITIONS,
  IVF_PQ: [...PARTITIONS, ...QUANTIZER],
  IVF_RQ: [...PARTITIONS, 'num_bits'],
  IVF_HNSW_SQ: [...PARTITIONS, ...GRAPH],
  IVF_HNSW_PQ: [...PARTITIONS, 'num_sub_vectors', ...GRAPH],
};

/** Parameters of other types would be ignored silently, as the LanceDB client does. */
function refuseForeignParameters(body: CreateIndexBody, type: IndexType): void {
  const own = PARAMETERS[type] ?? [];
  const isForeign = (name: Parameter): boolean => body[name] !== undefined && !own.includes(name);
  const foreign = [...PARTITIONS, ...QUANTIZER, ...GRAPH, ...FULL_TEXT].find(isForeign);
  if (foreign === undefined) return;
  const hint = own.length === 0 ? 'They have none.' : `They have ${own.join(', ')}.`;
  throw invalidInput(`${foreign} is not a parameter of ${type} indexes.`, hint);
}

/** Also matches CamelCase, with or without underscores. */
const SYNONYMS: ReadonlyMap<string, IndexType> = new Map([
  ...INDEX_TYPES.map((type) => [plain(type), type] as const),
  ['INVERTED', 'FTS'],
  ['FMINDEX', 'FM'],
  ['HNSWSQ', 'IVF_HNSW_SQ'],
  ['HNSWPQ', 'IVF_HNSW_PQ'],
]);

/** The storage format supports these, but the engine's API does not offer them. */
const NOT_OFFERED: ReadonlySet<string> = new Set(['IVFSQ', 'IVFHNSWFLAT', 'NGRAM', 'ZONEMAP', 'BLOOMFILTER', 'RTREE']);

function readIndexType(text: string): IndexType {
  const type = SYNONYMS.get(plain(text));
  if (type !== undefined) return type;
  const hint = `Use one of ${INDEX_TYPES.join(', ')}.`;
  if (NOT_OFFERED.has(plain(text))) {
    throw new ServiceError('Unsupported', `Indexes of type ${quoteForMessage(text)} are not offered.`, { hint });
  }
  throw unknownWord('index_type', text, hint);
}

/** The LanceDB client also knows some types that only other writers build. */
export function isKnownToLanceDbClient(type: string): boolean {
  return SYNONYMS.has(plain(type)) || ['IVFSQ', 'IVFHNSWFLAT'].includes(plain(type));
}

function plain(type: string): string {
  return type.replaceAll('_', '').toUpperCase();
}
