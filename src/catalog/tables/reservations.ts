import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, nameOf, namespaceOf, quoteForMessage } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableLocation, TableRecord } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import { requireNamespaceId } from '../namespaces/namespace-rows.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import { forgetRename } from './removals-and-renames.ts';
import { toStorageDirectory } from '../storage-roots.ts';
import type { StorageRoots } from '../storage-roots.ts';
import type { Sql } from '../store.ts';
import { toLocation, toLocationColumns, toProperties, toTableRecord } from './table-rows.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry } from '../journal/transactions.ts';

/** A name that is taken and a directory to write to, for a table that nobody sees yet. */
export interface Reservation {
  readonly tableId: string;
  readonly databaseId: string;
  readonly path: TablePath;
  readonly location: TableLocation;
  readonly fills?: string;
}

export interface NewTable {
  readonly databaseId: string;
  readonly path: TablePath;
  readonly root: string;
  readonly caller: string;
  /** The declared table that gets its data now. It keeps its name; until then it stays as it is. */
  readonly fills?: string;
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
  /** Whether a publication whose reply was lost was committed. */
  isPublished(reservation: Reservation): Promise<boolean>;
  unfinished(): Promise<Unfinished>;
}

export function createReservationStore(context: CatalogContext): ReservationStore {
  const { read, write, append, roots, now, requireDurable } = context;
  return {
    async reserve(table) {
      return append(async (sql) => insertReservation(sql, { table, roots, createdAt: now() }));
    },

    async publish(reservation, entry) {
      const publication = { reservation, entry, committedAt: now() };
      if (reservation.fills === undefined) return append(async (sql) => publishTable(sql, publication));
      // Lookups may have found the declared table at its old location.
      return write(async (sql) => fillDeclared(sql, reservation.fills ?? '', publication));
    },

    async abandon({ tableId }) {
      await append(async (sql) =>
        sql.deleteFrom('tables').where('id', '=', tableId).where('state', '=', 'reserved').execute(),
      );
    },

    async isPublished({ tableId, fills, location }) {
      await requireDurable();
      const row = await read(async (sql) =>
        sql
          .selectFrom('tables')
          .select(['state', 'place_directory'])
          .where('id', '=', fills ?? tableId)
          .executeTakeFirst(),
      );
      return row?.state === 'published' && row.place_directory === location.directory;
    },

    async unfinished() {
      return read(async (sql) => listUnfinished(sql, roots));
    },
  };
}

/** No name may hold it, and it does not part names. */
const UNSPEAKABLE = '\u001e';

interface Insertion {
  readonly table: NewTable;
  readonly roots: StorageRoots;
  readonly createdAt: number;
}

async function insertReservation(sql: Sql, { table, roots, createdAt }: Insertion): Promise<Reservation> {
  const { databaseId, path, root, caller, fills } = table;
  // Hidden data are in no namespace, so that they keep none from being dropped.
  const namespaceId = fills === undefined ? await requireNamespaceId(sql, databaseId, namespaceOf(path)) : null;
  const tableId = createId(createdAt);
  const location: TableLocation = { kind: 'listed', root, directory: toStorageDirectory(nameOf(path), tableId) };
  const result = await sql
    .insertInto('tables')
    .values({
      id: tableId,
      database_id: databaseId,
      namespace_id: namespaceId,
      // A declared table has the name already: its data wait under a name that nobody can say.
      path: fills === undefined ? toPathText(path) : UNSPEAKABLE + tableId,
      state: 'reserved',
      ...toLocationColumns(location, roots),
      properties: '{}',
      held_version: null,
      held_branch: null,
      created_by: caller,
      created_at: createdAt,
    })
    .onConflict((conflict) => conflict.columns(['database_id', 'path']).doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows === 1n) {
    if (fills !== undefined) return { tableId, databaseId, path, location, fills };
    await forgetRename(sql, databaseId, toPathText(path));
    return { tableId, databaseId, path, location };
  }
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

/** The declared table takes over the new data. Its own location, where nothing is, is given up. */
async function fillDeclared(
  sql: Sql,
  declaredId: string,
  { reservation, entry, committedAt }: Publication,
): Promise<{ readonly transactionId: string }> {
  const { databaseId, path } = reservation;
  const declared = sql.selectFrom('tables').selectAll().where('id', '=', declaredId);
  const row = await declared.where('state', '=', 'declared').where('path', '=', toPathText(path)).executeTakeFirst();
  if (row === undefined) {
    throw new ServiceError('TableAlreadyExists', `The table ${quoteForMessage(formatPath(path))} already exists.`);
  }
  const written = await sql
    .selectFrom('tables')
    .select(['place_kind', 'place_root', 'place_directory', 'engine_path', 'location'])
    .where('id', '=', reservation.tableId)
    .executeTakeFirstOrThrow();
  await sql.deleteFrom('tables').where('id', '=', reservation.tableId).execute();
  const properties = JSON.stringify({ ...toProperties(row.properties), ...entry.properties });
  await sql
    .updateTable('tables')
    .set({ state: 'published', properties, ...written })
    .where('id', '=', declaredId)
    .execute();
  const transactionId = await recordTransaction(sql, { ...entry, databaseId, tableId: declaredId, path, committedAt });
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
      location: toLocation(row, roots),
    })),
    held: rows.filter((row) => row.state !== 'reserved').map((row) => toTableRecord(row, roots)),
  };
}
