import { ServiceError } from '../../errors/service-error.ts';
import { nameOf, namespaceOf } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableLocation, TableRecord } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry } from '../journal/transactions.ts';
import { requireNamespaceId } from '../namespaces/namespace-rows.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import type { TableRow } from '../schema/rows.ts';
import { toStorageDirectory } from '../storage-roots.ts';
import type { StorageRoots } from '../storage-roots.ts';
import type { Sql } from '../store.ts';
import { releaseRow } from './lifecycle.ts';
import type { Recorded } from './lifecycle.ts';
import { insertTable, toLocationColumns, toTableRecord, toTableRow, visibleTables } from './table-rows.ts';
import type { NewTableRow } from './table-rows.ts';

interface NewDeclaration {
  readonly databaseId: string;
  readonly path: TablePath;
  readonly root: string;
  readonly properties: Readonly<Record<string, string>>;
}

interface NewRegistration extends Omit<NewDeclaration, 'root'> {
  readonly location: TableLocation;
  /** Whether a table that has the path is deregistered for it. */
  readonly replaces: boolean;
}

/** Whose data are at a location. */
type LocationOwner =
  | { readonly kind: 'table'; readonly table: TableRecord }
  /** A table was deregistered from it, which had this path. */
  | { readonly kind: 'released'; readonly path: TablePath }
  /** Data that are being written or deleted. */
  | { readonly kind: 'unfinished' };

type RecordedTable = Recorded & { readonly table: TableRecord };

/** Tables whose data this service did not write. */
export function createDeclarationStore({ read, write, append, roots, now }: CatalogContext) {
  return {
    /** A table without data, at a new location: the caller writes them there. */
    async declare({ root, ...declaration }: NewDeclaration, entry: CommitEntry): Promise<RecordedTable> {
      const createdAt = now();
      const id = createId(createdAt);
      const directory = toStorageDirectory(nameOf(declaration.path), id);
      const location: TableLocation = { kind: 'listed', root, directory };
      const table = { ...declaration, id, location, state: 'declared', createdAt } as const;
      return append(async (sql) => insertRecorded(sql, table, { entry, roots }));
    },

    async register({ replaces, ...registration }: NewRegistration, entry: CommitEntry): Promise<RecordedTable> {
      return write(async (sql) => {
        const createdAt = now();
        if (replaces) await releaseAt(sql, registration, createdAt);
        await requireFree(sql, toLocationColumns(registration.location, roots).location);
        const table = { ...registration, id: createId(createdAt), state: 'published', createdAt } as const;
        return insertRecorded(sql, table, { entry, roots });
      });
    },

    /** The data of a declared table were found. */
    async promote(tableId: string): Promise<void> {
      await append(async (sql) => {
        const declared = sql.updateTable('tables').where('id', '=', tableId).where('state', '=', 'declared');
        await declared.set({ state: 'published' }).execute();
      });
    },

    async findOwner(databaseId: string, location: string): Promise<LocationOwner | undefined> {
      return read(async (sql) => findOwner(sql, { databaseId, location: roots.toStored(location), roots }));
    },

    /** By the address in replies; of any database. */
    async findByLocation(location: string): Promise<TableRecord | undefined> {
      const row = await read(async (sql) => findAt(sql, roots.toStored(location)));
      return row === undefined || row.state === 'reserved' ? undefined : toTableRecord(row, roots);
    },
  };
}

type NewTable = Omit<NewTableRow, 'namespaceId' | 'pathText' | 'createdBy'> & { readonly path: TablePath };

async function insertRecorded(
  sql: Sql,
  table: NewTable,
  { entry, roots }: { readonly entry: CommitEntry; readonly roots: StorageRoots },
): Promise<RecordedTable> {
  const { id: tableId, databaseId, path, createdAt: committedAt } = table;
  const namespaceId = await requireNamespaceId(sql, databaseId, namespaceOf(path));
  const row = toTableRow({ ...table, namespaceId, pathText: toPathText(path), createdBy: entry.caller }, roots);
  await insertTable(sql, path, row);
  await sql.deleteFrom('releases').where('location', '=', row.location).execute();
  const transactionId = await recordTransaction(sql, { ...entry, databaseId, tableId, path, committedAt });
  return { table: toTableRecord(row, roots), transactionId };
}

type PathOfDatabase = Pick<NewDeclaration, 'databaseId' | 'path'>;

async function releaseAt(sql: Sql, { databaseId, path }: PathOfDatabase, releasedAt: number): Promise<void> {
  const tables = visibleTables(sql).where('database_id', '=', databaseId);
  const row = await tables.where('path', '=', toPathText(path)).executeTakeFirst();
  if (row !== undefined) await releaseRow(sql, row, releasedAt);
}

async function requireFree(sql: Sql, location: string): Promise<void> {
  if ((await findAt(sql, location)) === undefined && !(await isBeingRemoved(sql, location))) return;
  throw new ServiceError('InvalidTableState', 'The location belongs to another table.', {
    hint: 'Data can belong to one table only.',
  });
}

async function findOwner(
  sql: Sql,
  { databaseId, location, roots }: { databaseId: string; location: string; roots: StorageRoots },
): Promise<LocationOwner | undefined> {
  const row = await findAt(sql, location);
  if (row !== undefined) {
    return row.state === 'reserved' ? { kind: 'unfinished' } : { kind: 'table', table: toTableRecord(row, roots) };
  }
  if (await isBeingRemoved(sql, location)) return { kind: 'unfinished' };
  const releases = sql.selectFrom('releases').select('path').where('database_id', '=', databaseId);
  const release = await releases.where('location', '=', location).executeTakeFirst();
  return release && { kind: 'released', path: toTablePath(release.path) };
}

async function findAt(sql: Sql, location: string): Promise<TableRow | undefined> {
  return sql.selectFrom('tables').selectAll().where('location', '=', location).executeTakeFirst();
}

async function isBeingRemoved(sql: Sql, location: string): Promise<boolean> {
  const row = await sql.selectFrom('removals').select('id').where('location', '=', location).executeTakeFirst();
  return row !== undefined;
}
