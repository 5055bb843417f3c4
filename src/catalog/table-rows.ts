import type { Place, TableRecord } from '../model/table.ts';
import { placeLocation } from '../model/table.ts';
import { toTablePath } from './path-text.ts';
import type { PlaceRow, TableRow } from './rows.ts';
import type { StorageRoots } from './storage-roots.ts';

export function toTableRecord(row: TableRow, roots: StorageRoots): TableRecord {
  return {
    id: row.id,
    databaseId: row.database_id,
    path: toTablePath(row.path),
    place: toPlace(row, roots),
    properties: toProperties(row.properties),
    heldVersion: row.held_version ?? undefined,
    ...(row.held_branch === null ? {} : { heldBranch: row.held_branch }),
    ...(row.state === 'declared' ? { isDeclared: true } : {}),
  };
}

export function toPlace(row: PlaceRow, roots: StorageRoots): Place {
  const { place_kind: kind, place_directory: directory } = row;
  const root = roots.fromStored(row.place_root);
  if (kind === 'listed') return { kind, root, directory };
  // Written by `toPlaceColumns`, from a list of texts.
  const enginePath: readonly string[] = JSON.parse(row.engine_path ?? '[]');
  return { kind, root, enginePath, directory };
}

export function toPlaceColumns(place: Place, roots: StorageRoots): PlaceRow {
  const root = roots.toStored(place.root);
  return {
    place_kind: place.kind,
    place_root: root,
    place_directory: place.directory,
    engine_path: place.kind === 'namespaced' ? JSON.stringify(place.enginePath) : null,
    location: placeLocation({ ...place, root }),
  };
}

export function toProperties(text: string): Readonly<Record<string, string>> {
  // Only ever written from a record of texts.
  const properties: Readonly<Record<string, string>> = JSON.parse(text);
  return properties;
}
