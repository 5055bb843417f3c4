import { closeSync, fsync, openSync } from 'node:fs';
import { promisify } from 'node:util';

/** Makes files durable. Tests pass in a disk that fails. */
export interface FileSync {
  /** Resolves when what is at the path, a file or a folder, survives a power loss. Nothing there is fine. */
  sync(path: string): Promise<void>;
}

/** Only the sync runs in the thread pool: opening and closing there would cost more. */
export const DISK: FileSync = {
  async sync(path) {
    const file = openIfThere(path);
    if (file === undefined) return;
    try {
      await fsyncOf(file);
    } finally {
      closeSync(file);
    }
  },
};

const fsyncOf = promisify(fsync);

/** A file that is gone again, such as one that was cleaned up meanwhile, has nothing to lose. */
function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

/** The process or the machine has too much open right now: says nothing about the disk, and passes. */
const SHORTAGES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR']);

/** An fsync that failed has lost data, whatever its code; any call before it has lost nothing. */
export function isShortage(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return false;
  return SHORTAGES.has(error.code) && error.syscall !== 'fsync';
}

/** Paths that a commit created or changed, and that are not known to be durable. */
export class DirtyPaths {
  readonly files = new Set<string>();
  readonly folders = new Set<string>();

  add({ files, folders }: DirtyPaths): void {
    for (const file of files) this.files.add(file);
    for (const folder of folders) this.folders.add(folder);
  }
}

/** As many as the thread pool of the process has threads. */
const AT_ONCE_MAX = 4;

/** Files first: an entry in a folder is never durable before what it leads to. */
export async function syncPaths(disk: FileSync, { files, folders }: DirtyPaths): Promise<void> {
  await syncAll(disk, files);
  await syncAll(disk, folders);
}

async function syncAll(disk: FileSync, paths: ReadonlySet<string>): Promise<void> {
  const rest = paths.values();
  const work = async (): Promise<void> => {
    for (const path of rest) await disk.sync(path);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE_MAX, paths.size) }, work));
}
