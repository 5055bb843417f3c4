import { performance } from 'node:perf_hooks';
import type { Query } from '../../model/query.ts';
import type { TableState } from '../../model/table.ts';
import type { QueryShape } from '../../slow-queries/slow-queries.ts';
import type { TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';

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
