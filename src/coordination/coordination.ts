import type { TableRecord } from '../model/table.ts';

/** The right to write to a table, until it is lost. */
export interface Ownership {
  /** Grows with each change of owner. Journal entries carry it, for fencing. */
  readonly epoch: number;
}

/** Which process may write to a table. */
export interface Coordination {
  own(table: TableRecord): Promise<Ownership>;
}

/** One process serves: every table is always ours. The server lock keeps others out. */
export function createSingleProcess(): Coordination {
  const ours = { epoch: 0 };
  return { own: async () => ours };
}
