import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, nameOf, namespaceOf, quoteForMessage } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableLocation, TableRecord } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry } from '../journal/transactions.ts';
import { requireNamespaceId } from '../namespaces/namespace-rows.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import { toStorageDirectory } from '../storage-roots.ts';
import type { Sql } from '../store.ts';
import type { Recorded } from './lifecycle.ts';
import { insertTable, tableExists, toLocation, toProperties, toTableRecord, toTableRow } from './table-rows.ts';

/** A name that is taken and a directory to write to, for a table that is not visible yet. */
export interface Reservation {
  readonly tableId: string;
  readonly databaseId: string;
  readonly path: TablePath;
  readonly location: TableLocation;
  readonly fills?: string;
}

interface NewTable {
  readonly databaseId: string;
  readonly path: TablePath;
  readonly root: string;
  readonly caller: string;
  /** The declared table that gets its data now. It keeps its name; until then it stays as it is. */
  readonly fills?: string;
}

export type PublishEntry = CommitEntry & { readonly properties: Readonly<Record<string, string>> };

/** Work that was interrupted. */
interface Unfinished {
  readonly reservations: readonly Reservation[];
  readonly held: readonly TableRecord[];
}

/** No name may hold it, and it does not separate names. */
const HIDDEN_PREFIX = '\u001e';

/** How tables are created: the name first, then the data, then both are published. */
export function createReservationStore({ read, write, append, roots, now, requireDurable }: CatalogContext) {
  return {
    async reserve({ databaseId, path, root, caller, fills }: NewTable): Promise<Reservation> {
      const createdAt = now();
      const tableId = createId(createdAt);
      const location: TableLocation = { kind: 'listed', root, directory: toStorageDirectory(nameOf(path), tableId) };
      const table = { id: tableId, databaseId, location, state: 'reserved', createdBy: caller, createdAt } as const;
      const reservation = { tableId, databaseId, path, location };
      if (fills === undefined) {
        await append(async (sql) => {
          const namespaceId = await requireNamespaceId(sql, databaseId, namespaceOf(path));
          await insertTable(sql, path, toTableRow({ ...table, namespaceId, pathText: toPathText(path) }, roots));
        });
        return reservation;
      }
      // A declared table has the name already: its data wait under a name that no request can have, and in no namespace,
      // so that they keep none from being dropped.
      const hidden = { namespaceId: null, pathText: HIDDEN_PREFIX + tableId };
      await append(async (sql) => insertTable(sql, path, toTableRow({ ...table, ...hidden }, roots)));
      return { ...reservation, fills };
    },

    async publish(reservation: Reservation, entry: PublishEntry): Promise<Recorded> {
      const publication = { reservation, entry, committedAt: now() };
      const { fills } = reservation;
      if (fills === undefined) return append(async (sql) => publishTable(sql, publication));
      // Lookups may have found the declared table at its old location.
      return write(async (sql) => fillDeclared(sql, fills, publication));
    },

    /** For after the data are deleted: until then the row keeps them from being adopted as a table. Idempotent. */
    async abandon({ tableId }: Reservation): Promise<void> {
      await append(async (sql) =>
        sql.deleteFrom('tables').where('id', '=', tableId).where('state', '=', 'reserved').execute(),
      );
    },

    /** Whether a publication whose reply was lost was committed. */
    async isPublished({ tableId, fills = tableId, location }: Reservation): Promise<boolean> {
      await requireDurable();
      const row = await read(async (sql) =>
        sql.selectFrom('tables').select(['state', 'place_directory']).where('id', '=', fills).executeTakeFirst(),
      );
      return row?.state === 'published' && row.place_directory === location.directory;
    },

    async unfinished(): Promise<Unfinished> {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('tables')
          .selectAll()
          .where((where) => where.or([where('state', '=', 'reserved'), where('held_version', 'is not', null)]))
          .orderBy('id')
          .execute(),
      );
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
    },
  };
}

interface Publication {
  readonly reservation: Reservation;
  readonly entry: PublishEntry;
  readonly committedAt: number;
}

async function publishTable(sql: Sql, { reservation, entry, committedAt }: Publication): Promise<Recorded> {
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
  return { transactionId: await recordTransaction(sql, { ...entry, databaseId, tableId, path, committedAt }) };
}

/** The declared table takes over the new data. Its former location, which is empty, is given up. */
async function fillDeclared(
  sql: Sql,
  tableId: string,
  { reservation, entry, committedAt }: Publication,
): Promise<Recorded> {
  const { databaseId, path } = reservation;
  const declared = sql.selectFrom('tables').selectAll().where('id', '=', tableId).where('state', '=', 'declared');
  const row = await declared.where('path', '=', toPathText(path)).executeTakeFirst();
  if (row === undefined) throw tableExists(path);
  const written = await sql
    .selectFrom('tables')
    .select(['place_kind', 'place_root', 'place_directory', 'engine_path', 'location'])
    .where('id', '=', reservation.tableId)
    .executeTakeFirstOrThrow();
  await sql.deleteFrom('tables').where('id', '=', reservation.tableId).execute();
  const properties = JSON.stringify({ ...toProperties(row.properties), ...entry.properties });
  const columns = { state: 'published', properties, ...written } as const;
  await sql.updateTable('tables').set(columns).where('id', '=', tableId).execute();
  return { transactionId: await recordTransaction(sql, { ...entry, databaseId, tableId, path, committedAt }) };
}
