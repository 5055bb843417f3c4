import type { TablePath } from './identifier.ts';

/** The database that a request is about when it names none. */
export const DEFAULT_DATABASE = 'default';

/** The branch that every table has, and that is meant when none is named. */
export const MAIN_BRANCH = 'main';

/** A tenant: its storage root is a local folder or an object-store address. */
export interface Database {
  readonly id: string;
  readonly name: string;
  readonly root: string;
}

/**
 * Where the engine finds a table's data. Tables that we make are `listed`: a directory of our own naming below the root.
 * Adopted tables of the engine's own namespaces are `namespaced`: opened by the engine's path, as it wrote them.
 */
export type TableLocation =
  | { readonly kind: 'listed'; readonly root: string; readonly directory: string }
  | {
      readonly kind: 'namespaced';
      readonly root: string;
      readonly enginePath: readonly string[];
      readonly directory: string;
    };

/** A published table as the catalog knows it. */
export interface TableRecord {
  readonly id: string;
  readonly databaseId: string;
  readonly path: TablePath;
  readonly location: TableLocation;
  readonly properties: Readonly<Record<string, string>>;
  /**
   * Set while a write of several commits is under way: readers see this version, not the latest, until the last chunk is
   * in. After a crash the table is restored to it.
   */
  readonly heldVersion: number | undefined;
  /** The branch that is held; the main one when absent. */
  readonly heldBranch?: string;
  /** Set for a table that was only declared, as far as the catalog knows: its data may not be there, now or ever. */
  readonly isDeclared?: true;
}

/** What a read is about: a table, and which of its states. */
export interface TableState {
  readonly location: TableLocation;
  readonly branch: string | undefined;
  readonly version: number | undefined;
}

/**
 * Whether a directory has the form that the catalog gives: a slug and an id. One that the catalog does not list is litter
 * of ours, not somebody's table.
 */
export function isOwnDirectory(directory: string): boolean {
  return /-[0-9a-hjkmnp-tv-z]{26}$/.test(directory);
}

/** A stable text for a location: key of caches and lanes. */
export function locationKey(location: TableLocation): string {
  return `${location.root}\u0000${location.kind}\u0000${location.directory}`;
}

/** The same for one branch of a table. */
export function branchKey(location: TableLocation, branch: string | undefined): string {
  return `${locationKey(location)}\u0000${branch ?? MAIN_BRANCH}`;
}

/** The address that an embedded client opens the table by. */
export function locationUri(location: TableLocation): string {
  const folder = location.kind === 'listed' ? `${location.directory}.lance` : location.directory;
  return `${location.root.replace(/\/+$/, '')}/${folder}`;
}

/** The property of a table that tells whether it is put in order without being asked. */
export const MAINTENANCE_PROPERTY = 'tiltyard.maintenance';

export const MAINTENANCE_PAUSED = 'paused';
export const MAINTENANCE_AUTOMATIC = 'automatic';

export function isMaintenancePaused({ properties }: Pick<TableRecord, 'properties'>): boolean {
  return properties[MAINTENANCE_PROPERTY] === MAINTENANCE_PAUSED;
}
