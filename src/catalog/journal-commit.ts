import type { Sql } from './store.ts';

/** What the record of a commit says to the journal. */
export interface JournalCommit {
  readonly id: string;
  /** Counts of rows and the like, under their names in the reply. */
  readonly outcome: Readonly<Record<string, number>>;
}

export interface CommittedAs {
  readonly version: number;
  readonly transactionId: string;
  readonly committedAt: number;
}

/** Runs in the transaction that records the commit. */
export async function recordInJournal(sql: Sql, { id, outcome }: JournalCommit, as: CommittedAs): Promise<void> {
  await sql
    .updateTable('journal')
    .set({
      state: 'committed',
      version: as.version,
      transaction_id: as.transactionId,
      outcome: JSON.stringify(outcome),
      // The window begins with the commit, which may be long after the note.
      since: as.committedAt,
    })
    .where('id', '=', id)
    .execute();
}
