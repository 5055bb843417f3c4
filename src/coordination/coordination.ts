import type { TableRecord } from '../model/table.ts';

/** The right to write to a table, until it is lost. */
export interface Ownership {
  /** Grows with each change of owner. Journal entries contain it, for fencing. */
  readonly epoch: number;
  /** An earlier owner left writes pending, to be resolved before this owner's first write. */
  readonly hasPending: boolean;
}

/** Another node that may write to a table. */
export interface Owner {
  readonly nodeId: string;
  /** Absent for a node that serves alone. */
  readonly address: string | undefined;
}

export interface LocateOptions {
  /** A recently cached answer is enough: the caller notices if another node owns the table by now. */
  readonly mayBeOutdated?: boolean;
}

/** Which process may write to a table. */
export interface Coordination {
  /** Throws `NotOwner` if another node may write to the table. Takes a table that no node owns. */
  own(table: Pick<TableRecord, 'id'>): Promise<Ownership>;
  /**
   * Like `own`, but also takes the table from a live node, once that node has no pending writes of it. For batches of
   * tables.
   */
  claim(table: Pick<TableRecord, 'id'>): Promise<Ownership>;
  /** The owner, if it is another node. Takes a table that no node owns. */
  locate(table: Pick<TableRecord, 'id'>, options?: LocateOptions): Promise<Owner | undefined>;
  /** Marks the writes that owners before this epoch left pending as resolved. */
  resolved(tableId: string, epoch: number): void;
  /** Another node has taken the table over. */
  lost(tableId: string): void;
  /** Whether the previous owner may still be running, unaware that it was replaced. */
  mayPreviousHolderRun(tableId: string): Promise<boolean>;
}

/**
 * For a single process, which owns every table. The server lock keeps others out; `requireLock` throws if it was lost.
 */
export function createSingleProcess(requireLock: () => void = () => {}): Coordination {
  const own = async (): Promise<Ownership> => {
    requireLock();
    return { epoch: 0, hasPending: false };
  };
  return {
    own,
    claim: own,
    locate: async () => undefined,
    resolved: () => {},
    lost: () => {},
    mayPreviousHolderRun: async () => false,
  };
}
