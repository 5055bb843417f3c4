import { performance } from 'node:perf_hooks';
import { maskLiterals } from '../../guard/sql/guard-sql.ts';
import { formatFieldPath } from '../../model/field-path.ts';
import type { GuardedSql, Query } from '../../model/query.ts';
import type { EndedQuery, QueryShape } from '../../slow-queries/slow-queries.ts';
import { withoutUndefined } from '../../wire/query-forms.ts';
import type { TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';

interface WatchedQuery {
  readonly request: TableRequest;
  readonly rerun?: EndedQuery['rerun'];
  /** Called only if the query was slow. */
  readonly shape: () => QueryShape;
}

/** Runs a query, and records it if it was slow, even if it failed. */
export async function watchQuery<Value>(
  { request, shape, rerun }: WatchedQuery,
  { slowQueries }: Services,
  run: () => Promise<Value>,
): Promise<Value> {
  const startedAt = performance.now();
  const record = (repeatable: EndedQuery['rerun']): void => {
    const milliseconds = performance.now() - startedAt;
    if (!slowQueries.isSlow(milliseconds)) return;
    const { requestId, caller, database, table, write } = request;
    slowQueries.record({
      requestId,
      operation: write.operation,
      databaseId: table.databaseId,
      database: database.name,
      table: table.path,
      caller: caller.id,
      milliseconds,
      shape: shape(),
      rerun: repeatable,
    });
  };
  try {
    const value = await run();
    record(rerun);
    return value;
  } catch (error) {
    record(undefined);
    throw error;
  }
}

const FILTER_CHARACTERS_MAX = 500;

/** A query as the log may show it: the kind of search, and its filter without literals. */
export function toQueryShape(query: Query): QueryShape {
  const { vectors, vectorColumn, fullText, filter, projection, probes } = query;
  const columns = projection?.kind === 'names' ? projection.paths.length : projection?.columns.length;
  return withoutUndefined<string | number | boolean>({
    vectors: vectors.length === 0 ? undefined : vectors.length,
    dimensions: vectors[0]?.length,
    vector_column: vectorColumn && formatFieldPath(vectorColumn),
    full_text: fullText?.kind,
    ...toFilterShape(filter),
    prefilter: filter === undefined ? undefined : query.prefilter,
    columns,
    k: query.k,
    offset: query.offset,
    distance_type: query.distanceType,
    nprobes: probes?.minimum,
    ef: query.ef,
    refine_factor: query.refineFactor,
    bypass_vector_index: query.bypassVectorIndex ? true : undefined,
    fast_search: query.fastSearch ? true : undefined,
    order_by: query.orderBy
      ?.map(({ path, ascending }) => formatFieldPath(path) + (ascending ? '' : ' DESC'))
      .join(', '),
  });
}

export function toFilterShape(filter: GuardedSql | undefined): QueryShape {
  return filter === undefined ? {} : { filter: maskLiterals(filter).slice(0, FILTER_CHARACTERS_MAX) };
}
