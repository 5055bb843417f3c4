import type { TableLocation, TableRecord } from '../../model/table.ts';
import { locationUri } from '../../model/table.ts';
import { toTablePath } from '../path-text.ts';
import type { LocationRow, TableRow } from '../schema/rows.ts';
import type { StorageRoots } from '../storage-roots.ts';
import { ServiceError } from '../../errors/service-error.ts';
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

/** `branch` is absent for the main one. */
export interface HeldState {
  readonly version: number;
  readonly branch?: string | undefined;
}

/** From now on readers of the branch see this version. Refused while another is held. */
export async function holdVersion(sql: Sql, tableId: string, { version, branch }: HeldState): Promise<void> {
  const row = await sql
    .selectFrom('tables')
    .select(['held_version', 'held_branch'])
    .where('id', '=', tableId)
    .where('state', '!=', 'reserved')
    .executeTakeFirst();
  if (row === undefined) throw new ServiceError('TableNotFound', 'The table does not exist any more.');
  const isSame = row.held_version === version && row.held_branch === (branch ?? null);
  if (row.held_version !== null && !isSame) {
    throw new ServiceError('ConcurrentModification', 'Another request is writing a lot of data to the table.');
  }
  const held = { held_version: version, held_branch: branch ?? null };
  await sql.updateTable('tables').set(held).where('id', '=', tableId).execute();
}

export async function releaseVersion(sql: Sql, tableId: string): Promise<void> {
  const free = { held_version: null, held_branch: null };
  await sql.updateTable('tables').set(free).where('id', '=', tableId).execute();
}
