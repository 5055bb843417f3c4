import { statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { manifestName } from '../format/manifest.ts';
import type { Stamp, VersionWatch } from '../storage.ts';

/** Knows nothing, so every read asks the engine. */
export const BLIND: VersionWatch = { read: () => undefined, has: () => false };

export async function watchVersions(table: string): Promise<VersionWatch> {
  if (!(await isLocalFileSystem(dirname(table)))) return BLIND;
  const folder = join(table, '_versions');
  return { read: oncePerTurn(() => readStamp(folder)), has: (version) => hasManifest(folder, version) };
}

/**
 * Calls that follow each other without waiting for an event share a value: what was acknowledged elsewhere before the
 * first call can only become known here in a later turn of the event loop.
 */
function oncePerTurn<Value>(read: () => Value): () => Value {
  let last: { readonly value: Value } | undefined;
  const forget = (): void => {
    last = undefined;
  };
  return () => {
    if (last === undefined) {
      last = { value: read() };
      process.nextTick(forget);
    }
    return last.value;
  };
}

/**
 * Synchronous, because the thread pool costs more than the engine's own check; the folder is on a local disk and in the
 * kernel's cache.
 */
function readStamp(folder: string): Stamp | undefined {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  // A folder that was removed and created again may get the same inode, but not the same change time.
  const text = `${found.dev}:${found.ino}:${found.mtimeMs}:${found.ctimeMs}`;
  return { text, isSettled: isSettled(found.mtimeMs) };
}

/** Kernel timestamps have a resolution of 1 to 10 ms. */
const SETTLED_MILLISECONDS = 100;

/**
 * A file system with timestamps in whole seconds shows no fraction: such a stamp may stand for many changes, and never
 * settles.
 */
function isSettled(changedAtMilliseconds: number): boolean {
  return changedAtMilliseconds % 1000 !== 0 && Date.now() - changedAtMilliseconds > SETTLED_MILLISECONDS;
}

/**
 * `existsSync` creates an error for a missing file, such as that of the next version, which takes longer than the check
 * itself.
 */
function hasManifest(folder: string, version: number): boolean {
  return statSync(join(folder, manifestName(version)), { throwIfNoEntry: false }) !== undefined;
}

/**
 * File systems of statfs(2) that are used by one machine only: on others, another machine's commit may reach our cache
 * late.
 */
const LOCAL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0xf2f52010, // f2fs
  0x2fc12fc1, // zfs
  0x01021994, // tmpfs
  0x794c7630, // overlayfs
]);

async function isLocalFileSystem(root: string): Promise<boolean> {
  try {
    return process.platform === 'linux' && LOCAL_FILE_SYSTEMS.has((await statfs(root)).type);
  } catch {
    return false;
  }
}
