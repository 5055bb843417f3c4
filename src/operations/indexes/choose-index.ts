import { writeValues } from '../../arrow/results/json-rows.ts';
import { describeType } from '../../arrow/schema/type-name.ts';
import { invalidInput } from '../../errors/service-error.ts';
import type { ServiceError } from '../../errors/service-error.ts';
import { parseFieldPath, quotePath, requireField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import { NGRAM_PARAMETERS, TEXT_PARAMETERS } from '../../model/index-spec.ts';
import type { IndexType } from '../../model/index-spec.ts';
import { dictionaryNotIndexed } from '../../model/refusals.ts';
import { vectorDimension } from '../../model/schema.ts';
import type { DataType } from '../../model/schema.ts';
import type { TableState } from '../../model/table.ts';
import { formatCount } from '../../model/value-text.ts';
import type { CreateIndexBody } from '../../wire/indexes.ts';
import type { TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../shared/table-state.ts';
import { readQueryTimeout } from '../data/read-query.ts';

export interface ChosenIndex {
  readonly type: IndexType;
  /** For people. */
  readonly reason: string;
}

/** Chooses an index type, if the request names none, by the type and content of the column. */
export async function chooseIndex(request: TableRequest<CreateIndexBody>, services: Services): Promise<ChosenIndex> {
  const { table, body } = request;
  const column = parseFieldPath(body.column);
  const state = toTableState(table, { branch: body.branch });
  const { schema } = await services.engine.describeTable(state);
  const { type } = requireField(schema, column);
  const dimension = vectorDimension(type);
  if (dimension !== undefined) {
    const { rows } = await services.engine.rows.count(state, undefined, readQueryTimeout(request));
    return chooseForVectors({ type, dimension, rows, cacheBytes: services.limits.engine.indexCacheBytes });
  }
  if ([...TEXT_PARAMETERS, ...NGRAM_PARAMETERS].some((name) => body[name] !== undefined)) {
    return { type: 'FTS', reason: 'the request has parameters for full-text indexes' };
  }
  const chosen = chooseByType(type);
  if (chosen !== undefined) return chosen;
  if (type.kind === 'dictionary') throw dictionaryNotIndexed(column);
  if (type.kind !== 'int' && type.kind !== 'utf8') throw notChosen(column, type);
  const values = await sampleValues(request, services, { state, column });
  return chooseForValues(values, type);
}

function notChosen(column: FieldPath, type: DataType): ServiceError {
  const named = `The column ${quotePath(column)} has the type ${describeType(type)}`;
  if (type.kind === 'binary') {
    const hint = 'Set index_type to BITMAP if it has few distinct values.';
    return invalidInput(`${named}, for which the server chooses no index.`, hint);
  }
  return invalidInput(
    `${named}, which cannot be indexed.`,
    'Vectors, text, integers, floats, booleans, dates, times, timestamps and binary values of a fixed size can be indexed, and lists of text, integers, booleans or binary values.',
  );
}

interface VectorFacts {
  readonly type: DataType;
  readonly dimension: number;
  readonly rows: number;
  /** Memory for the cache of indexes. */
  readonly cacheBytes: number;
}

/** An index of uncompressed vectors is faster to build and search, as long as it fits into memory with others. */
export function chooseForVectors({ type, dimension, rows, cacheBytes }: VectorFacts): ChosenIndex {
  const item = type.kind === 'fixed-size-list' ? type.item.type : undefined;
  if (item?.kind === 'int') return { type: 'IVF_FLAT', reason: 'it is the only type for vectors of bytes' };
  if (type.kind === 'list') return { type: 'IVF_PQ', reason: 'each row has several vectors' };
  const bytes = rows * dimension * ((item?.kind === 'float' ? item.bits : 32) / 8);
  if (bytes <= cacheBytes / 2) {
    return { type: 'IVF_FLAT', reason: 'the uncompressed vectors fit into the index cache (engine.indexCacheBytes)' };
  }
  const reason = 'the uncompressed vectors would not fit into the index cache (engine.indexCacheBytes)';
  // Product quantization splits vectors into parts of equal length.
  return { type: dimension % 8 === 0 ? 'IVF_PQ' : 'IVF_HNSW_SQ', reason };
}

/** For types whose values do not matter. */
function chooseByType(type: DataType): ChosenIndex | undefined {
  switch (type.kind) {
    case 'bool':
      return { type: 'BITMAP', reason: 'a boolean column has two values' };
    case 'float':
    case 'date':
    case 'time':
    case 'timestamp':
    case 'fixed-size-binary':
      return { type: 'BTREE', reason: `it is the only type for ${describeType(type)}` };
    case 'list':
      return hasLabels(type.item.type) ? { type: 'LABEL_LIST', reason: 'the column has lists' } : undefined;
    default:
      return undefined;
  }
}

function hasLabels({ kind }: DataType): boolean {
  return ['bool', 'int', 'utf8', 'binary'].includes(kind);
}

const SAMPLED_ROWS = 2000;
/** Of the whole sample. */
const SAMPLED_CHARACTERS = 4_000_000;
/** The prefix of each text in which words are counted. */
const COUNTED_CHARACTERS = 1000;
const WORDS_OF_TEXT = 5;
const FEW_VALUES = 0.02;

/** `values` are JSON texts of a sample. */
export function chooseForValues(values: readonly string[], type: DataType): ChosenIndex {
  const present = values.filter((value) => value !== 'null');
  if (type.kind === 'utf8') {
    const words = present.reduce((sum, value) => sum + countWords(value), 0) / Math.max(present.length, 1);
    const least = present.some(({ length }) => length > COUNTED_CHARACTERS) ? 'at least ' : '';
    const reason = `the texts have ${least}${Math.round(words)} words on average`;
    if (words >= WORDS_OF_TEXT) return { type: 'FTS', reason };
  }
  if (type.kind === 'utf8' && type.layout === 'large') {
    return { type: 'BITMAP', reason: `BTREE indexes do not support ${describeType(type)}` };
  }
  const distinct = new Set(present).size;
  if (present.length >= 100 && distinct <= present.length * FEW_VALUES) {
    return {
      type: 'BITMAP',
      reason: `${formatCount(present.length)} sampled rows have ${formatCount(distinct)} distinct values`,
    };
  }
  return {
    type: 'BTREE',
    reason: `${formatCount(present.length)} sampled rows have ${formatCount(distinct)} distinct values`,
  };
}

function countWords(text: string): number {
  return text.slice(0, COUNTED_CHARACTERS).split(/\s+/).length;
}

interface SampledColumn {
  readonly state: TableState;
  readonly column: FieldPath;
}

async function sampleValues(
  request: TableRequest,
  { engine }: Services,
  { state, column }: SampledColumn,
): Promise<readonly string[]> {
  const query = {
    vectors: [],
    prefilter: true,
    bypassVectorIndex: false,
    fastSearch: false,
    withRowId: false,
    k: SAMPLED_ROWS,
    projection: { kind: 'names', paths: [column] },
  } as const;
  const { files } = await engine.rows.query(state, query, readQueryTimeout(request));
  const values: string[] = [];
  let characters = 0;
  for await (const file of files) {
    for (const [value = 'null'] of writeValues(file)) {
      values.push(value);
      characters += value.length;
      if (characters >= SAMPLED_CHARACTERS) return values;
    }
  }
  return values;
}
