import { isDeepStrictEqual } from 'node:util';
import type { NamespacePath, TablePath } from '../../model/identifier.ts';
import type { CatalogContext } from '../context.ts';
import { createIdAfter } from '../ids.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import type { TransactionRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';
import { insertCompleted } from './entries.ts';
import type { CompletedRequest } from './entries.ts';
import { runHot } from './hot-statements.ts';

/** How a write describes itself. `branch` is absent for the main branch. `version` is 0 if only names change. */
export interface CommitEntry {
  readonly operation: string;
  readonly caller: string;
  readonly version: number;
  readonly branch?: string | undefined;
  readonly requestId: string;
  /** Present if this transaction is the whole effect of a request that must not be applied twice. */
  readonly completes?: CompletedRequest | undefined;
}

/** A committed write: who, what, which table, which version, when. */
export interface TransactionRecord extends Omit<CommitEntry, 'completes'> {
  readonly id: string;
  readonly databaseId: string;
  /** The table or namespace of the write. */
  readonly tableId: string;
  readonly path: TablePath;
  /** For a rename: the previous path. */
  readonly formerPath?: TablePath;
  readonly committedAt: number;
}

interface TransactionPage {
  readonly databaseId: string;
  /** The id of the last record of the previous page. */
  readonly after?: string | undefined;
  readonly isNewestFirst?: boolean;
  readonly limit: number;
}

type Properties = Readonly<Record<string, string>>;

export function createTransactionStore({ read, append, now, requireDurable }: CatalogContext) {
  return {
    /** Of all databases, in commit order, excluding records that a power loss could still undo. */
    async follow({ after, limit }: Pick<TransactionPage, 'limit'> & { readonly after: string }) {
      const query = async (sql: Sql) =>
        sql.selectFrom('transactions').selectAll().where('id', '>', after).orderBy('id').limit(limit).execute();
      const rows = await read(query);
      if (rows.length > 0) await requireDurable();
      return rows.map(toTransactionRecord);
    },

    /** `undefined` before the first commit. */
    async newestId(): Promise<string | undefined> {
      return (await read(findNewest))?.id;
    },

    async find(id: string): Promise<TransactionRecord | undefined> {
      const row = await read(async (sql) =>
        sql.selectFrom('transactions').selectAll().where('id', '=', id).executeTakeFirst(),
      );
      return row && toTransactionRecord(row);
    },

    /** Properties that callers have set on it. */
    async findProperties(id: string): Promise<Properties> {
      return read(async (sql) => readProperties(sql, id));
    },

    /**
     * Changes its properties, and records that as a transaction of the same table. Does nothing if they already have
     * these values, as for a repeated request. `change` may refuse.
     */
    async alter(
      { id, databaseId, tableId, path }: TransactionRecord,
      entry: CommitEntry,
      change: (properties: Properties) => Properties,
    ): Promise<Properties> {
      return append(async (sql) => {
        const present = await readProperties(sql, id);
        const changed = change(present);
        if (isDeepStrictEqual(changed, present)) return present;
        const properties = JSON.stringify(changed);
        await sql
          .insertInto('transactionProperties')
          .values({ transactionId: id, properties })
          .onConflict((conflict) => conflict.column('transactionId').doUpdateSet({ properties }))
          .execute();
        await recordTransaction(sql, { ...entry, databaseId, tableId, path, committedAt: now() });
        return changed;
      });
    },

    /** In commit order: a reader that continues after the last record it has seen misses none. */
    async list({ databaseId, after, limit, isNewestFirst = false }: TransactionPage) {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('transactions')
          .selectAll()
          .where('databaseId', '=', databaseId)
          .$if(after !== undefined, (query) => query.where('id', isNewestFirst ? '<' : '>', after ?? ''))
          .orderBy('id', isNewestFirst ? 'desc' : 'asc')
          .limit(limit)
          .execute(),
      );
      return rows.map(toTransactionRecord);
    },
  };
}

async function readProperties(sql: Sql, id: string): Promise<Properties> {
  const noted = sql.selectFrom('transactionProperties').select('properties').where('transactionId', '=', id);
  const row = await noted.executeTakeFirst();
  // Only `alter` writes it.
  const properties: Properties = row === undefined ? {} : JSON.parse(row.properties);
  return properties;
}

type NewTransaction = Omit<TransactionRecord, 'id' | 'path' | 'formerPath'> &
  Pick<CommitEntry, 'completes'> & { readonly path: NamespacePath };

export interface Recorded {
  readonly transactionId: string;
}

/** Runs inside the transaction that it records, so that ids grow in commit order. */
export async function recordTransaction(
  sql: Sql,
  { formerPath, ...record }: NewTransaction & { readonly formerPath?: TablePath | undefined },
): Promise<Recorded> {
  const newest = await findNewest(sql);
  const [transactionId = ''] = await recordTransactions(sql, [record], newest?.id);
  if (formerPath !== undefined) {
    const recorded = sql.updateTable('transactions').where('id', '=', transactionId);
    await recorded.set({ formerPath: toPathText(formerPath) }).execute();
  }
  if (record.completes !== undefined) await insertCompleted(sql, { ...record, ...record.completes, transactionId });
  return { transactionId };
}

async function findNewest(sql: Sql): Promise<{ readonly id: string } | undefined> {
  return sql.selectFrom('transactions').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst();
}

/** Like `recordTransaction`, for several records in order. `newest` is the id of the newest existing record. */
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
  await runHot(sql, {
    key: `insert into transactions, ${rows.length} rows`,
    compile: () => sql.insertInto('transactions').values(rows).compile(),
    values: rows.flatMap((row) => Object.values(row)),
  });
  return rows.map(({ id }) => id);
}

function toTransactionRow(id: string, record: NewTransaction): Omit<TransactionRow, 'formerPath'> {
  const { databaseId, tableId, path, operation, caller, version, branch = null, requestId, committedAt } = record;
  const target = { databaseId, tableId, tablePath: toPathText(path) };
  return { id, ...target, operation, caller, version, branch, requestId, committedAt };
}

function toTransactionRecord({ tablePath, formerPath, branch, ...row }: TransactionRow): TransactionRecord {
  return {
    ...row,
    path: toTablePath(tablePath),
    ...(formerPath === null ? {} : { formerPath: toTablePath(formerPath) }),
    ...(branch === null ? {} : { branch }),
  };
}
