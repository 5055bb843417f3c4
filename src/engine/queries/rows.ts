import { isRead } from '../../arrow/results/result-framing.ts';
import type { GuardedSql, Query } from '../../model/query.ts';
import type { TableState } from '../../model/table.ts';
import { diffVersions } from '../diffs/diff-versions.ts';
import type { DiffRequest } from '../diffs/diff-versions.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { QueryTimeout } from '../native/query-deadline.ts';
import type { EngineParts } from '../parts.ts';
import { explainQuery } from '../plans/query-plans.ts';
import { explainMissing, readAtVersion, readTable } from '../versions/reads.ts';
import { useExactNames } from '../workarounds/exact-names.ts';
import { beginRun, leaseFiles, runOnce, waitFor } from './query-run.ts';
import { countMatches } from './result-batches.ts';
import { startQuery } from './run-query.ts';

/** Reads rows. */
export function createRowsEngine(parts: EngineParts) {
  const { tables, readers } = parts;
  return {
    /** Resolves with the first batch and the version that was read; further batches are read on demand. */
    async query(state: TableState, query: Query, timeout: QueryTimeout) {
      const run = beginRun(parts, timeout);
      const work = readAtVersion(tables, state, async (table) => startQuery(parts, run, table, query));
      const { value, version } = await waitFor(run, work);
      const { head, files } = value;
      if (isRead(files)) {
        run.lease.close();
        return { head, version, files };
      }
      const explain = async (error: unknown) => explainMissing(tables, state, { version, error });
      const tracked = readers.track({ location: state.location, version, files, explain });
      return { head, version, files: leaseFiles(run, tracked) };
    },
    /** Like `OpenTables.identify`. */
    identify: (state: TableState) => tables.identify(state),
    async count(state: TableState, predicate: GuardedSql | undefined, timeout: QueryTimeout) {
      return runOnce(parts, timeout, async ({ lease }) => {
        const { value: rows, version } = await readAtVersion(tables, state, async (table) => {
          if (predicate === undefined) return engineCall(async () => table.native.countRows(null));
          const exact = useExactNames(await table.schema(), predicate);
          return countMatches(parts, table, exact, lease);
        });
        return { rows, version };
      });
    },
    /** Which rows of two versions differ. */
    diff: async (request: DiffRequest, timeout: QueryTimeout) => diffVersions(parts, request, timeout),
    async explain(state: TableState, query: Query, verbose: boolean, timeout: QueryTimeout) {
      return runOnce(parts, timeout, async () =>
        readTable(tables, state, async (table) =>
          explainQuery(parts, table, query, { location: state.location, verbose }),
        ),
      );
    },
  };
}
