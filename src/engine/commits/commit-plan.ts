import type { ServiceError } from '../../errors/service-error.ts';
import type { CommitKind } from '../../model/table.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { OpenTable } from '../tables/table-handle.ts';

export interface Committed<Outcome> {
  readonly version: number;
  readonly outcome: Outcome;
  /** The commit was made, and must be undone. */
  readonly fault?: ServiceError | undefined;
}

/** One commit, checked against the table as it is now. */
export interface PreparedCommit<Outcome> {
  /** Rows that it will add, when known: they identify its commit among others. */
  readonly addedRows?: number | undefined;
  /** Identifies its commit for certain, where the transaction is known before the commit. */
  readonly transactionId?: string;
  /** The outcome, when it is known before the commit. */
  readonly expected?: Outcome | undefined;
  /** Rows that the commit must have stored: with fewer, a batch was malformed. */
  readonly storedRows?: number;
  /** One commit of the engine. A refusal has changed nothing; after any other failure it may have been committed. */
  commit(): Promise<Committed<Outcome>>;
}

/** A write that is one commit. Nothing happens before the table's write queue comes to it. */
export interface CommitPlan<Outcome> {
  /** The kinds of commit that the engine may store. */
  readonly kinds: readonly CommitKind[];
  /** Creates missing data: the table then has version 0 and nothing else. */
  readonly mayBeMissing?: true;
  /** Refuses what cannot be done to the table as it is now. Changes nothing. */
  prepare(table: OpenTable): Promise<PreparedCommit<Outcome>>;
  /** Starts a group with this plan; `undefined` when it cannot share a commit. */
  startGroup?(table: OpenTable): Promise<CommitGroup<Outcome> | undefined>;
}

/** A commit that changes something other than rows, and has no outcome but its version. */
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
  /** Whether the plan now belongs to the group; nothing changes when it does not. */
  add(plan: CommitPlan<unknown>): boolean;
  /** The outcomes are in the order of the plans. `undefined` when they cannot share a commit on the table as it is now. */
  prepare(table: OpenTable): Promise<PreparedCommit<readonly Outcome[]> | undefined>;
}

/** A write of several commits, one for each chunk of its data. The pipeline hides them from readers, and undoes them. */
export interface MultiCommitPlan<Outcome> {
  /** Refuses what cannot be done; returns the version that the write follows. Changes nothing. */
  prepare(): Promise<{
    readonly baseVersion: number;
    /** Of the first commit, where it is known: without that commit there is nothing to undo. */
    readonly transactionId?: string | undefined;
  }>;
  write(): Promise<Committed<Outcome>>;
  close(): void;
}
