import type { NamespacePath, TablePath } from '../../model/identifier.ts';
import type { TableRecord } from '../../model/table.ts';
import { adoptTables } from './adoption.ts';
import type { FoundTable } from './adoption.ts';
import type { CatalogContext } from '../context.ts';
import { createLifecycleStore } from './lifecycle.ts';
import type { LifecycleStore } from './lifecycle.ts';
import { pathKey, rangeFrom, toPathText } from '../path-text.ts';
import { requireNamespaceId } from '../namespaces/namespace-rows.ts';
import { createReservationStore } from './reservations.ts';
import type { ReservationStore } from './reservations.ts';
import type { TableRow } from '../schema/rows.ts';
import type { Sql } from '../store.ts';
import { holdVersion, releaseVersion, toTableRecord } from './table-rows.ts';
import type { HeldState } from './table-rows.ts';

export type { HeldState } from './table-rows.ts';

export interface TablePage {
  readonly databaseId: string;
  /** The path of the last table that was seen. */
  readonly after?: TablePath;
  /** Only what stands at this path or lies below it, however deep. */
  readonly under?: NamespacePath;
  /** Only what stands directly in this namespace. */
  readonly inside?: NamespacePath;
  /** Only these. */
  readonly paths?: readonly TablePath[];
  readonly limit: number;
}

export interface TableStore extends ReservationStore, LifecycleStore {
  /** Published and declared tables. */
  find(databaseId: string, path: TablePath): Promise<TableRecord | undefined>;
  findAny(databaseId: string, path: TablePath): Promise<'absent' | TableRow['state']>;
  /** Under whatever name it has now. */
  findById(tableId: string): Promise<TableRecord | undefined>;
  /** Whether it is there still, under whatever name. */
  has(tableId: string): Promise<boolean>;
  /** Published and declared tables in the order of their paths, name by name, byte by byte. */
  list(page: TablePage): Promise<readonly TableRecord[]>;
  /** From now on readers of the branch see this version. Refused while another is held. */
  hold(tableId: string, held: HeldState): Promise<void>;
  release(tableId: string): Promise<void>;
  /** Makes missing namespaces and published tables of what was found; doing so again changes nothing. */
  adopt(databaseId: string, found: readonly FoundTable[]): Promise<number>;
}

export function createTableStore(context: CatalogContext): TableStore {
  const { read, write, caches, roots } = context;
  const cache = caches.create<TableRecord>();
  return {
    ...createReservationStore(context),
    ...createLifecycleStore(context),

    async find(databaseId, path) {
      return cache.find(pathKey(databaseId, path), async () => {
        const row = await read(async (sql) => findRow(sql, databaseId, path));
        return row === undefined || row.state === 'reserved' ? undefined : toTableRecord(row, roots);
      });
    },

    async findAny(databaseId, path) {
      const row = await read(async (sql) => findRow(sql, databaseId, path));
      return row?.state ?? 'absent';
    },

    async findById(tableId) {
      const row = await read(async (sql) =>
        sql
          .selectFrom('tables')
          .selectAll()
          .where('id', '=', tableId)
          .where('state', '!=', 'reserved')
          .executeTakeFirst(),
      );
      return row === undefined ? undefined : toTableRecord(row, roots);
    },

    async has(tableId) {
      const row = await read(async (sql) =>
        sql.selectFrom('tables').select('id').where('id', '=', tableId).executeTakeFirst(),
      );
      return row !== undefined;
    },

    async list(page) {
      const rows = await read(async (sql) => listRows(sql, page));
      return rows.map((row) => toTableRecord(row, roots));
    },

    async hold(tableId, held) {
      await write(async (sql) => holdVersion(sql, tableId, held));
    },

    async release(tableId) {
      await write(async (sql) => releaseVersion(sql, tableId));
    },

    async adopt(databaseId, found) {
      return adoptTables(context, databaseId, found);
    },
  };
}

async function findRow(sql: Sql, databaseId: string, path: TablePath): Promise<TableRow | undefined> {
  return sql
    .selectFrom('tables')
    .selectAll()
    .where('database_id', '=', databaseId)
    .where('path', '=', toPathText(path))
    .executeTakeFirst();
}

async function listRows(sql: Sql, page: TablePage): Promise<TableRow[]> {
  const { databaseId, after, under = [], inside, paths, limit } = page;
  const range = rangeFrom(under);
  let query = sql
    .selectFrom('tables')
    .selectAll()
    .where('database_id', '=', databaseId)
    .where('state', '!=', 'reserved');
  if (after !== undefined) query = query.where('path', '>', toPathText(after));
  if (range !== undefined) query = query.where('path', '>=', range.from).where('path', '<', range.before);
  if (paths !== undefined) query = query.where('path', 'in', paths.map(toPathText));
  if (inside !== undefined) {
    const namespaceId = await requireNamespaceId(sql, databaseId, inside);
    query =
      namespaceId === null ? query.where('namespace_id', 'is', null) : query.where('namespace_id', '=', namespaceId);
  }
  return query.orderBy('path').limit(limit).execute();
}
