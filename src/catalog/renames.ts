import type { TablePath } from '../model/identifier.ts';
import type { TableRecord } from '../model/table.ts';
import type { CatalogContext } from './context.ts';
import { toPathText } from './path-text.ts';
import type { Sql } from './store.ts';
import { toTableRecord } from './table-rows.ts';

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
