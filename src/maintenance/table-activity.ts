import type { ActiveTable, TableRecord } from '../model/table.ts';
import type { TimedOptimization } from '../writes/writes.ts';

/** Why a table needs maintenance. */
export type Reason = 'fragments' | 'deletions' | 'index';

/** The outcome of a run. */
export interface MaintenanceRun extends TimedOptimization {
  readonly reasons: readonly Reason[];
  /** Whether a concurrent writer committed first, so that the compaction was discarded. */
  readonly isLost: boolean;
  readonly filesSwept: number;
  readonly milliseconds: number;
  /** The time for removing old versions, which does not affect writers. */
  readonly removalMilliseconds: number;
  readonly endedAt: number;
}

/** The activity on a table since the service started; only in memory. */
export class TableActivity {
  /** As last seen; its name may have changed. */
  table: ActiveTable;
  /** Since the last run; `undefined` for a table that was last written before the service started. */
  commits: number | undefined;
  lastCommitAt = 0;
  /** Whether any commit since the start of the last run did more than add rows. */
  hasRewrites = false;
  /** Whether the table was checked after its last commit. */
  isSettled = true;
  /** The number of commits at which it is checked again. */
  nextCheck = 0;
  lastRun: MaintenanceRun | undefined;
  /** What the last run could not improve. */
  remaining: { readonly version: number; readonly smallFragments: number } | undefined;
  /** Consecutive runs that were lost to a writer. */
  lostRuns = 0;
  /** The last check of old versions: the latest version then, and how many there were. */
  checkedHistory = { version: 0, versions: 0 };
  /** When old versions are checked again, because some were too young. */
  historyAt: number | undefined;

  constructor(table: ActiveTable) {
    this.table = withoutProperties(table);
  }

  see(table: ActiveTable): void {
    this.table = withoutProperties(table);
  }
}

function withoutProperties({ properties: _unused, ...table }: ActiveTable & Partial<TableRecord>): ActiveTable {
  return table;
}
