import type { ResultFiles } from '../arrow/result-framing.ts';
import type { Analysis } from '../model/plan.ts';
import type { GuardedSql, Query } from '../model/query.ts';
import type { TableState } from '../model/table.ts';
import { EngineTime, withDeadline } from './deadline.ts';
import { engineCall } from './engine-errors.ts';
import { explainQuery } from './explain-query.ts';
import type { EngineParts } from './parts.ts';
import { startQuery } from './query-rows.ts';
import { readServed } from './served-version.ts';

/** How long a caller waits, and whether it still does. */
export interface Patience {
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
  query(state: TableState, query: Query, patience: Patience): Promise<QueryRows>;
  count(state: TableState, predicate: GuardedSql | undefined, patience: Patience): Promise<RowCount>;
  explain(state: TableState, query: Query, verbose: boolean): Promise<Analysis>;
}

export function createRowsEngine(parts: EngineParts): RowsEngine {
  const { native, limits, querySeconds, tables, readers } = parts;
  const toTime = ({ seconds, signal }: Patience): EngineTime =>
    new EngineTime(Math.min(seconds ?? querySeconds, querySeconds), signal);
  return {
    async query(state, query, patience) {
      const time = toTime(patience);
      const run = { native, batchBytes: limits.resultBatchBytes, time };
      const work = readServed(tables, state, async (table) => startQuery(run, table, query));
      const { value, version } = await time.wait(work);
      return { ...value, files: readers.track(state.place, version, value.files), version };
    },
    async count(state, predicate, patience) {
      const work = readServed(tables, state, async (table) => {
        return engineCall(async () => table.native.countRows(predicate ?? null));
      });
      const { value, version } = await toTime(patience).wait(work);
      return { rows: value, version };
    },
    async explain(state, query, verbose) {
      const work = tables.use(state, async (table) => explainQuery({ native, state, verbose }, table, query));
      return withDeadline(querySeconds, work);
    },
  };
}
