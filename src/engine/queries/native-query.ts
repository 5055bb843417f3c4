import { requireField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import type { Order, Probes, Projection, Query } from '../../model/query.ts';
import type { Schema } from '../../model/schema.ts';
import { engineColumn, toNativeSearch } from './full-text-query.ts';
import type {
  NativeFullTextSearch,
  NativeQueryBase,
  NativeTable,
  NativeVectorQuery,
  NativeEngine,
} from '../native/native.ts';
import { touchAny, touchNullStructs } from '../workarounds/null-structs.ts';
import type { VectorColumn } from './vector-column.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import { requireVectorColumn } from './vector-column.ts';

/** What was found out about a query before it is built. */
export interface QueryPlan {
  readonly query: Query;
  readonly schema: Schema;
  readonly vectorColumn: VectorColumn | undefined;
  readonly search: NativeFullTextSearch | undefined;
}

/** A scan or a full-text search: whatever has no vector. */
export function buildScan(table: NativeTable, plan: QueryPlan): NativeQueryBase {
  const native = table.query();
  if (plan.search !== undefined) native.fullTextSearch(plan.search);
  applyBase(native, plan);
  return native;
}

export function buildVectorSearch(table: NativeTable, plan: QueryPlan, column: VectorColumn): NativeVectorQuery {
  const { query } = plan;
  const [first = [], ...others] = query.vectors;
  const native = table.query().nearestTo(Float32Array.from(first));
  for (const vector of others) native.addQueryVector(Float32Array.from(vector));
  native.column(engineColumn(column.path));
  if (!query.prefilter) native.postfilter();
  if (query.distanceType !== undefined) native.distanceType(query.distanceType);
  if (query.probes !== undefined) applyProbes(native, query.probes);
  if (query.ef !== undefined) native.ef(query.ef);
  // 0 means that nothing is refined, which the engine would call an error where there is an index.
  if (query.refineFactor !== undefined && query.refineFactor > 0) native.refineFactor(query.refineFactor);
  if (query.lowerBound !== undefined || query.upperBound !== undefined) {
    native.distanceRange(query.lowerBound ?? null, query.upperBound ?? null);
  }
  if (query.bypassVectorIndex) native.bypassVectorIndex();
  applyBase(native, plan);
  return native;
}

function applyBase(native: NativeQueryBase, plan: QueryPlan): void {
  const { query, schema } = plan;
  const filter = filterOf(plan);
  if (filter !== undefined) native.onlyIf(filter);
  if (query.projection !== undefined) applyProjection(native, query.projection, schema);
  if (query.k !== undefined) native.limit(query.k);
  if (query.offset !== undefined) native.offset(query.offset);
  if (query.fastSearch) native.fastSearch();
  if (query.orderBy !== undefined) applyOrder(native, query.orderBy, schema);
  if (query.withRowId || hidesRowId(query)) native.withRowId();
}

/** The engine sorts by a column that is not returned only when it can find its rows again, and so adds the row id. */
export function hidesRowId(query: Query): boolean {
  return query.orderBy !== undefined && query.projection !== undefined && !query.withRowId;
}

/** A query by row ids or offsets reads nothing but its rows, as long as nothing else is asked of them. */
const TAKES_ROWS = /^\(\s*_row(?:id|offset)\s+in\s*\([\d\s,]*\)\s*\)$/i;

/** A filter that the engine may answer by taking rows, of which it would first count off limit and offset. */
const NAMES_ROWS = /\b_row(?:id|addr|offset)\b/i;

function isCut({ k, offset }: Query): boolean {
  return k !== undefined || (offset !== undefined && offset > 0);
}

/** A filtered scan loses null structs; searches read the columns of what they found whole. */
function filterOf({ query, schema, search }: QueryPlan): string | undefined {
  const { filter } = query;
  if (filter === undefined || query.vectors.length > 0 || search !== undefined) return filter;
  if (TAKES_ROWS.test(filter) && !isCut(query)) return filter;
  const read = { ...schema, fields: schema.fields.filter(({ name }) => isRead(query, name)) };
  if (!isCut(query) || !NAMES_ROWS.test(filter)) return touchNullStructs(filter, read);
  // Rows that were taken have no other columns that a filter could look at.
  const shown = { ...schema, fields: schema.fields.filter(({ name }) => isShown(query, name)) };
  return touchNullStructs(touchAny(filter, shown), read);
}

function isRead({ projection }: Query, name: string): boolean {
  if (projection === undefined) return true;
  if (projection.kind === 'names') return projection.paths.some(([first]) => first === name);
  return projection.columns.some(([, expression]) => expression.toLowerCase().includes(name.toLowerCase()));
}

/** As it is: what an expression reads is not known here. */
function isShown({ projection }: Query, name: string): boolean {
  if (projection === undefined) return true;
  if (projection.kind === 'names') return projection.paths.some((path) => path.length === 1 && path[0] === name);
  return false;
}

function applyOrder(native: NativeQueryBase, order: readonly Order[], schema: Schema): void {
  for (const { path } of order) if (!isAdded(path)) requireField(schema, path);
  native.orderBy(order.map(({ path, ...direction }) => ({ columnName: engineColumn(path), ...direction })));
}

function applyProjection(native: NativeQueryBase, projection: Projection, schema: Schema): void {
  if (projection.kind === 'aliases') {
    native.select(projection.columns);
    return;
  }
  for (const path of projection.paths) if (!isAdded(path)) requireField(schema, path);
  native.selectColumns(projection.paths.map(engineColumn));
}

/** Columns that a query adds to those of the table. */
const ADDED_COLUMNS: ReadonlySet<string> = new Set(['_rowid', '_rowaddr', '_rowoffset', '_distance', '_score']);

export function isAdded(path: FieldPath): boolean {
  return path.length === 1 && ADDED_COLUMNS.has(path[0]);
}

/** What the engine has when nothing is said; it refuses a minimum above the maximum at every single step. */
const PROBES_DEFAULT = 20;
const NO_MAXIMUM = 0;

function applyProbes(native: NativeVectorQuery, { minimum, maximum }: Probes): void {
  if (minimum === maximum) {
    native.nprobes(minimum);
    return;
  }
  // A minimum of 0 beside another maximum was not asked for: the default stands, as far as the maximum lets it.
  const wanted = minimum === 0 ? Math.min(PROBES_DEFAULT, maximum ?? PROBES_DEFAULT) : minimum;
  if (maximum !== undefined && maximum < PROBES_DEFAULT) {
    native.minimumNprobes(wanted);
    native.maximumNprobes(maximum);
    return;
  }
  native.maximumNprobes(maximum ?? NO_MAXIMUM);
  native.minimumNprobes(wanted);
}

/** Finds out what the engine must be told, and refuses what it would take wrongly. */
export async function planQuery(native: NativeEngine, table: OpenTable, query: Query): Promise<QueryPlan> {
  const schema = await table.schema();
  const vectorColumn = query.vectors.length === 0 ? undefined : requireVectorColumn(query, schema);
  const searched = { native: table.native, schema, factory: native.JsFullTextQuery };
  const search = query.fullText === undefined ? undefined : await toNativeSearch(query.fullText, searched);
  return { query, schema, vectorColumn, search };
}

/**
 * No rows are wanted, so nothing is searched: what runs is a scan that ends before its first row. The engine itself
 * refuses a search for no neighbours, and takes a limit of none in a search by words for no limit.
 */
export function toEmptyScan(plan: QueryPlan): QueryPlan {
  const { orderBy: _unused, ...rest } = plan.query;
  const query: Query = { ...rest, offset: 0 };
  const { projection } = query;
  if (projection?.kind !== 'names') return { ...plan, query, search: undefined };
  const paths = projection.paths.filter((path) => !isAdded(path));
  return { ...plan, query: { ...query, projection: { ...projection, paths } }, search: undefined };
}
