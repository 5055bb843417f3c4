import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import {
  DATA_FILE,
  DELETION_FILE,
  FRAGMENT,
  INDEX,
  INDEX_FILE,
  INDICES_FIELD,
  OVERLAY_DATA_FILE,
  indexFolder,
  listIndexFiles,
  toDeletionFile,
} from '../format/fragments.ts';
import type { WrittenFile } from '../format/fragments.ts';
import { branchPath } from '../format/layout.ts';
import { BASE_PATHS_FIELD, BASE_PATHS_FLAG, readManifest, readSection } from '../format/manifest.ts';
import { readMessage } from '../format/protobuf.ts';
import type { Message } from '../format/protobuf.ts';

/** What the manifest of an external writer must match. */
export interface ManifestFacts {
  readonly version: number;
  /** The main branch if absent. */
  readonly branch: string | undefined;
  /** The folder of the table, in every form in which a branch may refer to it. */
  readonly tableUris: ReadonlySet<string>;
}

/** A file that a manifest names. */
export interface NamedFile extends WrittenFile {
  /** The folder that the path is relative to, below the table's folder. Absent if it is the manifest's own. */
  readonly base: string | undefined;
}

/** Fields of `Manifest`, `BasePath` and `ExternalFile` in Lance's table.proto. */
const MANIFEST = { fragments: 2, version: 3, indexSection: 6, readerFlags: 9, writerFlags: 10, branch: 20 } as const;
const BASE_PATH = { id: 1, isTableRoot: 3, path: 4 } as const;
const EXTERNAL_FILE = { path: 1 } as const;
const UUID_BYTES_FIELD = 1;
/** Fields of `Any`, and of `FragmentReuseIndexDetails`, whose contents may be in a file. */
const DETAILS = { type: 1, value: 2, externalFile: 2 } as const;

/**
 * Repeated fields and maps. Any other field may occur once: the engine merges repeated ones, but this code does not.
 */
const REPEATED = {
  manifest: new Set([1, 2, 5, 16, 18, 19]),
  fragment: new Set<number>([FRAGMENT.dataFiles, FRAGMENT.overlays]),
  dataFile: new Set<number>([DATA_FILE.fields, DATA_FILE.columns]),
  index: new Set<number>([INDEX.fields, INDEX.files, INDEX.covering]),
  none: new Set<number>(),
} as const;

/** Files with row ids and row versions. */
const EXTERNAL_FIELDS = [6, 8, 10] as const;

/** The feature flags that the engine knows: https://lance.org/format/table/versioning */
const KNOWN_FLAGS = 0b11_1111n;

/**
 * Refuses the manifest of an external writer unless it describes this version of this table, using only files of this
 * table. Returns all files that it names. The engine later reads the same bytes, with the permissions of the service.
 */
export function checkManifest(file: Buffer, facts: ManifestFacts): readonly NamedFile[] {
  try {
    return readNamedFiles(file, facts);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw malformed(error);
  }
}

export function malformed(cause?: unknown): ServiceError {
  return invalidInput('The file is not a manifest of the Lance format.', 'Write it with a Lance library.', cause);
}

function readNamedFiles(file: Buffer, { version, branch = MAIN_BRANCH, tableUris }: ManifestFacts) {
  const manifest = readManifest(file);
  requireSingular(manifest, REPEATED.manifest);
  if (manifest.bigint(MANIFEST.version) !== BigInt(version)) {
    throw invalidInput(`The manifest has the version ${manifest.bigint(MANIFEST.version)}, not ${version}.`);
  }
  const named = manifest.has(MANIFEST.branch) ? manifest.text(MANIFEST.branch) : MAIN_BRANCH;
  if (named !== branch) {
    throw invalidInput(`The manifest belongs to the branch ${quoteForMessage(named)}, not ${quoteForMessage(branch)}.`);
  }
  const bases = readBases(manifest, branch === MAIN_BRANCH ? NO_URIS : tableUris);
  requireKnownFlags(manifest, bases.size > 0);
  const fragments = manifest.messages(MANIFEST.fragments);
  requireUniqueIds(fragments);
  return [
    ...fragments.flatMap((fragment) => listFragmentFiles(fragment, bases)),
    ...readIndexes(file, manifest).flatMap((index) => listFilesOfIndex(index, bases)),
  ];
}

const NO_URIS: ReadonlySet<string> = new Set();

/** Folders below the table's folder, by the ids that files refer to. */
type Bases = ReadonlyMap<number, string>;

/** Only a branch has base paths: the folders of its table and of other branches. */
function readBases(manifest: Message, tableUris: ReadonlySet<string>): Bases {
  const bases = new Map<number, string>();
  for (const base of manifest.messages(BASE_PATHS_FIELD)) {
    requireSingular(base, REPEATED.none);
    const below = findBelow(trimSlashes(base.text(BASE_PATH.path)), tableUris);
    if (below === undefined || base.number(BASE_PATH.isTableRoot) !== 1) throw foreignFiles();
    bases.set(base.number(BASE_PATH.id), below);
  }
  return bases;
}

/** The path of a branch below its table; empty for the table itself, `undefined` for any other folder. */
function findBelow(path: string, tableUris: ReadonlySet<string>): string | undefined {
  if (tableUris.has(path)) return '';
  for (const uri of tableUris) {
    if (path.startsWith(`${uri}/${TREE}`)) return branchPath(path.slice(uri.length + 1 + TREE.length));
  }
  return undefined;
}

