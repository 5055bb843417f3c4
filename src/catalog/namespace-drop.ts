import { ServiceError } from '../errors/service-error.ts';
import { formatPath, quoteForMessage } from '../model/identifier.ts';
import type { NamespacePath } from '../model/identifier.ts';
import { findNamespaceRow } from './namespace-rows.ts';
import { rangeFrom, toTablePath } from './path-text.ts';
import { removeRow } from './removals.ts';
import type { Removal } from './removals.ts';
import type { TableRow } from './rows.ts';
import type { StorageRoots } from './storage-roots.ts';
import type { Sql } from './store.ts';
import { recordTransaction } from './transactions.ts';
import type { CommitEntry } from './transactions.ts';

export interface NamespaceDrop {
  readonly databaseId: string;
  readonly path: NamespacePath;
  /** `restrict` refuses a namespace that is not empty, `cascade` drops what is inside. */
  readonly behavior: 'restrict' | 'cascade';
}

export interface DroppedNamespace {
  readonly transactionId: string;
  readonly removals: readonly Removal[];
}

interface DropWork {
  readonly drop: NamespaceDrop;
  readonly entry: CommitEntry;
  readonly roots: StorageRoots;
  readonly droppedAt: number;
}

export async function dropNamespace(sql: Sql, work: DropWork): Promise<DroppedNamespace | undefined> {
  const { databaseId, path } = work.drop;
  const row = await findNamespaceRow(sql, databaseId, path);
  if (row === undefined) return undefined;
  const tables = await tablesInside(sql, databaseId, path);
  if (work.drop.behavior === 'restrict') await requireEmpty(sql, row.id, { path, tables: tables.length });
  const removals: Removal[] = [];
  for (const table of tables) removals.push(await dropTable(sql, table, work));
  await deleteNamespaces(sql, databaseId, path);
  const record = { ...work.entry, databaseId, tableId: row.id, path, committedAt: work.droppedAt };
  return { transactionId: await recordTransaction(sql, record), removals };
}

/** Also one that is still being made: its maker finds the name given up, and removes what it wrote. */
async function dropTable(sql: Sql, row: TableRow, { entry, roots, droppedAt }: DropWork): Promise<Removal> {
  const removal = await removeRow(sql, row, { roots, removedAt: droppedAt });
  if (row.state === 'reserved') return removal;
  await recordTransaction(sql, {
    ...entry,
    operation: 'drop_table',
    databaseId: row.database_id,
    tableId: row.id,
    path: toTablePath(row.path),
    committedAt: droppedAt,
  });
  return removal;
}

async function tablesInside(sql: Sql, databaseId: string, path: NamespacePath): Promise<readonly TableRow[]> {
  const range = rangeFrom(path);
  if (range === undefined) throw new Error('The root namespace is never dropped.');
  return (
    sql
      .selectFrom('tables')
      .selectAll()
      .where('database_id', '=', databaseId)
      // A table at the same path is beside the namespace, not in it.
      .where('path', '>', range.from)
      .where('path', '<', range.before)
      .orderBy('path')
      .execute()
  );
}

async function requireEmpty(
  sql: Sql,
  namespaceId: string,
  { path, tables }: { path: NamespacePath; tables: number },
): Promise<void> {
  const child = await sql
    .selectFrom('namespaces')
    .select('id')
    .where('parent_id', '=', namespaceId)
    .limit(1)
    .executeTakeFirst();
  if (tables === 0 && child === undefined) return;
  throw new ServiceError('NamespaceNotEmpty', `The namespace ${quoteForMessage(formatPath(path))} is not empty.`, {
    hint: 'Drop what is inside first, or use behavior "cascade".',
  });
}

/** In one statement, because a namespace and the one above it refer to each other. */
async function deleteNamespaces(sql: Sql, databaseId: string, path: NamespacePath): Promise<void> {
  const range = rangeFrom(path);
  if (range === undefined) return;
  await sql
    .deleteFrom('namespaces')
    .where('database_id', '=', databaseId)
    .where('path', '>=', range.from)
    .where('path', '<', range.before)
    .execute();
}
