import { ServiceError } from '../errors/service-error.ts';
import type { Commit, CommitKind, TableLocation } from '../model/table.ts';
import type { CloneFolder } from './clone/clone-folder.ts';
import type { NewSchema } from './format/empty-manifest.ts';
import type { RowLayout } from './format/row-layout.ts';

/** A storage root: a folder of a local disk, or a prefix of an object store. Every location that is passed in is below it. */
export interface Storage {
  /** No version that was the latest within this time may be removed: a delayed commit could take its number again. */
  readonly retentionSecondsMin: number;
  /** At the start of the server: refuses a store that cannot hold tables safely. */
  verifyRoot(): Promise<void>;
  /** Creates the root folder. For a new database and the server start; nothing else creates it. */
  ensureRoot(): Promise<void>;
  /** Refuses when the root folder is missing or is not a folder, and a store that was not verified. */
  requireRoot(): Promise<void>;
  /** Refuses a path that is not a plain directory below the root: missing, a file, or behind a link. */
  requirePlainDirectory(segments: readonly string[]): Promise<void>;
  /** Refuses a path below the root where something is, or that leads through a link or a file. */
  requireUnused(segments: readonly string[]): Promise<void>;
  /** Whether the root holds a directory of this name. */
  hasDirectory(name: string): Promise<boolean>;

  /** Of the main branch, or another. */
  watchVersions(location: TableLocation, branch?: string): Promise<VersionWatch>;
  manifestPath(version: ManifestAddress): string;
  /** Moves the newest manifest of a table or a branch aside if a crash left it torn, and gives its version. */
  quarantineTornManifest(location: TableLocation, branch: string | undefined): number | undefined;
  /** The commits after a version, oldest first. `undefined`: the branch has no folder. */
  readCommits(
    location: TableLocation,
    branch: string | undefined,
    afterVersion: number,
  ): Promise<readonly Commit[] | undefined>;
  /**
   * Commits an earlier version again, as the one right after the base version. False: another commit was faster. Absent
   * where the engine's own restore is as exact, because no commit can be late.
   */
  readonly restoreVersion?: (
    location: TableLocation,
    branch: string | undefined,
    restore: { readonly version: number; readonly baseVersion: number },
  ) => Promise<boolean>;
  /** Commits other metadata of the schema, as the version right after the base. False: another commit was faster. */
  replaceSchemaMetadata(
    location: TableLocation,
    branch: string | undefined,
    update: SchemaMetadataUpdate,
  ): Promise<boolean>;
  /** Commits a version without rows that has another schema, right after the base. False: another commit was faster. */
  commitEmpty(location: TableLocation, branch: string | undefined, version: EmptyVersion): Promise<boolean>;
  /** `undefined`: the manifest does not hold its transaction. */
  inspectCommit(
    location: TableLocation,
    branch: string | undefined,
    version: number,
  ): Promise<InspectedCommit | undefined>;
  /** Reads a manifest that an external writer has staged, and refuses what must not become a version. Changes nothing. */
  openSubmitted(location: TableLocation, submission: Submission): Promise<SubmittedManifest>;
  /** Refuses a version whose manifest names files outside of the table's directory. */
  refuseForeignFiles(location: TableLocation, version: number): Promise<void>;
  /** The file of a tag or a branch. `undefined`: not there, or not as expected. */
  readRefFile(location: TableLocation, kind: 'tags' | 'branches', name: string): Promise<RefFile | undefined>;

  /** To change a tag. Absent where the engine may do it, because no change can be late. */
  readonly openTag?: (location: TableLocation, name: string) => Promise<TagFile>;

  /**
   * Prepares the folder where the engine first writes the file of a branch, and returns what removes it again. Refuses where it
   * cannot be. Absent where the engine needs none.
   */
  readonly stageRefs?: (location: TableLocation) => Promise<() => Promise<void>>;

