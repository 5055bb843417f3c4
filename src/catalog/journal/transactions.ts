import { sql as statement } from 'kysely';
import type { NamespacePath, TablePath } from '../../model/identifier.ts';
import { insertCompleted } from './entries.ts';
import type { CompletedRequest } from './entries.ts';
import type { CatalogContext } from '../context.ts';
import { createIdAfter } from '../ids.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import type { TransactionRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';

/**
 * What a write has to say of itself. `branch` is absent for the main one. `version` is 0 for a change of names, which
 * makes no version.
 */
export interface CommitEntry {
  readonly operation: string;
  readonly caller: string;
  readonly version: number;
  readonly branch?: string;
  readonly requestId: string;
  /** Present when this transaction is all of a request that must not be applied twice. */
  readonly completes?: CompletedRequest | undefined;
}

/** A committed write: who, what, which table, which version, when. */
export interface TransactionRecord extends Omit<CommitEntry, 'completes'> {
  readonly id: string;
  readonly databaseId: string;
  /** Of the table or namespace that the write was about. */
  readonly tableId: string;
  readonly path: TablePath;
  readonly committedAt: number;
}

export interface TransactionPage {
  readonly databaseId: string;
  /** The id of the last record that was seen. */
  readonly after?: string;
  /** Newest first: `after` is then the oldest record that was seen. */
  readonly isNewestFirst?: boolean;
  readonly limit: number;
}

export interface TransactionStore {
  find(id: string): Promise<TransactionRecord | undefined>;
  /** In the order of commits: whoever has read up to a record and goes on after it misses none. */
  list(page: TransactionPage): Promise<readonly TransactionRecord[]>;
}

export function createTransactionStore({ read }: CatalogContext): TransactionStore {
  return {
    async find(id) {
      const row = await read(async (sql) =>
        sql.selectFrom('transactions').selectAll().where('id', '=', id).executeTakeFirst(),
      );
      return row === undefined ? undefined : toTransactionRecord(row);
    },

    async list({ databaseId, after, limit, isNewestFirst = false }) {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('transactions')
          .selectAll()
          .where('database_id', '=', databaseId)
          .$if(after !== undefined, (query) => query.where('id', isNewestFirst ? '<' : '>', after ?? ''))
          .orderBy('id', isNewestFirst ? 'desc' : 'asc')
          .limit(limit)
          .execute(),
      );
      return rows.map(toTransactionRecord);
    },
  };
}

export type NewTransaction = Omit<TransactionRecord, 'id' | 'path'> &
  Pick<CommitEntry, 'completes'> & { readonly path: NamespacePath };

/** Runs inside of the writing transaction that it records, so that ids grow in the order of commits. */
export async function recordTransaction(sql: Sql, record: NewTransaction): Promise<string> {
  const newest = await newestTransaction(sql).executeTakeFirst();
  const [id = ''] = await recordTransactions(sql, [record], newest?.id ?? undefined);
  if (record.completes !== undefined) await insertCompleted(sql, { ...record, ...record.completes, transactionId: id });
  return id;
}

/** The id after which new records go, or `null`: a statement of its own, or part of one that asks for more. */
export function newestTransaction(sql: Sql) {
  return sql.selectFrom('transactions').select(({ fn }) => fn.max('id').as('id'));
}

/** As `recordTransaction`, for several, in their order. `newest` is what this transaction sees as the newest record. */
export async function recordTransactions(
  sql: Sql,
  records: readonly NewTransaction[],
  newest: string | undefined,
): Promise<readonly string[]> {
  if (records.length === 0) return [];
  let last = newest;
  const rows = records.map((record) => {
    last = createIdAfter(last, record.committedAt);
    return toTransactionRow(last, record);
  });
  await insertTransactions(sql, rows);
  return rows.map(({ id }) => id);
}

/** Written out, because every write runs it: building it each time takes longer than running it. */
async function insertTransactions(sql: Sql, rows: readonly TransactionRow[]): Promise<void> {
  const values = rows.map(
    (row) => statement`(${row.id}, ${row.database_id}, ${row.table_id}, ${row.table_path}, ${row.operation},
      ${row.caller}, ${row.version}, ${row.branch}, ${row.request_id}, ${row.committed_at})`,
  );
  await statement`
    insert into transactions (id, database_id, table_id, table_path, operation, caller, version, branch, request_id,
      committed_at)
    values ${statement.join(values)}`.execute(sql);
}

function toTransactionRow(id: string, record: NewTransaction): TransactionRow {
  return {
    id,
    database_id: record.databaseId,
    table_id: record.tableId,
    table_path: toPathText(record.path),
    operation: record.operation,
    caller: record.caller,
    version: record.version,
    branch: record.branch ?? null,
    request_id: record.requestId,
    committed_at: record.committedAt,
  };
}

function toTransactionRecord(row: TransactionRow): TransactionRecord {
  return {
    id: row.id,
    databaseId: row.database_id,
    tableId: row.table_id,
    path: toTablePath(row.table_path),
    operation: row.operation,
    caller: row.caller,
    version: row.version,
    ...(row.branch === null ? {} : { branch: row.branch }),
    requestId: row.request_id,
    committedAt: row.committed_at,
  };
}
