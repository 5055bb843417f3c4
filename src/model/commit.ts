/** `other`: an operation that is not listed here. `unknown`: the transaction file cannot be read. */
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
  /** The version that the writer read; 0 when unknown. */
  readonly readVersion: number;
  /** For a restore: the version that became the latest again. */
  readonly restoredVersion: number | undefined;
  /** Identifies the transaction across the versions of its retries. */
  readonly transactionId: string | undefined;
  /** Rows of the added fragments, including those rewritten by an update or upsert. `undefined`: not recorded. */
  readonly addedRows: number | undefined;
  /** Rows of the version, without deleted ones. `undefined`: not recorded, as in manifests of old engines. */
  readonly rows: number | undefined;
}

/** Index builds and compactions: concurrent with writers, and without changes to rows. */
export function isMaintenance(kind: CommitKind): boolean {
  return kind === 'index' || kind === 'rewrite' || kind === 'reserve';
}
