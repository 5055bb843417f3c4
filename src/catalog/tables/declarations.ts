import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, nameOf, namespaceOf, quoteForMessage } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableLocation, TableRecord } from '../../model/table.ts';
import type { CatalogContext } from '../context.ts';
import { createId } from '../ids.ts';
import { requireNamespaceId } from '../namespaces/namespace-rows.ts';
import { toPathText, toTablePath } from '../path-text.ts';
import { forgetRename } from './removals-and-renames.ts';
import type { TableRow } from '../schema/rows.ts';
import { toStorageDirectory } from '../storage-roots.ts';
import type { StorageRoots } from '../storage-roots.ts';
import type { Sql } from '../store.ts';
import { toLocationColumns, toTableRecord } from './table-rows.ts';
import { recordTransaction } from '../journal/transactions.ts';
import type { CommitEntry } from '../journal/transactions.ts';

export interface NewDeclaration {
  readonly databaseId: string;
  readonly path: TablePath;
  readonly root: string;
  readonly properties: Readonly<Record<string, string>>;
}

export interface NewRegistration {
  readonly databaseId: string;
  readonly path: TablePath;
  readonly location: TableLocation;
  readonly properties: Readonly<Record<string, string>>;
  /** Whether a table that has the path is deregistered for it. */
  readonly replaces: boolean;
}

/** Whose data stand at a location. */
export type LocationOwner =
  | { readonly kind: 'table'; readonly table: TableRecord }
  /** A table was deregistered from it, which had this path. */
  | { readonly kind: 'released'; readonly path: TablePath }
  /** Data that are being written, or being removed. */
  | { readonly kind: 'unfinished' };

export interface NewRecord {
  readonly table: TableRecord;
  readonly transactionId: string;
}

export interface DeclarationStore {
  /** A table without data, at a location of its own: whoever asked for it writes them. */
  declare(declaration: NewDeclaration, entry: CommitEntry): Promise<NewRecord>;
  /** A table of data that are there. */
  register(registration: NewRegistration, entry: CommitEntry): Promise<NewRecord>;
  /** The data of a declared table were found. */
  promote(tableId: string): Promise<void>;
  findOwner(databaseId: string, location: string): Promise<LocationOwner | undefined>;
  /** By the address that replies give; of any database. */
  findByLocation(location: string): Promise<TableRecord | undefined>;
}

export function createDeclarationStore(context: CatalogContext): DeclarationStore {
  const { read, write, append, roots, now } = context;
  return {
    async declare({ databaseId, path, root, properties }, entry) {
      const id = createId(now());
      const location: TableLocation = { kind: 'listed', root, directory: toStorageDirectory(nameOf(path), id) };
      return append(async (sql) =>
        insertTable(sql, {
          id,
          databaseId,
          path,
          location,
          properties,
          state: 'declared',
          entry,
          roots,
          createdAt: now(),
        }),
      );
    },

    async register({ replaces, ...registration }, entry) {
      return write(async (sql) => {
        const createdAt = now();
        const id = createId(createdAt);
        const { location } = toLocationColumns(registration.location, roots);
        if (replaces) await releaseAt(sql, registration, createdAt);
        await requireFree(sql, location);
        return insertTable(sql, { ...registration, id, state: 'published', entry, roots, createdAt });
      });
    },

    async promote(tableId) {
      await append(async (sql) =>
        sql
          .updateTable('tables')
          .set({ state: 'published' })
          .where('id', '=', tableId)
          .where('state', '=', 'declared')
          .execute(),
      );
    },

    async findOwner(databaseId, location) {
      return read(async (sql) => findOwner(sql, { databaseId, location: roots.toStored(location), roots }));
    },

    async findByLocation(location) {
      const row = await read(async (sql) => findAt(sql, roots.toStored(location)));
      return row === undefined || row.state === 'reserved' ? undefined : toTableRecord(row, roots);
    },
  };
}

interface TableValues {
  readonly id: string;
  readonly databaseId: string;
  readonly path: TablePath;
  readonly location: TableLocation;
  readonly properties: Readonly<Record<string, string>>;
  readonly state: TableRow['state'];
  readonly entry: CommitEntry;
  readonly roots: StorageRoots;
  readonly createdAt: number;
}

async function insertTable(sql: Sql, values: TableValues): Promise<NewRecord> {
  const { id, databaseId, path, location, entry, roots, createdAt } = values;
  const row: TableRow = {
    id,
    database_id: databaseId,
    namespace_id: await requireNamespaceId(sql, databaseId, namespaceOf(path)),
    path: toPathText(path),
    state: values.state,
    ...toLocationColumns(location, roots),
    properties: JSON.stringify(values.properties),
    held_version: null,
    held_branch: null,
    created_by: entry.caller,
    created_at: createdAt,
  };
  const insert = sql.insertInto('tables').values(row);
  const result = await insert
    .onConflict((conflict) => conflict.columns(['database_id', 'path']).doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows !== 1n) {
    throw new ServiceError('TableAlreadyExists', `The table ${quoteForMessage(formatPath(path))} already exists.`);
  }
  await sql.deleteFrom('releases').where('location', '=', row.location).execute();
  await forgetRename(sql, databaseId, row.path);
  const transactionId = await recordTransaction(sql, {
    ...entry,
    databaseId,
    tableId: id,
    path,
    committedAt: createdAt,
  });
  return { table: toTableRecord(row, roots), transactionId };
}

async function releaseAt(sql: Sql, { databaseId, path }: { databaseId: string; path: TablePath }, releasedAt: number) {
  const row = await sql
    .selectFrom('tables')
    .selectAll()
    .where('database_id', '=', databaseId)
    .where('path', '=', toPathText(path))
    .where('state', '!=', 'reserved')
    .executeTakeFirst();
  if (row !== undefined) await releaseRow(sql, row, releasedAt);
}

/** Takes the table away and keeps its data for their owner. */
export async function releaseRow(sql: Sql, row: TableRow, releasedAt: number): Promise<void> {
  await sql.deleteFrom('tables').where('id', '=', row.id).execute();
  const values = { location: row.location, database_id: row.database_id, path: row.path, released_at: releasedAt };
  await sql.insertInto('releases').values(values).execute();
}

async function requireFree(sql: Sql, location: string): Promise<void> {
  const table = await findAt(sql, location);
  const removal = await findRemovalAt(sql, location);
  if (table === undefined && !removal) return;
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
  if (await findRemovalAt(sql, location)) return { kind: 'unfinished' };
  const release = await sql
    .selectFrom('releases')
    .select('path')
    .where('database_id', '=', databaseId)
    .where('location', '=', location)
    .executeTakeFirst();
  return release === undefined ? undefined : { kind: 'released', path: toTablePath(release.path) };
}

async function findAt(sql: Sql, location: string): Promise<TableRow | undefined> {
  return sql.selectFrom('tables').selectAll().where('location', '=', location).executeTakeFirst();
}

async function findRemovalAt(sql: Sql, location: string): Promise<boolean> {
  const row = await sql.selectFrom('removals').select('id').where('location', '=', location).executeTakeFirst();
  return row !== undefined;
}
