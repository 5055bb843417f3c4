import { access, readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../errors/service-error.ts';
import { MAIN_BRANCH, locationUri } from '../../model/table.ts';
import { isMissing } from '../sync/file-sync.ts';
import { findLocalFolder } from './root-folder.ts';
import { manifestName, readManifest } from '../format/manifest.ts';
import type { ManifestAddress } from '../storage.ts';

/** Below the location of the table: as an address where the location is one. */
export function manifestPath({ location, branch, version, isCountedDown }: ManifestAddress): string {
  const isMain = branch === undefined || branch === MAIN_BRANCH;
  const folder = `${locationUri(location)}/${isMain ? '' : `tree/${branch}/`}_versions`;
  return `${folder}/${isCountedDown ? manifestName(version) : `${version}.manifest`}`;
}

/** The name of a manifest in a folder of versions, under either naming. */
export async function findManifest(folder: string, version: number): Promise<string> {
  for (const name of [manifestName(version), `${version}.manifest`]) {
    const isThere = await access(join(folder, name)).then(
      () => true,
      () => false,
    );
    if (isThere) return name;
  }
  throw new Error(`The manifest of version ${version} was not found.`);
}

export async function readManifestFile(folder: string, version: number): Promise<Buffer> {
  return readFile(join(folder, await findManifest(folder, version)));
}

export async function measureManifest(path: string): Promise<number | undefined> {
  return stat(findLocalFolder(path) ?? path).then(
    ({ size }) => size,
    () => undefined,
  );
}

export async function removeManifests(paths: readonly string[]): Promise<void> {
  for (const path of paths) await removeManifest(findLocalFolder(path) ?? path);
}

async function removeManifest(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (cause) {
    if (isMissing(cause)) return;
    throw new ServiceError('ServiceUnavailable', 'The storage does not let the service remove a version.', {
      cause,
      retryAfterSeconds: 30,
    });
  }
}

/** `Manifest.base_paths` of Lance's table.proto. */
const BASE_PATHS_FIELD = 18;

/**
 * Refuses a version whose manifest names folders beside the table's own, as the engine's shallow clones do: whoever could
 * register such a table could read any other by it.
 */
export async function refuseForeignFiles(folder: string, version: number): Promise<void> {
  const manifest = readManifest(await readManifestFile(join(folder, '_versions'), version));
  if (!manifest.has(BASE_PATHS_FIELD)) return;
  throw new ServiceError('InvalidInput', 'The table at the location refers to files outside of its directory.', {
    hint: 'Copy the rows to a table of its own.',
  });
}
