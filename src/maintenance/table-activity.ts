import type { TableRecord } from '../model/table.ts';
import type { Upkeep } from './maintenance-run.ts';

/** What is remembered of a table that was written, or put in order, since the service started. */
export interface TableWatch {
  /** As it was last seen; its name and its properties may have changed. */
  table: TableRecord;
  /** Since it was last put in order; unknown when the service has not seen them. */
  commits: number | undefined;
  lastCommitAt: number;
  /** Whether it was looked at since it became quiet. */
  isSettled: boolean;
  /** Commits at which it is looked at again. */
  nextLook: number;
  lastUpkeep: Upkeep | undefined;
  /** The small fragments and the version that the last upkeep left. */
  left: { readonly version: number; readonly smallFragments: number } | undefined;
  lostMerges: number;
  /** The version at which old versions were last looked at. */
  historyVersion: number;
  /** When old versions are to be looked at again, because some were too young to go. */
  historyAt: number | undefined;
}

const WATCHED_TABLES_MAX = 10_000;

/** The tables that were used last; the others are found again by the round over all tables. */
export class TableWatches {
  readonly #watches = new Map<string, TableWatch>();

  find(tableId: string): TableWatch | undefined {
    return this.#watches.get(tableId);
  }

  open(table: TableRecord): TableWatch {
    const known = this.#watches.get(table.id);
    const watch = known ?? newWatch(table);
    watch.table = table;
    // Put at the end: the order of the map is the order of use.
    this.#watches.delete(table.id);
    this.#watches.set(table.id, watch);
    for (const id of this.#watches.keys()) {
      if (this.#watches.size <= WATCHED_TABLES_MAX) break;
      this.#watches.delete(id);
    }
    return watch;
  }

  forget(tableId: string): void {
    this.#watches.delete(tableId);
  }

  all(): Iterable<TableWatch> {
    return this.#watches.values();
  }
}

function newWatch(table: TableRecord): TableWatch {
  return {
    table,
    commits: undefined,
    lastCommitAt: 0,
    isSettled: true,
    nextLook: 0,
    lastUpkeep: undefined,
    left: undefined,
    lostMerges: 0,
    historyVersion: 0,
    historyAt: undefined,
  };
}
