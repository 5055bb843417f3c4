import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { versionExists } from '../../model/refusals.ts';
import { locationUri } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';
import { formatByteLimit, formatCount } from '../../model/value-text.ts';
import { readCommit, readCommittedAt, readVersionSize } from '../format/commit.ts';
import type { WrittenFile } from '../format/fragments.ts';
import { VERSIONS, branchPath, joinPath, manifestPath, manifestPaths } from '../format/layout.ts';
import { manifestName } from '../format/manifest.ts';
import type { NamingScheme, Submission, SubmittedManifest } from '../storage.ts';
import { checkManifest, malformed, trimSlashes } from './check-manifest.ts';
import type { ManifestFacts, NamedFile } from './check-manifest.ts';

/** The files of a table, by paths relative to its folder. */
export interface SubmissionFiles {
  /**
   * `undefined` if there is no such file, or it is not a plain one. For a file above the limit, returns more than
   * `bytesMax` bytes.
   */
  read(path: string, bytesMax?: number): Promise<Buffer | undefined>;
  /** Whether each of the files is a complete, plain file below the folder. */
  areWhole(files: readonly WrittenFile[]): Promise<boolean>;
  /** Makes files durable that other programs have written. */
  sync(paths: readonly string[]): Promise<void>;
  /** Whether the file was created. */
  putIfAbsent(path: string, content: Buffer): Promise<boolean>;
  /** The ETag that clients of the same store see. */
  findETag(path: string): Promise<string | undefined>;
  remove(path: string): Promise<void>;
}

/** More files in one commit would keep the store busy for minutes. */
const NEW_FILES_MAX = 100_000;

/**
 * Reads a manifest that an external writer has staged, once, and refuses what must not become a version. Exactly these
 * bytes are published later.
 */
export async function openSubmitted(
  files: SubmissionFiles,
  location: TableLocation,
  submission: Submission,
): Promise<SubmittedManifest> {
  const { version, branch, bytesMax } = submission;
  const below = requireBranchPath(branch);
  const inBranch = (path: string): string => joinPath(below, path);
  const stagedPath = inBranch(`${VERSIONS}/${readStagedName(location, below, submission)}`);
  // If the request is repeated, its staged file is gone.
  if ((await findManifest(files, inBranch, version, 1)) !== undefined) throw versionExists(version);
  const base = await findManifest(files, inBranch, version - 1, bytesMax);
  const scheme = chooseScheme(base?.scheme, submission.namingScheme);
  const content = await readStaged(files, stagedPath, submission);
  const facts = { version, branch, tableUris: listUris(location) };
  const named = checkManifest(content, facts);
  const commit = await readCommit(content, async (path) => files.read(inBranch(path), bytesMax)).catch(
    (error: unknown) => {
      throw malformed(error);
    },
  );
  const { transactionId, kind, addedRows } = commit;
  if (transactionId === undefined)
    throw invalidInput('The manifest does not identify the transaction that it commits.');
  const known = new Set(
    base === undefined ? [] : listKnown(base.content, { ...facts, version: version - 1 }).map(toKey),
  );
  const added = named.filter((file) => !known.has(toKey(file))).map((file) => toTablePath(file, below));
  if (added.length > NEW_FILES_MAX) {
    throw invalidInput(
      `The commit adds ${formatCount(added.length)} files; at most ${formatCount(NEW_FILES_MAX)} are allowed.`,
    );
  }
  if (!(await files.areWhole(added))) {
    throw invalidInput('Files that the manifest lists are missing or incomplete.', 'Write them before the manifest.');
  }
  const finalPath = inBranch(`${VERSIONS}/${finalName(version, scheme)}`);
  return {
    content,
    name: finalName(version, scheme),
    kind,
    addedRows,
    transactionId,
    size: readVersionSize(content),
    committedAtMicroseconds: readCommittedAt(content),
    path: manifestPath({ location, branch, version, isCountedDown: scheme === 'V2' }),
    async publish() {
      await files.sync(added.map(({ path }) => path));
      if (!(await files.putIfAbsent(finalPath, content))) return undefined;
      return { eTag: await files.findETag(finalPath).catch(() => undefined) };
    },
    discard: async () => files.remove(stagedPath),
  };
}

