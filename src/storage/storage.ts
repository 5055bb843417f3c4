import { ServiceError } from '../errors/service-error.ts';
import type { Commit, CommitKind, TableLocation } from '../model/table.ts';
import type { CloneFolder } from './clone/clone-folder.ts';
import type { NewSchema } from './format/empty-manifest.ts';
import type { RowLayout } from './format/row-layout.ts';

/**
 * A storage root: a folder on a local disk, or a prefix in an object store. Every location passed in must be below it.
 */
export interface Storage {
  /** No version that was the latest within this time may be removed: a delayed commit could reuse its number. */
  readonly retentionSecondsMin: number;
  /** Called at server start: refuses a store that cannot store tables safely. */
  verifyRoot(): Promise<void>;
  /** Creates the root folder. Only for a new database and at server start. */
  ensureRoot(): Promise<void>;
  /** Refuses if the root folder is missing or not a folder, or the store was not verified. */
  requireRoot(): Promise<void>;
  /** Refuses a path that is not a plain directory below the root: missing, a file, or behind a link. */
  requirePlainDirectory(segments: readonly string[]): Promise<void>;
  /** Refuses a path below the root that exists, or that leads through a link or a file. */
  requireUnused(segments: readonly string[]): Promise<void>;
  /** Whether the root contains a directory of this name. */
  hasDirectory(name: string): Promise<boolean>;

  /** Watches the main branch, or another one. */
  watchVersions(location: TableLocation, branch?: string): Promise<VersionWatch>;
  manifestPath(version: ManifestAddress): string;
  /** Moves the newest manifest of a table or branch aside if a crash left it torn, and returns its version. */
  quarantineTornManifest(location: TableLocation, branch: string | undefined): number | undefined;
  /** The commits after a version, oldest first. `undefined` if the branch has no folder. */
  readCommits(
    location: TableLocation,
    branch: string | undefined,
    afterVersion: number,
  ): Promise<readonly Commit[] | undefined>;
  /**
   * Commits an earlier version again, right after the base version. False if another commit came first. Absent where no
   * commit can be late, so that the engine's own restore is safe.
   */
  readonly restoreVersion?: (
    location: TableLocation,
    branch: string | undefined,
    restore: { readonly version: number; readonly baseVersion: number },
  ) => Promise<boolean>;
  /** Commits other schema metadata, right after the base. False if another commit came first. */
  replaceSchemaMetadata(
    location: TableLocation,
    branch: string | undefined,
    update: SchemaMetadataUpdate,
  ): Promise<boolean>;
  /**
   * Commits a version without rows and with another schema, right after the base. False if another commit came first.
   */
  commitEmpty(location: TableLocation, branch: string | undefined, version: EmptyVersion): Promise<boolean>;
  /** `undefined` if the manifest does not contain its transaction. */
  inspectCommit(
    location: TableLocation,
    branch: string | undefined,
    version: number,
  ): Promise<InspectedCommit | undefined>;
  /**
   * Reads a manifest that an external writer has staged, and refuses what must not become a version. Changes nothing.
   */
  openSubmitted(location: TableLocation, submission: Submission): Promise<SubmittedManifest>;
  /** Refuses a version whose manifest names files outside the table's directory. */
  refuseForeignFiles(location: TableLocation, version: number): Promise<void>;
  /** The file of a tag or branch. `undefined` if it is missing or malformed. */
  readRefFile(location: TableLocation, kind: 'tags' | 'branches', name: string): Promise<RefFile | undefined>;

  /** Opens a tag to change it. Absent where no change can be late, so that the engine may change tags. */
  readonly openTag?: (location: TableLocation, name: string) => Promise<TagFile>;

  /**
   * Prepares the folder to which the engine first writes the file of a branch, and returns a function that removes it.
   * Refuses if the folder cannot be created. Absent where the engine needs none.
   */
  readonly stageRefs?: (location: TableLocation) => Promise<() => Promise<void>>;

  /** The files of a table, as the source or target of a clone. */
  openCloneFolder(location: TableLocation): CloneFolder;
  /** Removes all files of a table that no catalog knows. Missing files are ignored. */
  removeFolder(location: TableLocation): Promise<void>;
  /**
   * Removes the files of a branch, its versions first. Keeps those of other branches, even if their paths are below it.
   */
  removeBranch(location: TableLocation, branch: string, others: readonly string[]): Promise<void>;
  removeManifests(paths: readonly string[]): Promise<void>;
  /** In bytes. `undefined` if there is no such file. */
  measureManifest(path: string): Promise<number | undefined>;
  /** The size of all files of a table, in bytes. */
  measureTable(location: TableLocation): Promise<number>;
  /** Rows and data files of a version, according to its manifest. `undefined` if not recorded. */
  measureVersion(
    location: TableLocation,
    branch: string | undefined,
    version: number,
  ): Promise<VersionSize | undefined>;
  /** The highest fragment number up to a version; those of later commits are higher. `undefined` if unknown. */
  readLastFragment(location: TableLocation, branch: string | undefined, version: number): Promise<number | undefined>;
  /** Where a version of a branch stores its rows. `undefined` if its manifest was not found. */
  readRowLayout(location: TableLocation, branch: string | undefined, version: number): Promise<RowLayout | undefined>;
  /** Removes files that a killed writer left under a temporary name, and returns how many. */
  sweepUnfinishedFiles(location: TableLocation, olderThanMilliseconds: number): Promise<number>;

