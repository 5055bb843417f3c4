import { ServiceError } from '../../errors/service-error.ts';
import { namespaceOf } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { locationUri } from '../../model/table.ts';
import type { TableLocation, TableRecord } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry, Recorded } from '../journal/transactions.ts';
import { requireNamespaceId } from '../namespaces/namespace-rows.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import type { StorageRoots } from '../storage-roots.ts';
import type { Sql } from '../store.ts';
import { releaseRow } from './lifecycle.ts';
import {
  chooseLocation,
  findVisible,
  insertTable,
  tableExists,
  toTableRecord,
  toTableRow,
  visibleTables,
} from './table-rows.ts';
import type { NewTableRow } from './table-rows.ts';

export interface NewDeclaration {
  readonly databaseId: string;
  readonly path: TablePath;
  readonly root: string;
  /** Chosen by the catalog if absent. */
  readonly location?: TableLocation | undefined;
  readonly properties: Readonly<Record<string, string>>;
}

interface NewRegistration extends Omit<NewDeclaration, 'root' | 'location'> {
  readonly location: TableLocation;
  /** Whether to deregister an existing table at the path. */
  readonly replaces: boolean;
}

/** The owner of the data at a location. */
type LocationOwner =
  | { readonly kind: 'table'; readonly table: TableRecord }
  /** A deregistered table, which had this path. */
  | { readonly kind: 'released'; readonly path: TablePath }
  /** Data that is being written or deleted. */
  | { readonly kind: 'unfinished' };

type NewTable = Omit<NewTableRow, 'namespaceId' | 'path' | 'createdBy'> & { readonly path: TablePath };

export type RecordedTable = Recorded & { readonly table: TableRecord };

type InsertContext = Pick<CatalogContext, 'roots'>;

async function insert(sql: Sql, table: NewTable, entry: CommitEntry, { roots }: InsertContext): Promise<RecordedTable> {
  const { id: tableId, databaseId, path, createdAt: committedAt } = table;
  const namespaceId = await requireNamespaceId(sql, databaseId, namespaceOf(path));
  const row = toTableRow({ ...table, namespaceId, path: toPathText(path), createdBy: entry.caller }, roots);
  await insertTable(sql, path, row);
  await sql.deleteFrom('releases').where('location', '=', row.location).execute();
  const recorded = await recordTransaction(sql, { ...entry, databaseId, tableId, path, committedAt });
  return { ...recorded, table: toTableRecord(row, roots) };
}

/** A table without data, at a new location. */
export async function insertDeclaration(
  sql: Sql,
  { root, ...declaration }: NewDeclaration,
  entry: CommitEntry,
  { roots, now }: Pick<CatalogContext, 'roots' | 'now'>,
): Promise<RecordedTable> {
  const createdAt = now();
  const id = createId(createdAt);
  const { path, databaseId } = declaration;
  if (declaration.location !== undefined) {
    if ((await findVisible(sql, databaseId, path)) !== undefined) throw tableExists(path);
    await requireUnowned(sql, databaseId, declaration.location, roots);
  }
  const location = declaration.location ?? chooseLocation(root, path, id);
  return insert(sql, { ...declaration, id, location, state: 'declared', createdAt }, entry, { roots });
}

/** Refuses a location whose data belongs to another table. */
async function requireUnowned(
  sql: Sql,
  databaseId: string,
  location: TableLocation,
  roots: StorageRoots,
): Promise<void> {
  const owner = await findOwner(sql, { databaseId, location: roots.toStored(locationUri(location)), roots });
  if (owner !== undefined && owner.kind !== 'released') throw locationTaken();
}

async function findOwner(
  sql: Sql,
  {
    databaseId,
    location,
    roots,
  }: { readonly databaseId: string; readonly location: string; readonly roots: StorageRoots },
): Promise<LocationOwner | undefined> {
  const row = await sql.selectFrom('tables').selectAll().where('location', '=', location).executeTakeFirst();
  if (row?.state === 'reserved') return { kind: 'unfinished' };
  if (row !== undefined) return { kind: 'table', table: toTableRecord(row, roots) };
  const removal = await sql.selectFrom('removals').select('id').where('location', '=', location).executeTakeFirst();
  if (removal !== undefined) return { kind: 'unfinished' };
  const releases = sql.selectFrom('releases').select('path').where('databaseId', '=', databaseId);
  const release = await releases.where('location', '=', location).executeTakeFirst();
  return release && { kind: 'released', path: toTablePath(release.path) };
}

/** Tables whose data this service did not write. */
export function createDeclarationStore({ read, write, append, roots, now }: CatalogContext) {
  return {
    /** Declares a table without data, at a new location where the caller will write it. */
    async declare(declaration: NewDeclaration, entry: CommitEntry): Promise<RecordedTable> {
      return append(async (sql) => insertDeclaration(sql, declaration, entry, { roots, now }));
    },

    async register({ replaces, ...registration }: NewRegistration, entry: CommitEntry): Promise<RecordedTable> {
      const { databaseId, path, location } = registration;
      return write(async (sql) => {
        const createdAt = now();
        const former = await findVisible(sql, databaseId, path);
        if (former !== undefined && !replaces) throw tableExists(path);
        if (former !== undefined) await releaseRow(sql, former, createdAt);
        await requireUnowned(sql, databaseId, location, roots);
        const table = { ...registration, id: createId(createdAt), state: 'published', createdAt } as const;
        return insert(sql, table, entry, { roots });
      });
    },

    /** Publishes a declared table whose data was found. */
    async promote(tableId: string): Promise<void> {
      await append(async (sql) => {
        const declared = sql.updateTable('tables').where('id', '=', tableId).where('state', '=', 'declared');
        await declared.set({ state: 'published' }).execute();
      });
    },

    async findOwner(databaseId: string, location: string): Promise<LocationOwner | undefined> {
      return read(async (sql) => findOwner(sql, { databaseId, location: roots.toStored(location), roots }));
    },

    /** Finds a table of any database by its address in replies. */
    async findByLocation(location: string): Promise<TableRecord | undefined> {
      const stored = roots.toStored(location);
      const row = await read(async (sql) => visibleTables(sql).where('location', '=', stored).executeTakeFirst());
      return row && toTableRecord(row, roots);
    },
  };
}

function locationTaken(): ServiceError {
  return new ServiceError('InvalidTableState', 'The location belongs to another table.', {
    hint: 'A location can belong to only one table.',
  });
}