function requireBranchPath(branch: string | undefined): string {
  const path = branchPath(branch);
  if (path === undefined) throw invalidInput(`The branch name ${quoteForMessage(branch ?? '')} is not a path.`);
  return path;
}

/** The version may be missing: it may have been deleted, and a branch begins at the version that it forks from. */
async function findManifest(
  files: SubmissionFiles,
  inBranch: (path: string) => string,
  version: number,
  bytesMax: number,
): Promise<{ readonly content: Buffer; readonly scheme: NamingScheme } | undefined> {
  for (const [index, path] of manifestPaths(version).entries()) {
    const content = await files.read(inBranch(path), bytesMax);
    if (content !== undefined) return { content, scheme: index === 0 ? 'V2' : 'V1' };
  }
  return undefined;
}

function chooseScheme(used: NamingScheme | undefined, given: NamingScheme | undefined): NamingScheme {
  if (used === undefined || given === undefined || used === given) return used ?? given ?? 'V2';
  throw invalidInput(`The manifests of the table use the naming scheme ${used}, not ${given}.`);
}

function finalName(version: number, scheme: NamingScheme): string {
  return scheme === 'V2' ? manifestName(version) : `${version}.manifest`;
}

/**
 * The name of the staged file. A caller's path is never used as a path: it must be the folder of versions that the
 * service knows, followed by a name in the format of Lance libraries, which contains no separators.
 */
function readStagedName(location: TableLocation, below: string, { version, manifestPath: given }: Submission): string {
  const at = given.lastIndexOf('/');
  const name = given.slice(at + 1);
  const folders = new Set(
    [...listUris(location)].map((uri) => trimSlashes(`${uri}/${below === '' ? '' : `${below}/`}${VERSIONS}`)),
  );
  const isInFolder = [given, decode(given)].some((path) =>
    folders.has(path.slice(0, path.lastIndexOf('/')).replace(/^\/+/, '')),
  );
  const isNamed = (['V1', 'V2'] as const).some((scheme) => isStagedFor(name, finalName(version, scheme)));
  if (isInFolder && isNamed) return name;
  throw invalidInput(
    `manifest_path is not the path of a staged manifest of version ${version} of this table.`,
    `Write it to the folder ${VERSIONS} of the table or the branch, as ${finalName(version, 'V2')}-<uuid>.`,
  );
}

function isStagedFor(name: string, final: string): boolean {
  return name.startsWith(`${final}-`) && /^[A-Za-z0-9-]{1,64}$/.test(name.slice(final.length + 1));
}

/** Clients send the path in the form of their object store, in which some characters are escaped. */
function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The folder of a table as an address, and as the path that clients' object stores use. */
export function listUris(location: TableLocation): ReadonlySet<string> {
  const uri = locationUri(location);
  const path = uri.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/, '');
  return new Set([uri, `file://${path}`, path].map(trimSlashes));
}

async function readStaged(
  files: SubmissionFiles,
  path: string,
  { bytesMax, manifestSize }: Submission,
): Promise<Buffer> {
  const content = await files.read(path, bytesMax);
  if (content === undefined) throw invalidInput('There is no file at manifest_path.', 'Write it first.');
  if (content.length > bytesMax) {
    throw new ServiceError('PayloadTooLarge', `The manifest is larger than ${formatByteLimit(bytesMax)}.`, {
      hint: 'Compact the table, or ask an operator to raise engine.manifestBytesMax.',
    });
  }
  if (manifestSize === undefined || manifestSize === content.length) return content;
  throw invalidInput(`The manifest has ${content.length} bytes, not ${manifestSize} as in manifest_size.`);
}

/**
 * Files that the previous version names were checked when it was committed. A version in an unusual format proves
 * nothing.
 */
function listKnown(base: Buffer, facts: ManifestFacts): readonly NamedFile[] {
  try {
    return checkManifest(base, facts);
  } catch {
    return [];
  }
}

function toKey({ base, path, bytes }: NamedFile): string {
  return JSON.stringify([base, path, bytes]);
}

function toTablePath({ base, ...file }: NamedFile, below: string): WrittenFile {
  return { ...file, path: joinPath(base ?? below, file.path) };
}
