import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { readSync, readdirSync, renameSync } from 'node:fs';
import { stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../errors/service-error.ts';
import { VERSIONS, manifestPaths, toManifests } from '../format/layout.ts';
import { findMessage, requireOwnFiles } from '../format/manifest.ts';
import { isMissing } from '../sync/file-sync.ts';
import { findLocalFolder } from './folders.ts';

/** A folder that the engine ignores. */
const QUARANTINE = '_quarantine';

export function findManifest(folder: string, version: number): string {
  const name = manifestPaths(version).find((each) => existsSync(join(folder, each)));
  if (name === undefined) throw new Error(`The manifest of version ${version} was not found.`);
  return name;
}

/** Synchronous: every write calls it, and the thread pool would cost more. */
export function readManifestFile(folder: string, version: number): Buffer | undefined {
  for (const name of manifestPaths(version)) {
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
      const message = 'The storage does not allow the server to remove a version.';
      throw new ServiceError('ServiceUnavailable', message, { cause, retryAfterSeconds: 30 });
    });
  }
}

/** Refuses a version whose manifest names files outside the table's folder. */
export function refuseForeignFiles(folder: string, version: number): void {
  requireOwnFiles(readFileSync(join(folder, findManifest(folder, version))));
}

/**
 * Moves the newest manifest of a table or branch aside if it is incomplete, and returns its version. A crash of the
 * machine can leave an empty or torn one; the engine then opens nothing, although the previous version is intact.
 *
 * Synchronous from the check to the move: while the torn manifest has the name, no complete one can be committed under
 * it.
 */
export function quarantineTornManifest(folder: string): number | undefined {
  const manifests = toManifests(listNames(join(folder, VERSIONS)));
  // Without an earlier version there is nothing to go back to: a damaged table must not look like a missing one.
  if (manifests.length < 2) return undefined;
  const newest = manifests.reduce((one, other) => (other.version > one.version ? other : one));
  if (inspectFile(join(folder, VERSIONS, newest.name), findMessage) !== undefined) return undefined;
  mkdirSync(join(folder, QUARANTINE), { recursive: true });
  renameSync(join(folder, VERSIONS, newest.name), join(folder, QUARANTINE, `${newest.name}.${Date.now()}`));
  return newest.version;
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
