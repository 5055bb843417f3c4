import type { TableLocation } from '../model/table.ts';
import type { CatalogContext } from './context.ts';
import type { TableRow } from './rows.ts';
import type { StorageRoots } from './storage-roots.ts';
import type { Sql } from './store.ts';
import { toPlace } from './table-rows.ts';

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
      return rows.map((row) => ({ tableId: row.id, location: toPlace(row, roots) }));
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
  return { tableId: row.id, location: toPlace(row, roots) };
}
