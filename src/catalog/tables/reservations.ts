import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, namespaceOf, quoteForMessage } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { isObjectRoot } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry, Recorded } from '../journal/transactions.ts';
import { setHead } from '../nodes/heads.ts';
import { removeRow } from './lifecycle.ts';
import type { Removal } from './lifecycle.ts';
import { requireNamespaceId } from '../namespaces/namespace-rows.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import type { Sql } from '../store.ts';
import {
  chooseLocation,
  insertTable,
  tableExists,
  toLocation,
  toProperties,
  toTableRecord,
  toTableRow,
} from './table-rows.ts';

/** A reserved name and a directory to write to, for a table that is not visible yet. */
export interface Reservation {
  readonly tableId: string;
  readonly databaseId: string;
  readonly path: TablePath;
  readonly location: TableLocation;
  /** The declared table that gets the data. It stays unchanged until then, and keeps its name. */
  readonly fills?: string;
}

interface NewTable extends Omit<Reservation, 'tableId' | 'location'> {
  readonly root: string;
  readonly caller: string;
}

export type PublishEntry = CommitEntry & { readonly properties: Readonly<Record<string, string>> };

/** No table name may contain it, and it is not the path separator. */
const HIDDEN_PREFIX = '\u001e';

/** Creates tables: reserves the name first, then the data is written, then both are published. */
export function createReservationStore(context: CatalogContext) {
  const { read, write, append, roots, now, requireDurable, nodeId = null, clock } = context;
  return {
    async reserve({ databaseId, path, root, caller, fills }: NewTable): Promise<Reservation> {
      const createdAt = now();
      const tableId = createId(createdAt);
      const location = chooseLocation(root, path, tableId);
      const table = {
        id: tableId,
        databaseId,
        location,
        state: 'reserved',
        createdBy: caller,
        createdAt,
        nodeId,
      } as const;
      await append(async (sql) => {
        // A declared table already has the name: its data waits under a name that no request can use, outside any
        // namespace, because a namespace can be dropped meanwhile.
        const name =
          fills === undefined
            ? { namespaceId: await requireNamespaceId(sql, databaseId, namespaceOf(path)), path: toPathText(path) }
            : { namespaceId: null, path: HIDDEN_PREFIX + tableId };
        await insertTable(sql, path, toTableRow({ ...table, ...name }, roots));
      });
      return { tableId, databaseId, path, location, ...(fills === undefined ? {} : { fills }) };
    },

    async publish(reservation: Reservation, entry: PublishEntry): Promise<Recorded> {
      const { tableId, databaseId, path, fills } = reservation;
      // Lookups may have cached the declared table at its old location.
      const transact = fills === undefined ? append : write;
      return transact(async (sql) => {
        if (fills === undefined) await publishTable(sql, reservation, entry);
        else await fillDeclared(sql, { ...reservation, fills }, entry);
        if (isObjectRoot(reservation.location.root)) await setHead(sql, fills ?? tableId, entry.version);
        return recordTransaction(sql, { ...entry, databaseId, tableId: fills ?? tableId, path, committedAt: now() });
      });
    },

    /** Call after the data is deleted: until then the row prevents its adoption as a table. Idempotent. */
    async abandon({ tableId }: Reservation): Promise<void> {
      await append(async (sql) =>
        sql.deleteFrom('tables').where('id', '=', tableId).where('state', '=', 'reserved').execute(),
      );
    },

    /**
     * For a creator that has ended: prevents publication, and lists the data for deletion. `undefined` if it was
     * published.
     */
    async giveUp({ tableId }: Reservation): Promise<Removal | undefined> {
      return append(async (sql) => {
        const reserved = sql.selectFrom('tables').selectAll().where('id', '=', tableId).where('state', '=', 'reserved');
        const row = await reserved.executeTakeFirst();
        return row && removeRow(sql, row, context);
      });
    },

    /** Whether a publication whose reply was lost was committed. */
    async isPublished({ tableId, fills = tableId, location }: Reservation): Promise<boolean> {
      await requireDurable();
      const row = await read(async (sql) =>
        sql.selectFrom('tables').select(['state', 'placeDirectory']).where('id', '=', fills).executeTakeFirst(),
      );
      return row?.state === 'published' && row.placeDirectory === location.directory;
    },

    /** Reservations left by interrupted work, except those of live nodes. */
    async unfinished() {
      const rows = await read(async (sql) =>
        sql
          .selectFrom('tables')
          .selectAll()
          .where((where) => {
            const nodes = where.selectFrom('nodes').select('nodes.id').whereRef('nodes.id', '=', 'tables.nodeId');
            return where.not(where.exists(nodes.where('nodes.aliveUntil', '>', clock.value)));
          })
          .where((where) => where.or([where('state', '=', 'reserved'), where('heldVersion', 'is not', null)]))
          .orderBy('id')
          .execute(),
      );
      const reserved = rows.filter((row) => row.state === 'reserved');
      return {
        reservations: reserved.map(({ id: tableId, databaseId, path, ...row }): Reservation => {
          return { tableId, databaseId, path: toTablePath(path), location: toLocation(row, roots) };
        }),
        held: rows.filter((row) => row.state !== 'reserved').map((row) => toTableRecord(row, roots)),
      };
    },
  };
}

async function publishTable(sql: Sql, { tableId, path }: Reservation, { properties }: PublishEntry): Promise<void> {
  const result = await sql
    .updateTable('tables')
    .set({ state: 'published', properties: JSON.stringify(properties), nodeId: null })
    .where('id', '=', tableId)
    .where('state', '=', 'reserved')
    .executeTakeFirst();
  if (result.numUpdatedRows === 1n) return;
  const name = quoteForMessage(formatPath(path));
  throw new ServiceError('ConcurrentModification', `The creation of the table ${name} was abandoned.`);
}

/** The declared table takes over the new data, and gives up its previous, empty location. */
async function fillDeclared(sql: Sql, reservation: Required<Reservation>, entry: PublishEntry): Promise<void> {
  const { tableId, path, fills } = reservation;
  const declared = sql.selectFrom('tables').selectAll().where('id', '=', fills).where('state', '=', 'declared');
  const row = await declared.where('path', '=', toPathText(path)).executeTakeFirst();
  if (row === undefined) throw tableExists(path);
  const written = await sql
    .selectFrom('tables')
    .select(['placeKind', 'placeRoot', 'placeDirectory', 'enginePath', 'location'])
    .where('id', '=', tableId)
    .executeTakeFirstOrThrow();
  await sql.deleteFrom('tables').where('id', '=', tableId).execute();
  const properties = JSON.stringify({ ...toProperties(row.properties), ...entry.properties });
  const columns = { state: 'published', properties, ...written } as const;
  await sql.updateTable('tables').set(columns).where('id', '=', fills).execute();
}
