import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Engine } from '../engine/engine.ts';
import type { GuardedSql } from '../model/query.ts';
import type { TableState } from '../model/table.ts';

type QueryTimeout = Parameters<Engine['rows']['count']>[2];

interface CountedFilter {
  readonly tableId: string;
  readonly state: TableState;
  readonly filter: GuardedSql;
  /** The rows of the table. */
  readonly rows: number;
}

const FILTERS_MAX = 1000;
/** Only an estimate, because the table may change meanwhile. */
const KEPT_MILLISECONDS = 60_000;

/** The share of a table's rows that pass a filter. The count of each filter is cached for a while. */
export class FilterShares {
  readonly #rows: Engine['rows'];
  readonly #shares = new LRUCache<string, number>({ max: FILTERS_MAX, ttl: KEPT_MILLISECONDS });

  constructor({ rows }: Pick<Engine, 'rows'>) {
    this.#rows = rows;
  }

  async estimate({ tableId, state, filter, rows }: CountedFilter, timeout: QueryTimeout): Promise<number> {
    // Hashed, because a filter may be a long text.
    const key = hash('sha256', `${tableId}\u0000${state.branch ?? ''}\u0000${filter}`);
    const known = this.#shares.get(key);
    if (known !== undefined) return known;
    const counted = await this.#rows.count(state, filter, timeout);
    const share = rows === 0 ? 1 : Math.min(1, counted.rows / rows);
    this.#shares.set(key, share);
    return share;
  }
}