const TREE = 'tree/';

export function trimSlashes(path: string): string {
  return path.replace(/^\/+|\/+$/g, '');
}

function requireKnownFlags(manifest: Message, hasBases: boolean): void {
  const flags = manifest.bigint(MANIFEST.readerFlags) | manifest.bigint(MANIFEST.writerFlags);
  const known = hasBases ? KNOWN_FLAGS : KNOWN_FLAGS & ~BASE_PATHS_FLAG;
  if ((flags & ~known) === 0n) return;
  const hint = 'Write it without features that are newer than the engine of the server, and without base paths.';
  throw invalidInput('The manifest needs a feature that the server does not support.', hint);
}

function requireUniqueIds(fragments: readonly Message[]): void {
  const ids = new Set(fragments.map((fragment) => fragment.bigint(FRAGMENT.id)));
  if (ids.size < fragments.length) throw invalidInput('Two fragments of the manifest have the same id.');
}

function listFragmentFiles(fragment: Message, bases: Bases): readonly NamedFile[] {
  requireSingular(fragment, REPEATED.fragment);
  const overlays = fragment.messages(FRAGMENT.overlays).flatMap((overlay) => {
    requireSingular(overlay, REPEATED.none);
    return overlay.messages(OVERLAY_DATA_FILE);
  });
  const dataFiles = [...fragment.messages(FRAGMENT.dataFiles), ...overlays].map((dataFile) => {
    requireSingular(dataFile, REPEATED.dataFile);
    const bytes = dataFile.number(DATA_FILE.bytes);
    return {
      path: `data/${requirePlainPath(dataFile.text(DATA_FILE.path))}`,
      bytes: bytes === 0 ? undefined : bytes,
      ending: 'LANC',
      base: readBase(dataFile, DATA_FILE.base, bases),
    };
  });
  const deletions = fragment.messages(FRAGMENT.deletionFile).flatMap((deletion) => {
    requireSingular(deletion, REPEATED.none);
    const base = readBase(deletion, DELETION_FILE.base, bases);
    return toDeletionFile(fragment).map((file) => ({ ...file, base }));
  });
  const external = EXTERNAL_FIELDS.flatMap((field) => fragment.messages(field)).map(toExternalFile);
  return [...dataFiles, ...deletions, ...external];
}

function toExternalFile(file: Message): NamedFile {
  requireSingular(file, REPEATED.none);
  return { path: requirePlainPath(file.text(EXTERNAL_FILE.path)), bytes: undefined, base: undefined };
}

/** The folders of all indexes, relative to the table's folder. */
export function listIndexFolders(file: Buffer): readonly string[] {
  return readIndexes(file, readManifest(file)).map((index) => indexFolder(index, INDEX));
}

function readIndexes(file: Buffer, manifest: Message): readonly Message[] {
  if (!manifest.has(MANIFEST.indexSection)) return [];
  return readMessage(readSection(file, manifest.number(MANIFEST.indexSection))).messages(INDICES_FIELD);
}

function listFilesOfIndex(index: Message, bases: Bases): readonly NamedFile[] {
  requireSingular(index, REPEATED.index);
  const [id] = index.messages(INDEX.id);
  if (id === undefined || id.count(UUID_BYTES_FIELD) !== 1 || id.bytes(UUID_BYTES_FIELD)?.length !== 16) {
    throw malformed();
  }
  for (const file of index.messages(INDEX.files)) {
    requireSingular(file, REPEATED.none);
    requirePlainPath(file.text(INDEX_FILE.path));
  }
  const base = readBase(index, INDEX.base, bases);
  const files = listIndexFiles(index, { ...INDEX, base: undefined }).map((file) => ({ ...file, base }));
  return [...files, ...index.messages(INDEX.details).flatMap(listFilesOfDetails)];
}

/** Details have many types. Only those of fragment reuse can name a file. */
function listFilesOfDetails(details: Message): readonly NamedFile[] {
  requireSingular(details, REPEATED.none);
  if (!/FragmentReuseIndexDetails$/i.test(details.text(DETAILS.type))) return [];
  const content = readMessage(details.bytes(DETAILS.value) ?? new Uint8Array());
  requireSingular(content, REPEATED.none);
  return content.messages(DETAILS.externalFile).map(toExternalFile);
}

function readBase(file: Message, baseField: number, bases: Bases): string | undefined {
  if (!file.has(baseField)) return undefined;
  const base = bases.get(file.number(baseField));
  if (base === undefined) throw foreignFiles();
  return base;
}

function requireSingular(message: Message, repeated: ReadonlySet<number>): void {
  for (const field of message.fields) if (!repeated.has(field) && message.count(field) > 1) throw malformed();
}

const PATH = /^[A-Za-z0-9_][A-Za-z0-9_.=-]{0,200}(?:\/[A-Za-z0-9_][A-Za-z0-9_.=-]{0,200}){0,7}$/;

/** Refuses `..` and addresses: Lance libraries write names of letters and digits. */
function requirePlainPath(path: string): string {
  if (PATH.test(path)) return path;
  throw foreignFiles();
}

function foreignFiles(): ServiceError {
  const hint = 'Write all files below the location of the table.';
  return invalidInput('The manifest refers to files outside the table.', hint);
}
