import { findFixedWidth } from '../../arrow/format/column-layout.ts';
import { invalidInput } from '../../errors/service-error.ts';
import type { ServiceError } from '../../errors/service-error.ts';
import { measureGrowth } from '../../guard/sql/growth.ts';
import { readTokens } from '../../guard/sql/tokenizer.ts';
import { resolveField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { GuardedSql, Order, Query } from '../../model/query.ts';
import type { DataType, Schema } from '../../model/schema.ts';
import { formatCount } from '../../model/value-text.ts';
import type { QueryPlan } from './native-query.ts';
import { BATCHES_AHEAD } from './read-memory.ts';

/** The stored, compressed size of a table, from the engine's statistics. */
export interface TableSize {
  readonly rows: number;
  readonly bytes: number;
}

export interface MemoryEstimate {
  /** The peak inside the engine, including what it has returned. */
  readonly bytes: number;
  /** The size of one result row. */
  readonly rowBytes: number;
  /** Rows that the engine keeps until it returns them; 0 for a scan, which streams its rows. */
  readonly heldRows: number;
  readonly heldBytes: number;
  readonly refinedBytes: number;
}

const MiB = 1024 * 1024;

/** Queries that hold less than this are neither estimated nor counted. */
const SMALL_ROWS = 1024;
const SMALL_ROW_BYTES = 8 * 1024;
export const FEW_ROWS = 16;
const SMALL_FILTER_CHARACTERS = 4096;
/** The engine's default limit of a vector search. */
const NEIGHBOURS_DEFAULT = 10;

/**
 * Measured on the engine: 10 × 60,000 rows of 800 bytes take 2.6 times their size, 100 × 600 take 3.2; sorted rows 3.3;
 * of 100 × 60,000 rows with an integer, 90 bytes each.
 */
const HELD_FACTOR = 3;
const HELD_ROW_BYTES = 100;
/** A hybrid search keeps both lists of row ids, the rows that it reads, and those that it returns. */
const FUSED_FACTOR = 2.5;
/** `LANCE_DEFAULT_IO_BUFFER_SIZE` as set when the engine is loaded. */
export const READ_AHEAD_BYTES = 32 * MiB;
/** A list of 100,000 numbers, 690,000 characters, takes 113 MB. */
const BYTES_PER_FILTER_CHARACTER = 170;
const BYTES_PER_LISTED_ID = 1130;
/** Rows that a filter processes at once. */
export const FILTER_ROWS = 8192;
/** Texts are stored at a third to a half of their size. */
export const DECODED_FACTOR = 3;

/** Cheap, because most queries are small: a few comparisons. If widths are unknown, statistics must be read. */
export function mayBeLarge(plan: QueryPlan): boolean {
  const { query, schema, vectorColumn, search } = plan;
  if (isLongFilter(query.filter)) return true;
  const { k = vectorColumn === undefined ? Infinity : NEIGHBOURS_DEFAULT, offset = 0, projection } = query;
  const searches = vectorColumn?.isMultiVector === true ? 1 : Math.max(1, query.vectors.length);
  const isSearch = vectorColumn !== undefined || search !== undefined;
  if (refinedBytes(query, Infinity) > SMALL_ROWS * SMALL_ROW_BYTES) return true;
  if (hasFewRows(plan) && searches * (k + (isSearch ? offset : 0)) <= FEW_ROWS) return false;
  if (searches * (k + offset) * Math.max(1, query.refineFactor ?? 1) > SMALL_ROWS) return true;
  if (projection?.kind === 'aliases') return true;
  return (fixedRowBytes(query, schema) ?? Infinity) > SMALL_ROW_BYTES;
}

/** Whether the result is small, however wide the rows are. A scan that sorts reads all rows of the table. */
export function hasFewRows({ query, vectorColumn, search }: QueryPlan): boolean {
  const { k = Infinity, orderBy } = query;
  return k <= FEW_ROWS && (orderBy === undefined || vectorColumn !== undefined || search !== undefined);
}

/** The estimate for a query with batches of `batchRows` rows. */
export function estimateMemory(plan: QueryPlan, size: TableSize, batchRows: number): MemoryEstimate {
  const { query, vectorColumn, search } = plan;
  const rowBytes = resultRowBytes(plan, size);
  const heldRows = countHeldRows(plan, size.rows);
  const factor = vectorColumn !== undefined && search !== undefined ? FUSED_FACTOR : 1;
  const idBytes = isTextFilteredAfter(plan) ? BYTES_PER_LISTED_ID : 0;
  const heldBytes = heldRows * (factor * (HELD_FACTOR * rowBytes + HELD_ROW_BYTES) + idBytes);
  const readBytes = Math.min(DECODED_FACTOR * size.bytes, READ_AHEAD_BYTES);
  const passingBytes = Math.min(size.rows, query.k ?? Infinity, BATCHES_AHEAD * batchRows) * rowBytes;
  const refined = refinedBytes(query, size.rows);
  const bytes = heldBytes + refined + readBytes + passingBytes + filterBytes(query.filter, plan.schema, size);
  return { bytes: Math.ceil(bytes), rowBytes, heldRows, heldBytes, refinedBytes: refined };
}

/** Vectors that are read to find the nearest among more candidates than are returned. */
function refinedBytes({ vectors, k = NEIGHBOURS_DEFAULT, refineFactor = 0 }: Query, rowsMax: number): number {
  const vectorBytes = (vectors[0]?.length ?? 0) * Float32Array.BYTES_PER_ELEMENT;
  return vectors.length * Math.min(k * refineFactor, rowsMax) * vectorBytes;
}

/** Whether its rows are searched for twice, the second time by a list of their ids. */
function isTextFilteredAfter({ query, search, vectorColumn }: QueryPlan): boolean {
  const isFilteredAfter = query.filter !== undefined && !query.prefilter;
  return isFilteredAfter && search !== undefined && vectorColumn === undefined;
}

/** For a count, which returns no rows. */
export function estimateFilter(filter: GuardedSql, schema: Schema, size: TableSize): number {
  return Math.ceil(Math.min(DECODED_FACTOR * size.bytes, READ_AHEAD_BYTES) + filterBytes(filter, schema, size));
}

export function isLongFilter(filter: GuardedSql | undefined): boolean {
  return filter !== undefined && filter.length > SMALL_FILTER_CHARACTERS;
}

/** A search and a sort keep their rows until the last one is known. */
function countHeldRows({ query, vectorColumn, search }: QueryPlan, tableRows: number): number {
  const { k, offset = 0, orderBy } = query;
  if (vectorColumn !== undefined) {
    const searches = vectorColumn.isMultiVector ? 1 : query.vectors.length;
    return searches * Math.min((k ?? NEIGHBOURS_DEFAULT) + offset, tableRows);
  }
  if (search === undefined && orderBy === undefined) return 0;
  return Math.min((k ?? (search === undefined ? Infinity : NEIGHBOURS_DEFAULT)) + offset, tableRows);
}

function filterBytes(filter: GuardedSql | undefined, schema: Schema, size: TableSize): number {
  if (filter === undefined || !isLongFilter(filter)) return 0;
  // What literals add to a computed value is bounded by the guard.
  const computed = Math.min(FILTER_ROWS, size.rows) * expressionBytes(filter, schema, size);
  return filter.length * BYTES_PER_FILTER_CHARACTER + computed;
}

/** The size of a returned or sorted row: exact for fixed-width columns, otherwise based on the stored size. */
export function resultRowBytes({ query, schema }: Pick<QueryPlan, 'query' | 'schema'>, size: TableSize): number {
  const { projection } = query;
  const expressions = projection?.kind === 'aliases' ? projection.columns : [];
  const computed = sum(expressions.map(([, expression]) => expressionBytes(expression, schema, size)));
  const types = readTypes(query, schema);
  const variable = types.some((type) => fixedBytes(type) === undefined) ? variableBytes(schema, size) : 0;
  return sum(types.map((type) => fixedBytes(type) ?? 0)) + variable + computed + ADDED_BYTES;
}

/** Distance, score, row id and index of the query vector. */
const ADDED_BYTES = 32;

/** The longest value that an expression computes for a row. */
function expressionBytes(expression: GuardedSql, schema: Schema, size: TableSize): number {
  const text = expression.toLowerCase();
  const named = schema.fields.filter(({ name }) => text.includes(name.toLowerCase()));
  const columns = sum(named.map(({ type }) => fixedBytes(type) ?? variableBytes(schema, size)));
  const { factor, bytes } = measureGrowth(readTokens(expression));
  return factor * columns + bytes;
}

/** The size of all variable-width columns of a row together, because statistics do not distinguish them. */
function variableBytes(schema: Schema, { rows, bytes }: TableSize): number {
  if (rows === 0) return 0;
  const fixed = sum(schema.fields.map(({ type }) => fixedBytes(type) ?? 0));
  return Math.max((bytes / rows - fixed) * DECODED_FACTOR, VARIABLE_BYTES_MIN);
}

const VARIABLE_BYTES_MIN = 64;

/** `undefined` if there are texts, lists, or expressions of any type. */
export function fixedRowBytes(query: Query, schema: Schema): number | undefined {
  if (query.projection?.kind === 'aliases') return undefined;
  let total = 0;
  for (const type of readTypes(query, schema)) {
    const width = fixedBytes(type);
    if (width === undefined) return undefined;
    total += width;
  }
  return total;
}

/**
 * The size of a row in a batch, which contains each dictionary once, however few its rows are. `undefined` as above,
 * and if there are no dictionaries.
 */
export function indexedRowBytes({ query, schema }: Pick<QueryPlan, 'query' | 'schema'>): number | undefined {
  if (query.projection?.kind === 'aliases') return undefined;
  const types = readTypes(query, schema);
  if (!types.some(({ kind }) => kind === 'dictionary')) return undefined;
  const widths = types.map((type) => fixedBytes(type.kind === 'dictionary' ? type.index : type));
  return widths.includes(undefined) ? undefined : sum(widths.map((width) => width ?? 0));
}

/** Columns that a query returns or only sorts by: the engine keeps both. */
function readTypes({ projection, orderBy = [] }: Query, schema: Schema): readonly DataType[] {
  if (projection === undefined) return schema.fields.map(({ type }) => type);
  const returned = projection.kind === 'names' ? projection.paths : [];
  const isReturned = (path: FieldPath): boolean =>
    returned.some((other) => other.every((name, index) => name === path[index]));
  const sorted = orderBy.map(({ path }) => path).filter((path) => !isReturned(path));
  return [...returned, ...sorted].map((path) => resolveField(schema, path)?.type ?? ROW_NUMBER);
}

/** Of columns that the engine adds. */
const ROW_NUMBER: DataType = { kind: 'int', bits: 64, signed: false };

export function fixedBytes(type: DataType): number | undefined {
  switch (type.kind) {
    case 'null':
    case 'bool':
      return 1;
    case 'struct': {
      const widths = type.children.map((child) => fixedBytes(child.type));
      return widths.includes(undefined) ? undefined : sum(widths.map((width) => width ?? 0));
    }
    case 'fixed-size-list': {
      const item = fixedBytes(type.item.type);
      return item === undefined ? undefined : item * type.length;
    }
    case 'interval':
      return 16;
    default:
      return findFixedWidth(type);
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Explains which value to lower, and to what. */
export function tooMuchMemory(plan: QueryPlan, estimate: MemoryEstimate, bytesMax: number): ServiceError {
  return refuse(estimate.bytes, bytesMax, adviseLess(plan, estimate, bytesMax));
}

export function tooLongFilter(bytes: number, bytesMax: number): ServiceError {
  return refuse(bytes, bytesMax, SHORTER_FILTER);
}

const SHORTER_FILTER = 'Send a shorter filter, for example a long list of values in several queries.';

function refuse(bytes: number, bytesMax: number, hint: string): ServiceError {
  const [needed, allowed] = [bytes, bytesMax].map((size) => `${formatCount(Math.ceil(size / MiB))} MiB`);
  return invalidInput(`The query needs about ${needed} of memory; one query may use ${allowed}.`, hint);
}

function adviseLess({ query, schema, vectorColumn }: QueryPlan, estimate: MemoryEstimate, bytesMax: number): string {
  const { bytes, heldRows, heldBytes } = estimate;
  if (estimate.refinedBytes > bytes / 2) {
    return query.vectors.length > 1 ? 'Send fewer vectors, or lower k or refine_factor.' : 'Lower k or refine_factor.';
  }
  const columns = adviseColumns(query, schema);
  if (heldBytes < bytes / 2) return isLongFilter(query.filter) ? SHORTER_FILTER : 'Select fewer or shorter columns.';
  const rows = Math.floor((heldRows * Math.max(0, bytesMax - (bytes - heldBytes))) / heldBytes);
  const { length: vectors } = query.vectors;
  if (vectorColumn?.isMultiVector === false && vectors > 1) {
    const k = Math.floor(rows / vectors);
    return `Lower k plus offset to ${formatCount(k)} for ${vectors} vectors, send fewer vectors, or ${columns}.`;
  }
  if (query.k === undefined)
    return `Limit the rows of order_by: set k so that k plus offset is at most ${formatCount(rows)}, or ${columns}.`;
  return `Lower k plus offset to ${formatCount(rows)}, or ${columns}.`;
}

function adviseColumns({ orderBy = [], ...unsorted }: Query, schema: Schema): string {
  const select = unsorted.projection === undefined ? 'select only the columns that you need' : 'select fewer columns';
  const isWide = ({ path }: Order): boolean => fixedBytes(resolveField(schema, path)?.type ?? ROW_NUMBER) === undefined;
  if (!orderBy.some(isWide)) return select;
  const sort = 'sort by columns of fixed width, such as numbers';
  return fixedRowBytes(unsorted, schema) === undefined ? `${select} and ${sort}` : sort;
}
