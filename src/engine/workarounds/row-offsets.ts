import type { Projection, Query } from '../../model/query.ts';

/**
 * Seen in @lancedb/lancedb 0.39.0: the engine panics when it analyzes a query that returns `_rowoffset`, which the
 * LanceDB client requests to keep the order of rows. The column is counted, not read, so the query is analyzed without
 * it. Can be removed when `analyzePlan` supports such a query; the tests of analyze-plan show it.
 */
export function withoutRowOffset(query: Query): Query {
  const { projection } = query;
  if (projection === undefined) return query;
  const rest = removeOffset(projection);
  if (sizeOf(rest) === sizeOf(projection)) return query;
  // Without any column, the engine still has to find the rows.
  return { ...query, projection: rest, withRowId: query.withRowId || sizeOf(rest) === 0 };
}

/** As a whole expression; the engine refuses it inside another one. */
const OFFSET = /^[\s(]*`?_rowoffset`?[\s)]*$/i;

function removeOffset(projection: Projection): Projection {
  if (projection.kind === 'names') {
    return { ...projection, paths: projection.paths.filter((path) => path.length > 1 || path[0] !== '_rowoffset') };
  }
  const columns = projection.columns.filter(([, expression]) => !OFFSET.test(expression));
  return columns.length === 0 ? { kind: 'names', paths: [] } : { ...projection, columns };
}

function sizeOf(projection: Projection): number {
  return projection.kind === 'names' ? projection.paths.length : projection.columns.length;
}
