import type { TablePath } from '../model/identifier.ts';

/** A write that is about to be committed: its entry is pending until it is recorded or removed. */
export interface NewEntry {
  readonly id: string;
  readonly caller: string;
  /** Of caller, operation, address and body: what tells a repeated request from another. */
  readonly digest: string;
  /** The header Idempotency-Key. */
  readonly key: string | undefined;
  readonly operation: string;
  readonly databaseId: string;
  readonly tableId: string;
  readonly path: TablePath;
  /** The main one when absent. */
  readonly branch: string | undefined;
  /** The version that the write follows; 0 for a table that is made by it. */
  readonly baseVersion: number;
  /** Of the table's owner when the write began. */
  readonly epoch: number;
  readonly requestId: string;
  /** Of the response marks, for a write without a key. */
  readonly generation: string | undefined;
  /** What the commit should look like and what its outcome will be, in the words of the writer. */
  readonly expected: string;
  /** Readers see the base version until the write is recorded, because it takes several commits. */
  readonly holdsReaders: boolean;
}

export interface JournalEntry extends Omit<NewEntry, 'holdsReaders'> {
  readonly state: 'pending' | 'committed';
  /** Commits after this version are not this write's. */
  readonly boundVersion: number | undefined;
  /** When it began; once it is committed, when it was. */
  readonly since: number;
  readonly version: number | undefined;
  readonly transactionId: string | undefined;
  /** The fields of the reply, as JSON. */
  readonly outcome: string | undefined;
}
