import type { GuardedSql, Query } from '../../model/query.ts';
import type { TableState } from '../../model/table.ts';
import { engineCall } from '../native/engine-errors.ts';
import { QueryDeadline } from '../native/query-deadline.ts';
import type { QueryTimeout } from '../native/query-deadline.ts';
import type { EngineParts } from '../parts.ts';
import { explainQuery } from '../plans/query-plans.ts';
import { startQuery } from './run-query.ts';

/** Reads rows. */
export function createRowsEngine(parts: EngineParts) {
  const { tables, readers, querySeconds, orphans } = parts;
  return {
    /** Resolves with the first batch and the version that is read; the rest is read as the caller asks for it. */
    async query(state: TableState, query: Query, timeout: QueryTimeout) {
      const deadline = new QueryDeadline(querySeconds, orphans, timeout);
      const work = tables.useAtVersion(state, async (table) => startQuery(parts, deadline, table, query));
      const { value, version } = await deadline.wait(work);
      return { ...value, files: readers.track(state.location, version, value.files), version };
    },
    async count(state: TableState, predicate: GuardedSql | undefined, timeout: QueryTimeout) {
      const deadline = new QueryDeadline(querySeconds, orphans, timeout);
      const work = tables.useAtVersion(state, async (table) =>
        engineCall(async () => table.native.countRows(predicate ?? null)),
      );
      const { value, version } = await deadline.wait(work);
      return { rows: value, version };
    },
    async explain(state: TableState, query: Query, verbose: boolean, timeout: QueryTimeout) {
      const deadline = new QueryDeadline(querySeconds, orphans, timeout);
      const work = tables.use(state, async (table) =>
        explainQuery(parts, table, query, { location: state.location, verbose }),
      );
      return deadline.wait(work);
    },
  };
}
