import type { TablePath } from '../../model/identifier.ts';
import type { TableRecord, TableLocation } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { toPathText } from '../path-text.ts';
import type { Sql } from '../store.ts';
import { toTableRecord, toLocation } from './table-rows.ts';
import type { TableRow } from '../schema/rows.ts';
import type { StorageRoots } from '../storage-roots.ts';

export interface RenameStore {
  /** The table that had this path until a moment ago, when no other was given the path since. */
  findRenamed(databaseId: string, path: TablePath, withinSeconds: number): Promise<TableRecord | undefined>;
}

/** What is older than any setting allows is of no use to anybody. */
const KEPT_MILLISECONDS = 24 * 3600 * 1000;

export function createRenameStore({ read, roots, now }: CatalogContext): RenameStore {
  return {
    async findRenamed(databaseId, path, withinSeconds) {
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
      return row === undefined ? undefined : toTableRecord(row, roots);
    },
  };
}

interface Rename {
  readonly databaseId: string;
  readonly path: TablePath;
  readonly tableId: string;
  readonly renamedAt: number;
}

export async function recordRename(sql: Sql, { databaseId, path, tableId, renamedAt }: Rename): Promise<void> {
  await sql
    .deleteFrom('renames')
    .where('renamed_at', '<', renamedAt - KEPT_MILLISECONDS)
    .execute();
  await sql
    .insertInto('renames')
    .values({ database_id: databaseId, path: toPathText(path), table_id: tableId, renamed_at: renamedAt })
    .onConflict((conflict) =>
      conflict.columns(['database_id', 'path']).doUpdateSet({ table_id: tableId, renamed_at: renamedAt }),
    )
    .execute();
}

/** The path has a new table: it no longer leads to the one that had it before, not even after the new one is gone. */
export async function forgetRename(sql: Sql, databaseId: string, pathText: string): Promise<void> {
  await sql.deleteFrom('renames').where('database_id', '=', databaseId).where('path', '=', pathText).execute();
}

/** Data of a table that nobody sees any more. */
export interface Removal {
  readonly tableId: string;
  readonly location: TableLocation;
}

export interface RemovalStore {
  /** Whose data may still be there. */
  removals(): Promise<readonly Removal[]>;
  /** For after the data are gone; doing so again changes nothing. */
  finishRemoval(removal: Removal): Promise<void>;
}

export function createRemovalStore({ read, append, roots }: CatalogContext): RemovalStore {
  return {
    async removals() {
      const rows = await read(async (sql) => sql.selectFrom('removals').selectAll().orderBy('id').execute());
      return rows.map((row) => ({ tableId: row.id, location: toLocation(row, roots) }));
    },

    async finishRemoval({ tableId }) {
      await append(async (sql) => sql.deleteFrom('removals').where('id', '=', tableId).execute());
    },
  };
}

export interface RowRemoval {
  readonly roots: StorageRoots;
  readonly removedAt: number;
}

/** Ends a table, and in the same transaction notes its data as litter: a crash in between leaves neither alone. */
export async function removeRow(sql: Sql, row: TableRow, { roots, removedAt }: RowRemoval): Promise<Removal> {
  await sql.deleteFrom('tables').where('id', '=', row.id).execute();
  await sql
    .insertInto('removals')
    .values({
      id: row.id,
      place_kind: row.place_kind,
      place_root: row.place_root,
      place_directory: row.place_directory,
      engine_path: row.engine_path,
      location: row.location,
      created_at: removedAt,
    })
    .execute();
  return { tableId: row.id, location: toLocation(row, roots) };
}
