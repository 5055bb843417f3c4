import { sql as statement } from 'kysely';
import { toPathText, toTablePath } from './path-text.ts';
import type { JournalEntry, NewEntry } from './journal-entry.ts';
import type { JournalRow } from './rows.ts';
import type { Sql } from './store.ts';

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
