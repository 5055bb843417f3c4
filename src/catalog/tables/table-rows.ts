import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableLocation, TableRecord } from '../../model/table.ts';
import { locationUri } from '../../model/table.ts';
import { toTablePath } from '../path-text.ts';
import type { LocationRow, TableRow } from '../schema/rows.ts';
import type { StorageRoots } from '../storage-roots.ts';
import type { Sql } from '../store.ts';

export function toTableRecord(row: TableRow, roots: StorageRoots): TableRecord {
  return {
    id: row.id,
    databaseId: row.database_id,
    path: toTablePath(row.path),
    location: toLocation(row, roots),
    properties: toProperties(row.properties),
    heldVersion: row.held_version ?? undefined,
    ...(row.held_branch === null ? {} : { heldBranch: row.held_branch }),
    ...(row.state === 'declared' ? { isDeclared: true } : {}),
  };
}

export function toLocation(row: LocationRow, roots: StorageRoots): TableLocation {
  const { place_kind: kind, place_directory: directory } = row;
  const root = roots.fromStored(row.place_root);
  if (kind === 'listed') return { kind, root, directory };
  // Written by `toLocationColumns`, from a list of texts.
  const enginePath: readonly string[] = JSON.parse(row.engine_path ?? '[]');
  return { kind, root, enginePath, directory };
}

export function toLocationColumns(location: TableLocation, roots: StorageRoots): LocationRow {
  const root = roots.toStored(location.root);
  return {
    place_kind: location.kind,
    place_root: root,
    place_directory: location.directory,
    engine_path: location.kind === 'namespaced' ? JSON.stringify(location.enginePath) : null,
    location: locationUri({ ...location, root }),
  };
}

export function toProperties(text: string): Readonly<Record<string, string>> {
  // Only ever written from a record of texts.
  const properties: Readonly<Record<string, string>> = JSON.parse(text);
  return properties;
}

/** Published and declared tables. */
export function visibleTables(sql: Sql) {
  return sql.selectFrom('tables').selectAll().where('state', '!=', 'reserved');
}

export interface NewTableRow {
  readonly id: string;
  readonly databaseId: string;
  readonly namespaceId: string | null;
  readonly pathText: string;
  readonly state: TableRow['state'];
  readonly location: TableLocation;
  readonly properties?: Readonly<Record<string, string>>;
  readonly createdBy: string;
  readonly createdAt: number;
}

export function toTableRow({ location, properties = {}, ...table }: NewTableRow, roots: StorageRoots): TableRow {
  return {
    id: table.id,
    database_id: table.databaseId,
    namespace_id: table.namespaceId,
    path: table.pathText,
    state: table.state,
    ...toLocationColumns(location, roots),
    properties: JSON.stringify(properties),
    held_version: null,
    held_branch: null,
    created_by: table.createdBy,
    created_at: table.createdAt,
  };
}

/** Refuses a path that is taken. From now on the path no longer leads to a table that was renamed from it. */
export async function insertTable(sql: Sql, path: TablePath, row: TableRow): Promise<void> {
  const result = await sql
    .insertInto('tables')
    .values(row)
    .onConflict((conflict) => conflict.columns(['database_id', 'path']).doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows !== 1n) throw tableExists(path);
  await deleteRename(sql, row.database_id, row.path);
}

export async function deleteRename(sql: Sql, databaseId: string, pathText: string): Promise<void> {
  await sql.deleteFrom('renames').where('database_id', '=', databaseId).where('path', '=', pathText).execute();
}

export function tableExists(path: TablePath): ServiceError {
  return new ServiceError('TableAlreadyExists', `The table ${quoteForMessage(formatPath(path))} already exists.`);
}

/** `branch` is absent for the main one. */
export interface HeldState {
  readonly version: number;
  readonly branch?: string | undefined;
}

/** From now on readers of the branch see this version. Refused while another is held. */
export async function holdVersion(sql: Sql, tableId: string, held: HeldState): Promise<void> {
  const { version, branch = null } = held;
  const row = await visibleTables(sql).where('id', '=', tableId).executeTakeFirst();
  if (row === undefined) throw new ServiceError('TableNotFound', 'The table does not exist any more.');
  const isSame = row.held_version === version && row.held_branch === branch;
  if (row.held_version !== null && !isSame) {
    throw new ServiceError('ConcurrentModification', 'Another request is writing a lot of data to the table.');
  }
  const columns = { held_version: version, held_branch: branch };
  await sql.updateTable('tables').set(columns).where('id', '=', tableId).execute();
}

export async function releaseVersion(sql: Sql, tableId: string): Promise<void> {
  const released = { held_version: null, held_branch: null };
  await sql.updateTable('tables').set(released).where('id', '=', tableId).execute();
}
