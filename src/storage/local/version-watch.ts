import { statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { manifestName } from '../format/manifest.ts';
import type { Stamp, VersionWatch } from '../storage.ts';

/** No proof: every read asks the engine. */
export const BLIND: VersionWatch = { read: () => undefined, has: () => false };

export async function watchVersions(table: string): Promise<VersionWatch> {
  if (!(await isLocalFileSystem(dirname(table)))) return BLIND;
  const folder = join(table, '_versions');
  return { read: oncePerTurn(() => readStamp(folder)), has: (version) => hasManifest(folder, version) };
}

/**
 * Calls that follow one another without waiting for an event share a value: whatever was acknowledged before the first of
 * them reaches this process, if at all, in a later turn of the event loop.
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
 * Synchronous, because a trip through the thread pool costs more than the engine's own check; the folder is on a local
 * disk and in the kernel's cache.
 */
function readStamp(folder: string): Stamp | undefined {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  // A folder that was removed and created again may get the same inode, but not the same time of change.
  const text = `${found.dev}:${found.ino}:${found.mtimeMs}:${found.ctimeMs}`;
  return { text, isSettled: isSettled(found.mtimeMs) };
}

/** Kernels stamp with a clock that ticks every 1 to 10 ms. */
const SETTLED_MILLISECONDS = 100;

/** A file system that keeps whole seconds shows no fraction: such a stamp may stand for many changes, and never settles. */
function isSettled(changedAtMilliseconds: number): boolean {
  return changedAtMilliseconds % 1000 !== 0 && Date.now() - changedAtMilliseconds > SETTLED_MILLISECONDS;
}

/** `existsSync` makes an error of a missing file, as that of the next version is, which takes longer than the look at it. */
function hasManifest(folder: string, version: number): boolean {
  return statSync(join(folder, manifestName(version)), { throwIfNoEntry: false }) !== undefined;
}

/** Those of statfs(2) that belong to one machine alone: elsewhere another machine's commit may come late to our cache. */
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
