import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, namespaceOf, quoteForMessage } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableLocation, TableRecord } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry, Recorded } from '../journal/transactions.ts';
import { deleteHead } from '../nodes/heads.ts';
import { deleteLease, isIdle } from '../nodes/leases.ts';
import { requireNamespaceId } from '../namespaces/namespace-rows.ts';
import { toPathText } from '../path-text.ts';
import type { LocationRow, TableRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';
import { deleteRename, tableExists, toLocation, toTableRecord } from './table-rows.ts';

/** Data of a dropped table, to be deleted. */
export interface Removal {
  readonly tableId: string;
  readonly location: TableLocation;
}

/** Renames and drops tables; their data is handled elsewhere. */
export function createLifecycleStore(context: CatalogContext) {
  const { read, write, append, roots, now } = context;
  const record = async (sql: Sql, { id: tableId, databaseId, path }: TableRecord, entry: CommitEntry) =>
    recordTransaction(sql, { ...entry, databaseId, tableId, path, committedAt: now() });
  return {
    /** The table disappears at once; its data is to be deleted next. */
    async drop(table: TableRecord, entry: CommitEntry): Promise<Recorded & { readonly removal: Removal }> {
      return write(async (sql) => {
        const removal = await removeRow(sql, await requireRow(sql, table), context);
        return { removal, ...(await record(sql, table, entry)) };
      });
    },

    /** Like `drop`, but leaves the data to its owner: it is neither swept nor adopted. */
    async deregister(table: TableRecord, entry: CommitEntry): Promise<Recorded> {
      return write(async (sql) => {
        await releaseRow(sql, await requireRow(sql, table), now());
        return record(sql, table, entry);
      });
    },

    /** Of several requests that rename or drop a table, or want the new name, exactly one succeeds. */
    async rename(table: TableRecord, path: TablePath, entry: CommitEntry): Promise<Recorded> {
      return write(async (sql) => {
        await renameRow(sql, await requireRow(sql, table), { path, renamedAt: now() });
        const { id: tableId, databaseId, path: formerPath } = table;
        return recordTransaction(sql, { ...entry, databaseId, tableId, path, formerPath, committedAt: now() });
      });
    },

    /** The table that had this path until recently, if the path was not reused since. */
    async findRenamed(databaseId: string, path: TablePath, withinSeconds: number): Promise<TableRecord | undefined> {
      const row = await read(async (sql) =>
        sql
          .selectFrom('renames')
          .innerJoin('tables', 'tables.id', 'renames.tableId')
          .selectAll('tables')
          .where('renames.databaseId', '=', databaseId)
          .where('renames.path', '=', toPathText(path))
          .where('renames.renamedAt', '>', now() - withinSeconds * 1000)
          .executeTakeFirst(),
      );
      return row && toTableRecord(row, roots);
    },

    /** Dropped tables whose data may still exist. */
    async removals(): Promise<readonly Removal[]> {
      const rows = await read(async (sql) => sql.selectFrom('removals').selectAll().orderBy('id').execute());
      return rows.map((row) => ({ tableId: row.id, location: toLocation(row, roots) }));
    },

    /** Call after the data is gone. Idempotent. */
    async finishRemoval({ tableId }: Removal): Promise<void> {
      await append(async (sql) => sql.deleteFrom('removals').where('id', '=', tableId).execute());
    },
  };
}

/** The current row. Throws if the table is gone or was renamed. */
export async function requireRow(sql: Sql, { id, path }: TableRecord): Promise<TableRow> {
  const query = sql.selectFrom('tables').selectAll().where('id', '=', id);
  const row = await query.where('path', '=', toPathText(path)).executeTakeFirst();
  if (row !== undefined) return row;
  throw new ServiceError('TableNotFound', `The table ${quoteForMessage(formatPath(path))} no longer exists.`);
}

/** Deletes a table and lists its data for deletion in one transaction: a crash leaves both or neither. */
export async function removeRow(
  sql: Sql,
  row: LocationRow & Pick<TableRow, 'id'>,
  { roots, now }: CatalogContext,
): Promise<Removal> {
  const { id, placeKind, placeRoot, placeDirectory, enginePath, location } = row;
  const columns = { placeKind, placeRoot, placeDirectory, enginePath, location };
  await deleteTable(sql, id);
  await sql
    .insertInto('removals')
    .values({ id, ...columns, createdAt: now() })
    .execute();
  return { tableId: id, location: toLocation(row, roots) };
}

/**
 * Deletes the table and leaves its data to the owner. Refused while a write is pending: its result could not be
 * recorded, and after a failure it could be neither verified nor undone.
 */
export async function releaseRow(sql: Sql, row: TableRow, releasedAt: number): Promise<void> {
  const { id, location, databaseId, path, heldVersion } = row;
  if (heldVersion !== null || !(await isIdle(sql, id))) {
    throw new ServiceError('ServiceUnavailable', 'A write to the table is not finished.', {
      hint: 'Try again when it is finished.',
      retryAfterSeconds: 5,
    });
  }
  await deleteTable(sql, id);
  await sql.insertInto('releases').values({ location, databaseId, path, releasedAt }).execute();
}

async function deleteTable(sql: Sql, id: string): Promise<void> {
  await sql.deleteFrom('tables').where('id', '=', id).execute();
  await sql.deleteFrom('versionRemovals').where('tableId', '=', id).execute();
  await sql.deleteFrom('versionMetadata').where('tableId', '=', id).execute();
  await sql.deleteFrom('attempts').where('tableId', '=', id).execute();
  await deleteHead(sql, id);
  await deleteLease(sql, id);
}

/** Longer than any setting allows. */
const RENAMES_KEPT_MILLISECONDS = 24 * 3600 * 1000;

async function renameRow(
  sql: Sql,
  { id: tableId, databaseId, path: oldPathText }: TableRow,
  { path, renamedAt }: { readonly path: TablePath; readonly renamedAt: number },
): Promise<void> {
  const namespaceId = await requireNamespaceId(sql, databaseId, namespaceOf(path));
  const pathText = toPathText(path);
  const atPath = sql.selectFrom('tables').select('id').where('databaseId', '=', databaseId);
  if ((await atPath.where('path', '=', pathText).executeTakeFirst()) !== undefined) throw tableExists(path);
  await sql.updateTable('tables').set({ path: pathText, namespaceId }).where('id', '=', tableId).execute();
  await deleteRename(sql, databaseId, pathText);
  await sql
    .deleteFrom('renames')
    .where('renamedAt', '<', renamedAt - RENAMES_KEPT_MILLISECONDS)
    .execute();
  await sql
    .insertInto('renames')
    .values({ databaseId, path: oldPathText, tableId, renamedAt })
    .onConflict((conflict) => conflict.columns(['databaseId', 'path']).doUpdateSet({ tableId, renamedAt }))
    .execute();
}
