import { invalidInput } from '../../errors/service-error.ts';
import { quotePath, requireField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { Probes, Query } from '../../model/query.ts';
import type { Schema } from '../../model/schema.ts';
import type { EngineRelease } from '../native/engine-release.ts';
import type {
  NativeEngine,
  NativeFullTextSearch,
  NativeQuery,
  NativeTable,
  NativeVectorQuery,
} from '../native/native.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import { useExactNames } from '../workarounds/exact-names.ts';
import { toScanFilter } from '../workarounds/filtered-scans.ts';
import { searchColumn, toNativeSearch } from './full-text-query.ts';
import { requireVectorColumn } from './vector-column.ts';
import type { VectorColumn } from './vector-column.ts';

/** A query with everything that is known before it is built. */
export interface QueryPlan {
  readonly query: Query;
  readonly schema: Schema;
  readonly vectorColumn: VectorColumn | undefined;
  readonly search: NativeFullTextSearch | undefined;
  readonly release: EngineRelease;
}

/** A search by vector and full text. */
export type HybridPlan = QueryPlan & { readonly vectorColumn: VectorColumn; readonly search: NativeFullTextSearch };

/** Refuses what the engine would misunderstand. */
export async function planQuery(
  { native, release }: { readonly native: NativeEngine; readonly release: EngineRelease },
  table: OpenTable,
  given: Query,
): Promise<QueryPlan> {
  const schema = await table.schema();
  const query = withExactNames(given, schema);
  const vectorColumn = query.vectors.length === 0 ? undefined : requireVectorColumn(query, schema);
  if (vectorColumn === undefined && query.vectorColumn !== undefined) requireField(schema, query.vectorColumn);
  const searched = { native: table.native, schema, factory: native.JsFullTextQuery };
  const search = query.fullText === undefined ? undefined : await toNativeSearch(query.fullText, searched);
  const plan = { query, schema, vectorColumn, search, release };
  if (!isHybrid(plan)) requireOrder(plan);
  return plan;
}

/**
 * The engine sorts the rows that a search finds, including those that the offset skips, and then applies the offset to
 * the sorted rows.
 */
function requireOrder({ query: { orderBy = [], offset = 0 }, schema, vectorColumn, search }: QueryPlan): void {
  for (const { path } of orderBy) requireSortable(schema, path);
  if (orderBy.length === 0 || offset === 0 || (vectorColumn === undefined && search === undefined)) return;
  throw invalidInput(
    'A search cannot both be sorted with order_by and skip rows with offset.',
    'order_by sorts the rows that the search finds: leave out offset and raise k, or sort the rows of each page yourself.',
  );
}

function requireSortable(schema: Schema, path: FieldPath): void {
  if (!isAdded(path)) return void requireField(schema, path);
  const isMeasure = path[0] === '_distance' || path[0] === '_score';
  throw invalidInput(
    `order_by names ${quotePath(path)}, which is not a column of the table.`,
    isMeasure ? 'A search returns its rows in that order: leave out order_by.' : 'Sort by columns of the table.',
  );
}

function withExactNames(query: Query, schema: Schema): Query {
  const { filter, projection } = query;
  const filtered = filter === undefined ? query : { ...query, filter: useExactNames(schema, filter) };
  if (projection?.kind !== 'aliases') return filtered;
  const columns = projection.columns.map(([name, expression]) => [name, useExactNames(schema, expression)] as const);
  return { ...filtered, projection: { kind: 'aliases', columns } };
}

/** With `k` of 0 nothing is searched at all. */
export function isHybrid(plan: QueryPlan): plan is HybridPlan {
  return plan.vectorColumn !== undefined && plan.search !== undefined && plan.query.k !== 0;
}

/** The engine fuses two lists of rows by rank, so several vectors or an order are not possible. */
export function requireOneSearch({ query, vectorColumn }: HybridPlan): void {
  if (query.orderBy !== undefined) {
    throw invalidInput('A hybrid search cannot be sorted with order_by.', 'Its rows are always sorted by relevance.');
  }
  if (query.vectors.length === 1 || vectorColumn.isMultiVector) return;
  throw invalidInput(
    'A hybrid search needs exactly one vector.',
    'Send several vectors only for a multi-vector column, or without a full-text query.',
  );
}

/** Any query except a hybrid one; of a hybrid query, only its vector search. */
export function buildQuery(table: NativeTable, plan: QueryPlan): NativeQuery {
  const { query, vectorColumn } = plan;
  if (query.k === 0) return buildScan(table, toEmptyScan(plan));
  return vectorColumn === undefined ? buildScan(table, plan) : buildVectorSearch(table, plan, vectorColumn);
}

/** A scan or a full-text search. */
export function buildScan(table: NativeTable, plan: QueryPlan): NativeQuery {
  const native = table.query();
  if (plan.search !== undefined) native.fullTextSearch(plan.search);
  applyBase(native, plan);
  return native;
}

/**
 * For a query without rows, a scan that ends before its first row. The engine refuses a search for no neighbors, and
 * treats a limit of 0 in a full-text search as no limit.
 */
function toEmptyScan(plan: QueryPlan): QueryPlan {
  const { orderBy: _unused, ...rest } = plan.query;
  const query: Query = { ...rest, offset: 0 };
  const { projection } = query;
  if (projection?.kind !== 'names') return { ...plan, query, search: undefined };
  const paths = projection.paths.filter((path) => !isAdded(path));
  return { ...plan, query: { ...query, projection: { ...projection, paths } }, search: undefined };
}

export function buildVectorSearch(table: NativeTable, plan: QueryPlan, column: VectorColumn): NativeVectorQuery {
  const { query } = plan;
  const [first = [], ...others] = query.vectors;
  const native = table.query().nearestTo(new Float32Array(first));
  for (const vector of others) native.addQueryVector(new Float32Array(vector));
  native.column(searchColumn(column.path));
  if (!query.prefilter) native.postfilter();
  if (query.distanceType !== undefined) native.distanceType(query.distanceType);
  if (query.probes !== undefined) applyProbes(native, query.probes);
  if (query.ef !== undefined) native.ef(query.ef);
  // 0 means no refinement, but the engine refuses 0 if there is an index.
  if (query.refineFactor !== undefined && query.refineFactor > 0) native.refineFactor(query.refineFactor);
  if (query.lowerBound !== undefined || query.upperBound !== undefined) {
    native.distanceRange(query.lowerBound ?? null, query.upperBound ?? null);
  }
  if (query.bypassVectorIndex) native.bypassVectorIndex();
  applyBase(native, plan);
  return native;
}

function applyBase(native: NativeQuery, { query, schema, search, release }: QueryPlan): void {
  // Only filtered scans need the workarounds: searches read whole columns of their rows.
  const isSearch = query.vectors.length > 0 || search !== undefined;
  if (query.filter !== undefined) {
    native.onlyIf(isSearch ? query.filter : toScanFilter(query.filter, query, { schema, release }));
  }
  const { projection, orderBy } = query;
  if (projection?.kind === 'aliases') {
    native.select(projection.columns.map(([alias, expression]) => [alias, expression]));
  } else if (projection !== undefined) {
    for (const path of projection.paths) requireColumn(schema, path);
    native.selectColumns(projection.paths.map(searchColumn));
  }
  if (query.k !== undefined) native.limit(query.k);
  if (query.offset !== undefined) native.offset(query.offset);
  if (query.fastSearch) native.fastSearch();
  if (orderBy !== undefined) {
    native.orderBy(orderBy.map(({ path, ...direction }) => ({ columnName: searchColumn(path), ...direction })));
  }
  if (query.withRowId || hidesRowId(query)) native.withRowId();
}

/** The engine needs the row id to sort by a column that is not returned. */
export function hidesRowId(query: Query): boolean {
  return query.orderBy !== undefined && query.projection !== undefined && !query.withRowId;
}

/** Columns that the engine adds to those of the table. */
const ADDED_COLUMNS: ReadonlySet<string> = new Set(['_rowid', '_rowaddr', '_rowoffset', '_distance', '_score']);

export function requireColumn(schema: Schema, path: FieldPath): void {
  if (!isAdded(path)) requireField(schema, path);
}

function isAdded(path: FieldPath): boolean {
  return path.length === 1 && ADDED_COLUMNS.has(path[0]);
}

/** The engine's default. It checks that the minimum does not exceed the maximum after every single call. */
const PROBES_DEFAULT = 20;
const NO_MAXIMUM = 0;

function applyProbes(native: NativeVectorQuery, { minimum, maximum }: Probes): void {
  if (minimum === maximum) return native.nprobes(minimum);
  // 0 next to another maximum means that no minimum was given: use the default, at most the maximum.
  const wanted = minimum === 0 ? Math.min(PROBES_DEFAULT, maximum ?? PROBES_DEFAULT) : minimum;
  if (maximum !== undefined && maximum < PROBES_DEFAULT) {
    native.minimumNprobes(wanted);
    native.maximumNprobes(maximum);
  } else {
    native.maximumNprobes(maximum ?? NO_MAXIMUM);
    native.minimumNprobes(wanted);
  }
}
