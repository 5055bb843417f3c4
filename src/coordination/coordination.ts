import type { TableRecord } from '../model/table.ts';

/** The right to write to a table, until it is lost. */
export interface Ownership {
  /** Grows with each change of owner. Journal entries carry it, for fencing. */
  readonly epoch: number;
  /** An earlier owner has left writes pending: they are resolved before the first one of this owner. */
  readonly hasPending: boolean;
}

/** Another node, which may write to a table. */
export interface Owner {
  readonly nodeId: string;
  /** Absent for one that serves alone. */
  readonly address: string | undefined;
}

export interface LocateOptions {
  /** What was found a moment ago will do: the caller notices when another node owns the table by now. */
  readonly mayBeOutdated?: boolean;
}

/** Which process may write to a table. */
export interface Coordination {
  /** Throws `NotOwner` when another node may. Takes a table that no node owns. */
  own(table: Pick<TableRecord, 'id'>): Promise<Ownership>;
  /** As `own`, and takes the table from a node that is alive, once that has no write pending: for a batch of tables. */
  claim(table: Pick<TableRecord, 'id'>): Promise<Ownership>;
  /** The owner, when it is another node. Takes a table that no node owns. */
  locate(table: Pick<TableRecord, 'id'>, options?: LocateOptions): Promise<Owner | undefined>;
  /** What owners before this epoch have left is resolved. */
  resolved(tableId: string, epoch: number): void;
  /** Another node has taken the table over. */
  lost(tableId: string): void;
  /** Whether the owner before this one may still run, and not know that it was replaced. */
  mayFormerRun(tableId: string): Promise<boolean>;
}

/** One process serves: every table is always ours. The server lock keeps others out; `requireLock` throws when it does not. */
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
    mayFormerRun: async () => false,
  };
}
