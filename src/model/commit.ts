/** What a commit did, as far as it matters whose it is. */
export type CommitKind = 'append' | 'delete' | 'overwrite' | 'update' | 'restore' | 'upkeep' | 'other';

export interface Commit {
  readonly version: number;
  readonly kind: CommitKind;
  /** The version that it read. */
  readonly readVersion: number;
  /** Of a restore: the version whose contents it brought back. */
  readonly restoredVersion: number | undefined;
}
