/** What a commit of a table did. `other`: an operation without a name here. `unknown`: its transaction cannot be read. */
export type CommitKind =
  | 'append'
  | 'delete'
  | 'overwrite'
  | 'index'
  | 'drop-index'
  | 'rewrite'
  | 'merge'
  | 'restore'
  | 'reserve'
  | 'update'
  | 'project'
  | 'config'
  | 'other'
  | 'unknown';

export interface Commit {
  readonly version: number;
  readonly kind: CommitKind;
  /** The version that the writer had read; 0 when unknown. */
  readonly readVersion: number;
  /** Of a restore: the version whose contents it brought back. */
  readonly restoredVersion: number | undefined;
  /** Unique to the transaction: the same in every version that a writer may have retried it as. */
  readonly transactionId: string | undefined;
  /** Rows of the fragments that it added; of an update or an upsert, the rewritten rows too. `undefined`: not recorded. */
  readonly addedRows: number | undefined;
  /** Rows of the version, without deleted ones. `undefined`: not recorded, as in manifests of old engines. */
  readonly rows: number | undefined;
}

/** Builds of indexes and compactions: they run beside the writers of a table, and change no rows. */
export function isMaintenance(kind: CommitKind): boolean {
  return kind === 'index' || kind === 'rewrite' || kind === 'reserve';
}
