import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, namespaceOf, quoteForMessage } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableLocation, TableRecord } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry } from '../journal/transactions.ts';
import { requireNamespaceId } from '../namespaces/namespace-rows.ts';
import { toPathText } from '../path-text.ts';
import type { TableRow } from '../schema/rows.ts';
import type { StorageRoots } from '../storage-roots.ts';
import type { Sql } from '../store.ts';
import { deleteRename, tableExists, toLocation, toTableRecord } from './table-rows.ts';

/** Data of a dropped table, to be deleted. */
export interface Removal {
  readonly tableId: string;
  readonly location: TableLocation;
}

export interface Recorded {
  readonly transactionId: string;
}

/** How tables are renamed and dropped, apart from their data. */
export function createLifecycleStore({ read, write, append, roots, now }: CatalogContext) {
  return {
    /** The table is gone at once. Its data are to be deleted next. */
    async drop(table: TableRecord, entry: CommitEntry): Promise<Recorded & { readonly removal: Removal }> {
      return write(async (sql) => {
        const removal = await removeRow(sql, await requireRow(sql, table), { roots, removedAt: now() });
        return { removal, ...(await record(sql, table, { ...entry, committedAt: now() })) };
      });
    },

    /** As `drop`, but the data stay, as their owner's: they are neither swept nor adopted. */
    async deregister(table: TableRecord, entry: CommitEntry): Promise<Recorded> {
      return write(async (sql) => {
        await releaseRow(sql, await requireRow(sql, table), now());
        return record(sql, table, { ...entry, committedAt: now() });
      });
    },

    /** Of several that rename or drop a table, or that want the new name, exactly one succeeds. */
    async rename(table: TableRecord, path: TablePath, entry: CommitEntry): Promise<Recorded> {
      return write(async (sql) => {
        await renameRow(sql, await requireRow(sql, table), { path, renamedAt: now() });
        return record(sql, { ...table, path }, { ...entry, committedAt: now() });
      });
    },

    /** The table that had this path until a moment ago, when the path was not used again since. */
    async findRenamed(databaseId: string, path: TablePath, withinSeconds: number): Promise<TableRecord | undefined> {
      const row = await read(async (sql) =>
        sql
          .selectFrom('renames')
          .innerJoin('tables', 'tables.id', 'renames.table_id')
          .selectAll('tables')
          .where('renames.database_id', '=', databaseId)
          .where('renames.path', '=', toPathText(path))
          .where('renames.renamed_at', '>', now() - withinSeconds * 1000)
          .executeTakeFirst(),
      );
      return row && toTableRecord(row, roots);
    },

    /** Dropped tables whose data may still exist. */
    async removals(): Promise<readonly Removal[]> {
      const rows = await read(async (sql) => sql.selectFrom('removals').selectAll().orderBy('id').execute());
      return rows.map((row) => ({ tableId: row.id, location: toLocation(row, roots) }));
    },

    /** For after the data are gone. Idempotent. */
    async finishRemoval({ tableId }: Removal): Promise<void> {
      await append(async (sql) => sql.deleteFrom('removals').where('id', '=', tableId).execute());
    },
  };
}

/** The row as it is now; gone when the table has another name by now. */
async function requireRow(sql: Sql, { id, path }: TableRecord): Promise<TableRow> {
  const query = sql.selectFrom('tables').selectAll().where('id', '=', id);
  const row = await query.where('path', '=', toPathText(path)).executeTakeFirst();
  if (row !== undefined) return row;
  throw new ServiceError('TableNotFound', `The table ${quoteForMessage(formatPath(path))} does not exist any more.`);
}

type Change = CommitEntry & { readonly committedAt: number };

async function record(sql: Sql, { id: tableId, databaseId, path }: TableRecord, change: Change): Promise<Recorded> {
  return { transactionId: await recordTransaction(sql, { ...change, databaseId, tableId, path }) };
}

export interface RowRemoval {
  readonly roots: StorageRoots;
  readonly removedAt: number;
}

/** Deletes a table and lists its data for deletion in the same transaction: a crash leaves both or neither. */
export async function removeRow(sql: Sql, row: TableRow, { roots, removedAt }: RowRemoval): Promise<Removal> {
  const { id, place_kind, place_root, place_directory, engine_path, location } = row;
  await sql.deleteFrom('tables').where('id', '=', id).execute();
  await sql
    .insertInto('removals')
    .values({ id, place_kind, place_root, place_directory, engine_path, location, created_at: removedAt })
    .execute();
  return { tableId: id, location: toLocation(row, roots) };
}

/** Deletes the table and keeps its data for their owner. */
export async function releaseRow(sql: Sql, row: TableRow, releasedAt: number): Promise<void> {
  await sql.deleteFrom('tables').where('id', '=', row.id).execute();
  const values = { location: row.location, database_id: row.database_id, path: row.path, released_at: releasedAt };
  await sql.insertInto('releases').values(values).execute();
}

/** Longer than any setting allows. */
const RENAMES_KEPT_MILLISECONDS = 24 * 3600 * 1000;

async function renameRow(
  sql: Sql,
  { id, database_id: databaseId, path: oldPathText }: TableRow,
  { path, renamedAt }: { readonly path: TablePath; readonly renamedAt: number },
): Promise<void> {
  const namespaceId = await requireNamespaceId(sql, databaseId, namespaceOf(path));
  const pathText = toPathText(path);
  const atPath = sql.selectFrom('tables').select('id').where('database_id', '=', databaseId);
  if ((await atPath.where('path', '=', pathText).executeTakeFirst()) !== undefined) throw tableExists(path);
  const columns = { path: pathText, namespace_id: namespaceId };
  await sql.updateTable('tables').set(columns).where('id', '=', id).execute();
  await deleteRename(sql, databaseId, pathText);
  const oldest = renamedAt - RENAMES_KEPT_MILLISECONDS;
  await sql.deleteFrom('renames').where('renamed_at', '<', oldest).execute();
  const rename = { table_id: id, renamed_at: renamedAt };
  await sql
    .insertInto('renames')
    .values({ database_id: databaseId, path: oldPathText, ...rename })
    .onConflict((conflict) => conflict.columns(['database_id', 'path']).doUpdateSet(rename))
    .execute();
}
