import type { TableLocation, TableRecord } from '../model/table.ts';
import { locationUri } from '../model/table.ts';
import { toTablePath } from './path-text.ts';
import type { PlaceRow, TableRow } from './rows.ts';
import type { StorageRoots } from './storage-roots.ts';

export function toTableRecord(row: TableRow, roots: StorageRoots): TableRecord {
  return {
    id: row.id,
    databaseId: row.database_id,
    path: toTablePath(row.path),
    location: toPlace(row, roots),
    properties: toProperties(row.properties),
    heldVersion: row.held_version ?? undefined,
    ...(row.held_branch === null ? {} : { heldBranch: row.held_branch }),
    ...(row.state === 'declared' ? { isDeclared: true } : {}),
  };
}

export function toPlace(row: PlaceRow, roots: StorageRoots): TableLocation {
  const { place_kind: kind, place_directory: directory } = row;
  const root = roots.fromStored(row.place_root);
  if (kind === 'listed') return { kind, root, directory };
  // Written by `toPlaceColumns`, from a list of texts.
  const enginePath: readonly string[] = JSON.parse(row.engine_path ?? '[]');
  return { kind, root, enginePath, directory };
}

export function toPlaceColumns(location: TableLocation, roots: StorageRoots): PlaceRow {
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
