import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import type { Analysis, GuardedSql, Query } from '../../model/query.ts';
import type { TableState } from '../../model/table.ts';
import { QueryDeadline } from '../native/query-deadline.ts';
import { engineCall } from '../native/engine-errors.ts';
import { explainQuery } from '../plans/explain-query.ts';
import type { EngineParts } from '../parts.ts';
import { startQuery } from './run-query.ts';
import { readServed } from '../tables/open-tables.ts';

/** How long a caller waits, and whether it still does. */
export interface QueryTimeout {
  readonly seconds: number | undefined;
  readonly signal: AbortSignal;
}

export interface QueryRows extends ResultFiles {
  /** The version that was read. */
  readonly version: number;
}

export interface RowCount {
  readonly rows: number;
  readonly version: number;
}

/** Reading of rows. */
export interface RowsEngine {
  /** Resolves with the first batch at hand; the rest is read as it is asked for. */
  query(state: TableState, query: Query, patience: QueryTimeout): Promise<QueryRows>;
  count(state: TableState, predicate: GuardedSql | undefined, patience: QueryTimeout): Promise<RowCount>;
  explain(state: TableState, query: Query, verbose: boolean, patience: QueryTimeout): Promise<Analysis>;
}

/** The time for work that begins now, unless too much is still running for callers who have gone. */
export function startTime(
  { querySeconds, abandoned }: Pick<EngineParts, 'querySeconds' | 'abandoned'>,
  patience: QueryTimeout | undefined,
): QueryDeadline {
  abandoned.requireFew();
  const { seconds, signal } = patience ?? {};
  return new QueryDeadline(Math.min(seconds ?? querySeconds, querySeconds), signal, abandoned);
}

export function createRowsEngine(parts: EngineParts): RowsEngine {
  const { native, limits, tables, readers } = parts;
  const toTime = (patience: QueryTimeout): QueryDeadline => startTime(parts, patience);
  return {
    async query(state, query, patience) {
      const time = toTime(patience);
      const run = { native, batchBytes: limits.resultBatchBytes, time };
      const work = readServed(tables, state, async (table) => startQuery(run, table, query));
      const { value, version } = await time.wait(work);
      return { ...value, files: readers.track(state.location, version, value.files), version };
    },
    async count(state, predicate, patience) {
      const time = toTime(patience);
      const work = readServed(tables, state, async (table) => {
        return engineCall(async () => table.native.countRows(predicate ?? null));
      });
      const { value, version } = await time.wait(work);
      return { rows: value, version };
    },
    async explain(state, query, verbose, patience) {
      const time = toTime(patience);
      const work = tables.use(state, async (table) => explainQuery({ native, state, verbose }, table, query));
      return time.wait(work);
    },
  };
}
