import type { Quota } from './access.ts';
import type { TablePath } from './identifier.ts';
import type { IndexTuning } from './tuning/search-tuning.ts';

/** Used by requests that name no database. */
export const DEFAULT_DATABASE = 'default';

/** Every table has it; used by requests that name no branch. */
export const MAIN_BRANCH = 'main';

/** A tenant: its storage root is a local folder or an object-store address. */
export interface Database {
  readonly id: string;
  readonly name: string;
  readonly root: string;
  /** Absent if it has none. */
  readonly quota?: Quota | undefined;
}

/** Whether a root is an address in an object store, not a folder. */
export function isObjectRoot(root: string): boolean {
  return root.includes('://');
}

/**
 * `listed`: created by the service, in a directory that it named. `namespaced`: adopted, and opened by the engine's
 * path.
 */
export type TableLocation =
  | { readonly kind: 'listed'; readonly root: string; readonly directory: string }
  | {
      readonly kind: 'namespaced';
      readonly root: string;
      readonly enginePath: readonly string[];
      readonly directory: string;
    };

/** A published table in the catalog. */
export interface TableRecord {
  readonly id: string;
  readonly databaseId: string;
  readonly path: TablePath;
  readonly location: TableLocation;
  readonly properties: Readonly<Record<string, string>>;
  /** The id of the caller who created it. */
  readonly createdBy?: string;
  /**
   * Set during a write of several commits: readers see this version until the write is recorded; a crash restores it.
   */
  readonly heldVersion: number | undefined;
  /** The branch of `heldVersion`; the main branch if absent. */
  readonly heldBranch?: string;
  /** On an object store: the version that readers of the main branch get. If absent, they ask the store. */
  readonly recordedVersion?: number | undefined;
  /** For its vector indexes; absent if there are none. */
  readonly tunings?: readonly IndexTuning[];
  /** Only declared: its data may not exist, now or ever. */
  readonly isDeclared?: true;
}

/** For use where many tables are kept in memory: properties can be large. */
export type ActiveTable = Omit<TableRecord, 'properties'>;

/** What a listing contains about a table. */
export type TableSummary = Omit<ActiveTable, 'createdBy' | 'tunings'>;

export interface TableState {
  readonly location: TableLocation;
  readonly branch: string | undefined;
  readonly version: number | undefined;
  /** The latest version, if it is known without asking the store. */
  readonly recorded?: RecordedVersion | undefined;
}

/** A state as a caller names it. */
export type StateRequest = Partial<Pick<TableState, 'branch' | 'version'>>;

/** The requested state; by default the latest version, or the held one while a write takes several commits. */
export function toTableState(table: TableSummary, request: StateRequest): TableState {
  const branch = request.branch === MAIN_BRANCH ? undefined : request.branch;
  const held = branch === table.heldBranch ? table.heldVersion : undefined;
  const version = request.version ?? held;
  const state = { location: table.location, branch, version };
  if (table.recordedVersion === undefined || branch !== undefined || version !== undefined) return state;
  return { ...state, recorded: { tableId: table.id, version: table.recordedVersion } };
}

/** The version of a table that readers get, according to the catalog. */
export interface RecordedVersion {
  readonly tableId: string;
  readonly version: number;
}

/** Equal texts mean that a read returns the same rows, in any process and at any time. */
export interface ContentIdentity {
  readonly text: string;
  /** The version that a read must have seen to match this identity; `undefined` for the latest one. */
  readonly version: number | undefined;
}

/** Whether the catalog named the directory: slug and id. If it is not listed, it is a leftover, not a user's table. */
export function isOwnDirectory(directory: string): boolean {
  return /-[0-9a-hjkmnp-tv-z]{26}$/.test(directory);
}

/** Every read needs these several times, and a string that is reused is hashed only once. */
const keys = new WeakMap<TableLocation, { readonly location: string; readonly main: string }>();

/** The key of caches and write queues. */
export function locationKey(location: TableLocation): string {
  return keysOf(location).location;
}

export function branchKey(location: TableLocation, branch = MAIN_BRANCH): string {
  const { location: key, main } = keysOf(location);
  return branch === MAIN_BRANCH ? main : toBranchKey(key, branch);
}

function keysOf(location: TableLocation) {
  const known = keys.get(location);
  if (known !== undefined) return known;
  const key = `${location.root}\u0000${location.kind}\u0000${location.directory}`;
  const created = { location: key, main: toBranchKey(key, MAIN_BRANCH) };
  keys.set(location, created);
  return created;
}

function toBranchKey(key: string, branch: string): string {
  return `${key}\u0000${branch}`;
}

/** A location as callers write it, as a plain path if it is a file URI; empty if the URI is malformed. */
export function readLocation(text: string): string {
  const trimmed = text.replace(/\/+$/, '');
  if (!trimmed.startsWith('file://')) return trimmed;
  try {
    const { host, pathname } = new URL(trimmed);
    return host === '' ? decodeURIComponent(pathname) : '';
  } catch {
    return '';
  }
}

/** The URI under which an embedded client opens the table. */
export function locationUri(location: TableLocation): string {
  const folder = location.kind === 'listed' ? `${location.directory}.lance` : location.directory;
  return `${location.root.replace(/\/+$/, '')}/${folder}`;
}

/** The table property that pauses automatic maintenance. */
export const MAINTENANCE_PROPERTY = 'tiltyard.maintenance';

export const MAINTENANCE_PAUSED = 'paused';
export const MAINTENANCE_AUTOMATIC = 'automatic';

export function isMaintenancePaused({ properties }: Pick<TableRecord, 'properties'>): boolean {
  return properties[MAINTENANCE_PROPERTY] === MAINTENANCE_PAUSED;
}

/** The table property that makes external writers commit through the service. */
export const MANAGED_PROPERTY = 'managed_versioning';

/** Whether external writers commit their versions through the service. */
export function isManaged({ properties }: Pick<TableRecord, 'properties'>): boolean {
  return properties[MANAGED_PROPERTY] === 'true';
}

/** Metadata of a version from the external writer that commits it. */
export interface VersionMetadata {
  readonly entries: Readonly<Record<string, string>>;
  /** As in the manifest. Identifies the version: a branch that is created again reuses version numbers. */
  readonly committedAtMicroseconds: number;
}

/** `other`: an operation that is not listed here. `unknown`: the transaction file cannot be read. */
export type CommitKind =
  | 'append'
  | 'delete'
  | 'overwrite'
  | 'index'
  | 'drop-index'
  | 'rewrite'
  | 'merge'
  | 'restore'
  | 'reserve'
  | 'update'
  | 'project'
  | 'config'
  | 'other'
  | 'unknown';

export interface Commit {
  readonly version: number;
  readonly kind: CommitKind;
  /** The version that the writer read; 0 when unknown. */
  readonly readVersion: number;
  /** For a restore: the version whose contents were committed again. */
  readonly restoredVersion: number | undefined;
  /** Identifies the transaction across the versions of its retries. */
  readonly transactionId: string | undefined;
  /** Rows of the added fragments, including those rewritten by an update or upsert. `undefined` if not recorded. */
  readonly addedRows: number | undefined;
  /** Rows of the version, without deleted ones. `undefined` if not recorded, as in manifests of old engines. */
  readonly rows: number | undefined;
}

/** Index builds and compactions, which run concurrently with writers and change no rows. */
export function isMaintenance(kind: CommitKind): boolean {
  return kind === 'index' || kind === 'rewrite' || kind === 'reserve';
}
