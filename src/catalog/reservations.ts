import { ServiceError } from '../errors/service-error.ts';
import { formatPath, nameOf, namespaceOf, quoteForMessage } from '../model/identifier.ts';
import type { TablePath } from '../model/identifier.ts';
import type { Place, TableRecord } from '../model/table.ts';
import type { CatalogContext } from './context.ts';
import { createId } from './ids.ts';
import { requireNamespaceId } from './namespaces.ts';
import { toPathText, toTablePath } from './path-text.ts';
import { toStorageDirectory } from './storage-directory.ts';
import type { StorageRoots } from './storage-roots.ts';
import type { Sql } from './store.ts';
import { toPlace, toPlaceColumns, toTableRecord } from './table-rows.ts';
import { recordTransaction } from './transactions.ts';
import type { CommitEntry } from './transactions.ts';

/** A name that is taken and a directory to write to, for a table that nobody sees yet. */
export interface Reservation {
  readonly tableId: string;
  readonly databaseId: string;
  readonly path: TablePath;
  readonly place: Place;
}

export interface NewTable {
  readonly databaseId: string;
  readonly path: TablePath;
  readonly root: string;
  readonly caller: string;
}

export type PublishEntry = CommitEntry & { readonly properties: Readonly<Record<string, string>> };

/** What work that was cut short has left. */
export interface Unfinished {
  readonly reservations: readonly Reservation[];
  readonly held: readonly TableRecord[];
}

export interface ReservationStore {
  reserve(table: NewTable): Promise<Reservation>;
  publish(reservation: Reservation, entry: PublishEntry): Promise<{ readonly transactionId: string }>;
  /**
   * For after the data are gone: until then the row is what tells them from a table that is to be adopted. Abandoning
   * twice, or after publishing, changes nothing.
   */
  abandon(reservation: Reservation): Promise<void>;
  unfinished(): Promise<Unfinished>;
}

export function createReservationStore({ read, append, roots, now }: CatalogContext): ReservationStore {
  return {
    async reserve(table) {
      return append(async (sql) => insertReservation(sql, { table, roots, createdAt: now() }));
    },

    async publish(reservation, entry) {
      return append(async (sql) => publishTable(sql, { reservation, entry, committedAt: now() }));
    },

    async abandon({ tableId }) {
      await append(async (sql) =>
        sql.deleteFrom('tables').where('id', '=', tableId).where('state', '=', 'reserved').execute(),
      );
    },

    async unfinished() {
      return read(async (sql) => listUnfinished(sql, roots));
    },
  };
}

interface Insertion {
  readonly table: NewTable;
  readonly roots: StorageRoots;
  readonly createdAt: number;
}

async function insertReservation(sql: Sql, { table, roots, createdAt }: Insertion): Promise<Reservation> {
  const { databaseId, path, root, caller } = table;
  const namespaceId = await requireNamespaceId(sql, databaseId, namespaceOf(path));
  const tableId = createId(createdAt);
  const place: Place = { kind: 'listed', root, directory: toStorageDirectory(nameOf(path), tableId) };
  const result = await sql
    .insertInto('tables')
    .values({
      id: tableId,
      database_id: databaseId,
      namespace_id: namespaceId,
      path: toPathText(path),
      state: 'reserved',
      ...toPlaceColumns(place, roots),
      properties: '{}',
      held_version: null,
      created_by: caller,
      created_at: createdAt,
    })
    .onConflict((conflict) => conflict.columns(['database_id', 'path']).doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows === 1n) return { tableId, databaseId, path, place };
  throw new ServiceError('TableAlreadyExists', `The table ${quoteForMessage(formatPath(path))} already exists.`);
}

interface Publication {
  readonly reservation: Reservation;
  readonly entry: PublishEntry;
  readonly committedAt: number;
}

async function publishTable(sql: Sql, publication: Publication): Promise<{ readonly transactionId: string }> {
  const { reservation, entry, committedAt } = publication;
  const { tableId, databaseId, path } = reservation;
  const result = await sql
    .updateTable('tables')
    .set({ state: 'published', properties: JSON.stringify(entry.properties) })
    .where('id', '=', tableId)
    .where('state', '=', 'reserved')
    .executeTakeFirst();
  if (result.numUpdatedRows !== 1n) {
    throw new ServiceError(
      'ConcurrentModification',
      `The table ${quoteForMessage(formatPath(path))} was given up while it was being made.`,
    );
  }
  const transactionId = await recordTransaction(sql, { ...entry, databaseId, tableId, path, committedAt });
  return { transactionId };
}

async function listUnfinished(sql: Sql, roots: StorageRoots): Promise<Unfinished> {
  const rows = await sql
    .selectFrom('tables')
    .selectAll()
    .where((where) => where.or([where('state', '=', 'reserved'), where('held_version', 'is not', null)]))
    .orderBy('id')
    .execute();
  const reserved = rows.filter((row) => row.state === 'reserved');
  return {
    reservations: reserved.map((row) => ({
      tableId: row.id,
      databaseId: row.database_id,
      path: toTablePath(row.path),
      place: toPlace(row, roots),
    })),
    held: rows.filter((row) => row.state === 'published').map((row) => toTableRecord(row, roots)),
  };
}
