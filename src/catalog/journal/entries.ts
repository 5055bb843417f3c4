import type { TablePath, NamespacePath } from '../../model/identifier.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import type { Sql } from '../store.ts';
import { sql as statement } from 'kysely';
import type { JournalRow } from '../schema/rows.ts';

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

/** A request that is one catalog transaction: its entry is written by that transaction, so that it is never pending. */
export interface CompletedRequest {
  readonly id: string;
  readonly key: string | undefined;
  readonly digest: string;
  /** Of the response marks, for a request without a key. */
  readonly generation: string | undefined;
  /** The fields of the reply, as JSON. */
  readonly outcome: string;
}

export interface Completion extends CompletedRequest {
  readonly caller: string;
  readonly operation: string;
  readonly requestId: string;
  readonly databaseId: string;
  readonly tableId: string;
  readonly path: NamespacePath;
  readonly version: number;
  readonly transactionId: string;
  readonly committedAt: number;
}

export async function insertCompleted(sql: Sql, completion: Completion): Promise<void> {
  await sql
    .insertInto('journal')
    .values({
      id: completion.id,
      caller: completion.caller,
      digest: completion.digest,
      idempotency_key: completion.key ?? null,
      operation: completion.operation,
      database_id: completion.databaseId,
      table_id: completion.tableId,
      table_path: toPathText(completion.path),
      branch: null,
      base_version: 0,
      bound_version: null,
      epoch: 0,
      generation: completion.generation ?? null,
      expected: null,
      request_id: completion.requestId,
      state: 'committed',
      since: completion.committedAt,
      version: completion.version,
      transaction_id: completion.transactionId,
      outcome: completion.outcome,
    })
    .execute();
}

/** Written out, because every write runs it: building it each time takes longer than running it. */
export async function insertEntries(sql: Sql, entries: readonly NewEntry[], since: number): Promise<void> {
  const rows = entries.map(
    (entry) => statement`(${entry.id}, ${entry.caller}, ${entry.digest}, ${entry.key ?? null}, ${entry.operation},
      ${entry.databaseId}, ${entry.tableId}, ${toPathText(entry.path)}, ${entry.branch ?? null}, ${entry.baseVersion},
      ${entry.epoch}, ${entry.generation ?? null}, ${entry.expected}, ${entry.requestId}, 'pending', ${since})`,
  );
  await statement`
    insert into journal (id, caller, digest, idempotency_key, operation, database_id, table_id, table_path, branch,
      base_version, epoch, generation, expected, request_id, state, since)
    values ${statement.join(rows)}`.execute(sql);
}

export function toEntry(row: JournalRow): JournalEntry {
  return {
    id: row.id,
    caller: row.caller,
    digest: row.digest,
    key: row.idempotency_key ?? undefined,
    operation: row.operation,
    databaseId: row.database_id,
    tableId: row.table_id,
    path: toTablePath(row.table_path),
    branch: row.branch ?? undefined,
    baseVersion: row.base_version,
    boundVersion: row.bound_version ?? undefined,
    epoch: row.epoch,
    generation: row.generation ?? undefined,
    expected: row.expected ?? '{}',
    requestId: row.request_id,
    state: row.state,
    since: row.since,
    version: row.version ?? undefined,
    transactionId: row.transaction_id ?? undefined,
    outcome: row.outcome ?? undefined,
  };
}