  /** Call it before the engine commits. Refuses a table whose disk failed. */
  beginSync(location: TableLocation): Promise<SyncScope>;
  /** Makes durable what an earlier process may have committed since then. */
  syncSince(location: TableLocation, sinceMilliseconds: number): Promise<void>;
  /** Drops the sync state of a table that was removed. */
  forget(location: TableLocation): void;
}

export type { FragmentRows, RowLayout } from './format/row-layout.ts';

export interface VersionSize {
  /** Excludes deleted rows. */
  readonly rows: number;
  /** The size of data files, without indexes and files that only earlier versions use. */
  readonly bytes: number;
}

/** The files of a commit, as stored. */
export interface InspectedCommit {
  readonly kind: CommitKind;
  /** Rows of the fragments that the commit added. */
  readonly addedRows: number | undefined;
  /** Whether all files that it added exist and are complete. */
  readonly isIntact: boolean;
  /** The names of indexes that it added. */
  readonly indexNames: readonly string[];
}

/** One write's use of the sync state of its table. */
export interface SyncScope {
  /** Resolves when everything committed to the table so far is durable. Concurrent callers share one sync. */
  sync(): Promise<void>;
  /** Must be called exactly once, even after failures. */
  end(): void;
}

/**
 * Detects new versions of a table cheaply. The engine would list all versions, which takes half a millisecond for a
 * thousand. Every commit adds an entry to the folder of versions, which changes the folder's timestamp.
 */
export interface VersionWatch {
  /** The current stamp of the folder, or `undefined` if none is reliable. */
  read(): Stamp | undefined;
  /** Whether the folder has this version. */
  has(version: number): boolean;
}

export interface Stamp {
  readonly text: string;
  /** The clock has passed the tick of the folder's last change, so no later change can have the same stamp. */
  readonly isSettled: boolean;
}

export interface ManifestAddress {
  readonly location: TableLocation;
  /** The main branch if absent. */
  readonly branch: string | undefined;
  readonly version: number;
  /** How the table names its manifests: new tables count down, old ones use the version itself. */
  readonly isCountedDown: boolean;
}

/** How a table names its manifests: V2 counts down, V1 is the version itself. */
export type NamingScheme = 'V1' | 'V2';

/** How an external writer describes a manifest that it has staged next to the versions. */
export interface Submission {
  readonly version: number;
  /** The main branch if absent. */
  readonly branch: string | undefined;
  /** Relative to the root of the object store, as clients have it; or an address. */
  readonly manifestPath: string;
  readonly manifestSize: number | undefined;
  readonly namingScheme: NamingScheme | undefined;
  /** Larger manifests are refused. */
  readonly bytesMax: number;
}

/** A staged manifest, read and checked. */
export interface SubmittedManifest extends Pick<Commit, 'kind' | 'addedRows'> {
  readonly content: Buffer;
  readonly transactionId: string;
  readonly size: VersionSize | undefined;
  /** The time of the version, as the engine reports it. */
  readonly committedAtMicroseconds: number;
  /** The file name and the address of the manifest once it is published. */
  readonly name: string;
  readonly path: string;
  /** Publishes exactly these bytes as the version. `undefined` if that version exists. */
  publish(): Promise<{ readonly eTag: string | undefined } | undefined>;
  /** Removes the staged file. */
  discard(): Promise<void>;
}

/** A version that the service commits itself, right after the base. */
export interface NextVersion {
  readonly baseVersion: number;
  readonly transactionId: string;
}

export interface SchemaMetadataUpdate extends NextVersion {
  /** All metadata of the schema from now on. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface EmptyVersion extends NextVersion, NewSchema {}

/** A tag as it was read. Changes return false if the tag has changed since. */
export interface TagFile {
  readonly exists: boolean;
  /** Creates or moves it. Refuses a version that does not exist. */
  write(target: { readonly branch: string | undefined; readonly version: number }): Promise<boolean>;
  remove(): Promise<boolean>;
}

export type RefFile = Readonly<Record<string, unknown>>;

export function locationUsed(): ServiceError {
  return new ServiceError('InvalidTableState', 'There are files at the location.', {
    hint: 'Register them as a table, or choose another location.',
  });
}
