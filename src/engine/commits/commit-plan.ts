import type { ServiceError } from '../../errors/service-error.ts';
import type { CommitKind } from '../../model/table.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { OpenTable } from '../tables/table-handle.ts';

export interface Committed<Outcome> {
  readonly version: number;
  readonly outcome: Outcome;
  /** The commit was made, but must be undone. */
  readonly fault?: ServiceError | undefined;
}

/** One commit, checked against the current table. */
export interface PreparedCommit<Outcome> {
  /** Rows that it will add, if known: they help to identify its commit. */
  readonly addedRows?: number | undefined;
  /** Identifies its commit uniquely, if the transaction id is known before the commit. */
  readonly transactionId?: string;
  /** The outcome, if it is known before the commit. */
  readonly expected?: Outcome | undefined;
  /** Rows that the commit must store; fewer mean that a batch was malformed. */
  readonly storedRows?: number;
  /** Makes one engine commit. A refusal has changed nothing; after any other failure it may have been committed. */
  commit(): Promise<Committed<Outcome>>;
}

/** A write that is one commit. It does nothing before its turn in the table's write queue. */
export interface CommitPlan<Outcome> {
  /** The possible kinds of its commit. */
  readonly kinds: readonly CommitKind[];
  /** Can create missing data: the table then has version 0 and nothing else. */
  readonly mayBeMissing?: true;
  /** Refuses what cannot be done to the current table. Changes nothing. */
  prepare(table: OpenTable): Promise<PreparedCommit<Outcome>>;
  /** Starts a group with this plan; `undefined` if it cannot share a commit. */
  startGroup?(table: OpenTable): Promise<CommitGroup<Outcome> | undefined>;
}

/** A commit that changes no rows, and whose only outcome is its version. */
export function planChange(
  kinds: readonly CommitKind[],
  prepare: (table: OpenTable) => Promise<() => Promise<Pick<Committed<object>, 'version'>>>,
): CommitPlan<object> {
  return {
    kinds,
    async prepare(table) {
      const change = await prepare(table);
      return {
        expected: {},
        async commit() {
          const { version } = await engineCall(change);
          table.forget();
          return { version, outcome: {} };
        },
      };
    },
  };
}

/** Plans that share one commit, each with the outcome of a separate commit. */
export interface CommitGroup<Outcome> {
  readonly membersMax: number;
  /** Whether the plan was added to the group; otherwise the group is unchanged. */
  add(plan: CommitPlan<unknown>): boolean;
  /** The outcomes are in the order of the plans. `undefined` if they cannot share a commit on the current table. */
  prepare(table: OpenTable): Promise<PreparedCommit<readonly Outcome[]> | undefined>;
}

/**
 * A write of several commits, one for each chunk of its data. The pipeline hides them from readers and undoes them on
 * failure.
 */
export interface MultiCommitPlan<Outcome> {
  /** Refuses what cannot be done, and returns the version that the write follows. Changes nothing. */
  prepare(): Promise<{
    readonly baseVersion: number;
    /** The id of the first commit, if known: without that commit there is nothing to undo. */
    readonly transactionId?: string | undefined;
  }>;
  write(): Promise<Committed<Outcome>>;
  close(): void;
}
