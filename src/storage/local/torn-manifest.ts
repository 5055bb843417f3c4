import { closeSync, fstatSync, mkdirSync, openSync, readSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing } from '../sync/file-sync.ts';
import { findMessage, readManifestName } from '../format/manifest.ts';

/** A folder that the engine does not look into. */
const QUARANTINE = '_quarantine';

/**
 * Moves the newest manifest of a table, or of a branch, out of the way if it is not whole, and gives its version. A crash
 * of the machine can leave an empty or a torn one; the engine then opens nothing, although the version before is there.
 *
 * Synchronous from the look to the move: as long as the torn one has the name, nobody can commit a whole one under it.
 */
export function quarantineTornManifest(folder: string): number | undefined {
  const versions = join(folder, '_versions');
  const newest = findNewest(versions);
  if (newest === undefined || isWhole(join(versions, newest.name))) return undefined;
  mkdirSync(join(folder, QUARANTINE), { recursive: true });
  renameSync(join(versions, newest.name), join(folder, QUARANTINE, `${newest.name}.${Date.now()}`));
  return newest.version;
}

interface Manifest {
  readonly name: string;
  readonly version: number;
}

function findNewest(versions: string): Manifest | undefined {
  let newest: Manifest | undefined;
  let count = 0;
  for (const name of listNames(versions)) {
    const version = readManifestName(name);
    if (version === undefined) continue;
    count += 1;
    if (version > (newest?.version ?? -1)) newest = { name, version };
  }
  // Without a version before there is nothing to go back to: a table that is damaged must not look like one that is gone.
  return count > 1 ? newest : undefined;
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isWhole(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const readAt = (start: number, length: number): Buffer => {
      const bytes = Buffer.alloc(length);
      readSync(file, bytes, 0, length, start);
      return bytes;
    };
    return findMessage(fstatSync(file).size, readAt) !== undefined;
  } finally {
    closeSync(file);
  }
}
