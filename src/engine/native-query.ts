import { requireField } from '../model/field-path.ts';
import type { FieldPath } from '../model/field-path.ts';
import type { Probes, Projection, Query } from '../model/query.ts';
import type { Schema } from '../model/schema.ts';
import { engineColumn } from './engine-column.ts';
import type { NativeFullTextSearch, NativeQueryBase, NativeTable, NativeVectorQuery } from './native.ts';
import type { VectorColumn } from './vector-column.ts';

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

function applyBase(native: NativeQueryBase, { query, schema }: QueryPlan): void {
  if (query.filter !== undefined) native.onlyIf(query.filter);
  if (query.projection !== undefined) applyProjection(native, query.projection, schema);
  if (query.k !== undefined) native.limit(query.k);
  if (query.offset !== undefined) native.offset(query.offset);
  if (query.fastSearch) native.fastSearch();
  if (query.withRowId) native.withRowId();
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
const ADDED_COLUMNS: ReadonlySet<string> = new Set(['_rowid', '_rowaddr', '_distance', '_score']);

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
