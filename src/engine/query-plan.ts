import type { Query } from '../model/query.ts';
import { toNativeSearch } from './full-text-query.ts';
import { isAdded } from './native-query.ts';
import type { QueryPlan } from './native-query.ts';
import type { NativeEngine } from './native.ts';
import type { OpenTable } from './open-table.ts';
import { requireVectorColumn } from './vector-column.ts';

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
