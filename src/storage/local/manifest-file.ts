import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { readSync, readdirSync, renameSync } from 'node:fs';
import { stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { MAIN_BRANCH, locationUri } from '../../model/table.ts';
import { findMessage, manifestName, readManifest, readManifestName } from '../format/manifest.ts';
import type { ManifestAddress } from '../storage.ts';
import { isMissing } from '../sync/file-sync.ts';
import { findLocalFolder } from './folders.ts';

const VERSIONS = '_versions';
/** A folder that the engine does not look into. */
const QUARANTINE = '_quarantine';

/** Below the location of the table: as an address where the location is one. */
export function manifestPath({ location, branch, version, isCountedDown }: ManifestAddress): string {
  const isMain = branch === undefined || branch === MAIN_BRANCH;
  const folder = `${locationUri(location)}/${isMain ? '' : `tree/${branch}/`}${VERSIONS}`;
  return `${folder}/${isCountedDown ? manifestName(version) : `${version}.manifest`}`;
}

/** Below the folder of a table or a branch, under either naming. */
function toNames(version: number): readonly string[] {
  return [manifestName(version), `${version}.manifest`].map((name) => join(VERSIONS, name));
}

export function findManifest(folder: string, version: number): string {
  const name = toNames(version).find((each) => existsSync(join(folder, each)));
  if (name === undefined) throw new Error(`The manifest of version ${version} was not found.`);
  return name;
}

/** Synchronous: every write asks, and a trip through the thread pool costs more. */
export function readManifestFile(folder: string, version: number): Buffer | undefined {
  for (const name of toNames(version)) {
    try {
      return readFileSync(join(folder, name));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return undefined;
}

export async function measureManifest(path: string): Promise<number | undefined> {
  return stat(findLocalFolder(path) ?? path).then(
    ({ size }) => size,
    () => undefined,
  );
}

export async function removeManifests(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await unlink(findLocalFolder(path) ?? path).catch((cause: unknown) => {
      if (isMissing(cause)) return;
      const message = 'The storage does not let the service remove a version.';
      throw new ServiceError('ServiceUnavailable', message, { cause, retryAfterSeconds: 30 });
    });
  }
}

/** `Manifest.base_paths` of Lance's table.proto. */
const BASE_PATHS_FIELD = 18;

/**
 * Refuses a version whose manifest names folders beside the table's own, as the engine's shallow clones do: a caller who
 * could register such a table could read any other through it.
 */
export function refuseForeignFiles(folder: string, version: number): void {
  const file = readFileSync(join(folder, findManifest(folder, version)));
  if (!readManifest(file).has(BASE_PATHS_FIELD)) return;
  const hint = 'Copy the rows to a table of its own.';
  throw invalidInput('The table at the location refers to files outside of its directory.', hint);
}

/**
 * Moves the newest manifest of a table, or of a branch, aside if it is not whole, and gives its version. A crash of the
 * machine can leave an empty or a torn one; the engine then opens nothing, although the version before is there.
 *
 * Synchronous from the check to the move: while the torn one has the name, no whole one can be committed under it.
 */
export function quarantineTornManifest(folder: string): number | undefined {
  const manifests = toManifests(listNames(join(folder, VERSIONS)));
  // Without a version before there is nothing to go back to: a damaged table must not look like a missing one.
  if (manifests.length < 2) return undefined;
  const newest = manifests.reduce((one, other) => (other.version > one.version ? other : one));
  if (inspectFile(join(folder, VERSIONS, newest.name), findMessage) !== undefined) return undefined;
  mkdirSync(join(folder, QUARANTINE), { recursive: true });
  renameSync(join(folder, VERSIONS, newest.name), join(folder, QUARANTINE, `${newest.name}.${Date.now()}`));
  return newest.version;
}

/** The manifests among the names of a folder of versions. */
export function toManifests(names: readonly string[]): readonly { readonly name: string; readonly version: number }[] {
  return names.flatMap((name) => {
    const version = readManifestName(name);
    return version === undefined ? [] : [{ name, version }];
  });
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Reads parts of a file; bytes past its end are zeros. */
export function inspectFile<Value>(
  path: string,
  inspect: (size: number, readAt: (start: number, length: number) => Buffer) => Value,
): Value {
  const file = openSync(path, 'r');
  try {
    const readAt = (start: number, length: number): Buffer => {
      const bytes = Buffer.alloc(length);
      readSync(file, bytes, 0, length, start);
      return bytes;
    };
    return inspect(fstatSync(file).size, readAt);
  } finally {
    closeSync(file);
  }
}