  /** The files of a table, to clone it or to be the clone. */
  openCloneFolder(location: TableLocation): CloneFolder;
  /** Removes all files of a table that no catalog knows. Nothing there is fine. */
  removeFolder(location: TableLocation): Promise<void>;
  /** Removes the files of a branch, its versions first. Those of other branches stay, also where they lie below it. */
  removeBranch(location: TableLocation, branch: string, others: readonly string[]): Promise<void>;
  removeManifests(paths: readonly string[]): Promise<void>;
  /** In bytes. `undefined`: no such file. */
  measureManifest(path: string): Promise<number | undefined>;
  /** All files of a table, in bytes. */
  measureTable(location: TableLocation): Promise<number>;
  /** Rows and data files of a version, as its manifest has them. `undefined`: not recorded. */
  measureVersion(
    location: TableLocation,
    branch: string | undefined,
    version: number,
  ): Promise<VersionSize | undefined>;
  /** The highest number of a fragment up to a version: those of later commits are above it. `undefined`: not known. */
  readLastFragment(location: TableLocation, branch: string | undefined, version: number): Promise<number | undefined>;
  /** Where a version of a branch has its rows. `undefined`: its manifest was not found. */
  readRowLayout(location: TableLocation, branch: string | undefined, version: number): Promise<RowLayout | undefined>;
  /** Removes files that a killed writer left under a temporary name, and gives how many. */
  sweepUnfinishedFiles(location: TableLocation, olderThanMilliseconds: number): Promise<number>;

  /** Call before the engine commits. Refuses a table whose disk failed. */
  beginSync(location: TableLocation): Promise<SyncScope>;
  /** Makes durable what a former process may have committed since then. */
  syncSince(location: TableLocation, sinceMilliseconds: number): Promise<void>;
  /** Drops the sync state of a table that was removed. */
  forget(location: TableLocation): void;
}

export type { FragmentRows, RowLayout } from './format/row-layout.ts';

export interface VersionSize {
  /** Without deleted ones. */
  readonly rows: number;
  /** Of data files: neither indexes nor what only earlier versions use. */
  readonly bytes: number;
}

/** The files of a commit, as they are stored. */
export interface InspectedCommit {
  readonly kind: CommitKind;
  /** Rows of the fragments that the commit added. */
  readonly addedRows: number | undefined;
  /** All files that it added are there, and whole. */
  readonly isIntact: boolean;
  /** Indexes that it added. */
  readonly indexNames: readonly string[];
}

/** One write's use of the sync state of its table. */
export interface SyncScope {
  /** Resolves when all that was committed to the table so far is durable. Concurrent callers share one sync. */
  sync(): Promise<void>;
  /** To be called exactly once, whatever happened. */
  end(): void;
}

/**
 * Detects new versions of a table cheaply. The engine would list all versions, half a millisecond for a thousand. Every
 * commit adds an entry to the folder of versions, which changes the folder's timestamp.
 */
export interface VersionWatch {
  /** The current stamp of the folder, or `undefined` when there is none to go by. */
  read(): Stamp | undefined;
  /** Whether the folder has this version. */
  has(version: number): boolean;
}

export interface Stamp {
  readonly text: string;
  /** The clock has left the tick in which the folder changed last: no later change can have the same stamp. */
  readonly isSettled: boolean;
}

export interface ManifestAddress {
  readonly location: TableLocation;
  /** The main one when absent. */
  readonly branch: string | undefined;
  readonly version: number;
  /** How the table names its manifests: new tables count down, old ones use the version itself. */
  readonly isCountedDown: boolean;
}

/** How a table names its manifests: V2 counts down, V1 is the version itself. */
export type NamingScheme = 'V1' | 'V2';

/** What an external writer says of a manifest that it has staged next to the versions. */
export interface Submission {
  readonly version: number;
  /** The main one when absent. */
  readonly branch: string | undefined;
  /** Below the root of the object store, as clients have it; or an address. */
  readonly manifestPath: string;
  readonly manifestSize: number | undefined;
  readonly namingScheme: NamingScheme | undefined;
  /** A larger manifest is refused. */
  readonly bytesMax: number;
}

/** A staged manifest, read and checked. */
export interface SubmittedManifest extends Pick<Commit, 'kind' | 'addedRows'> {
  readonly content: Buffer;
  readonly transactionId: string;
  readonly size: VersionSize | undefined;
  /** The time of the version, as the engine reports it. */
  readonly committedAtMicroseconds: number;
  /** Of the manifest once it is published: its file, and the address. */
  readonly name: string;
  readonly path: string;
  /** Makes exactly these bytes the version. `undefined`: that version exists. */
  publish(): Promise<{ readonly eTag: string | undefined } | undefined>;
  /** Removes the staged file. */
  discard(): Promise<void>;
}

/** A version that the service commits itself, as the one right after the base. */
export interface NextVersion {
  readonly baseVersion: number;
  readonly transactionId: string;
}

export interface SchemaMetadataUpdate extends NextVersion {
  /** All pairs that the schema has from then on. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface EmptyVersion extends NextVersion, NewSchema {}

/** A tag as it was read. Changes are refused with false when others have changed it since. */
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
