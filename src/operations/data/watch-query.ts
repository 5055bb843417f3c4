import { performance } from 'node:perf_hooks';
import type { Query, GuardedSql } from '../../model/query.ts';
import type { TableState } from '../../model/table.ts';
import type { QueryShape } from '../../slow-queries/slow-queries.ts';
import type { TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { maskLiterals } from '../../guard/sql/guard-sql.ts';
import { formatFieldPath } from '../../model/field-path.ts';

export interface WatchedQuery {
  readonly operation: string;
  readonly request: TableRequest;
  /** Asked for only when the query was slow. */
  readonly shape: () => QueryShape;
  readonly again?: { readonly state: TableState; readonly query: Query };
}

/** Runs a query, and notes it when it took long; one that failed after a long time, too. */
export async function watchQuery<Value>(
  watched: WatchedQuery,
  { slowQueries }: Services,
  run: () => Promise<Value>,
): Promise<Value> {
  const startedAt = performance.now();
  const note = (again: WatchedQuery['again']): void => {
    const milliseconds = performance.now() - startedAt;
    if (!slowQueries.isSlow(milliseconds)) return;
    const { requestId, caller, database, table } = watched.request;
    slowQueries.note({
      requestId,
      operation: watched.operation,
      databaseId: table.databaseId,
      database: database.name,
      table: table.path,
      caller: caller.id,
      milliseconds,
      shape: watched.shape(),
      again,
    });
  };
  try {
    const value = await run();
    note(watched.again);
    return value;
  } catch (error) {
    note(undefined);
    throw error;
  }
}

const FILTER_CHARACTERS_MAX = 500;

/** A query as the log may show it: how it searches, and its filter without literals. */
export function toQueryShape(query: Query): QueryShape {
  const { vectors, vectorColumn, fullText, filter, projection, probes } = query;
  const columns = projection?.kind === 'names' ? projection.paths.length : projection?.columns.length;
  return dropAbsent({
    vectors: vectors.length === 0 ? undefined : vectors.length,
    dimensions: vectors[0]?.length,
    vector_column: vectorColumn === undefined ? undefined : formatFieldPath(vectorColumn),
    full_text: fullText === undefined ? undefined : fullText.kind,
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

function dropAbsent(shape: Readonly<Record<string, string | number | boolean | undefined>>): QueryShape {
  const entries = Object.entries(shape).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries(entries);
}
