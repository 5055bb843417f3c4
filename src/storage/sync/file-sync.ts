import { closeSync, fsync, openSync } from 'node:fs';
import { promisify } from 'node:util';

/** Makes files durable. Tests pass a disk that fails. */
export interface FileSync {
  /** Resolves when the file or folder at the path survives a power loss. A missing path is ignored. */
  sync(path: string): Promise<void>;
}

/** Only the sync runs in the thread pool, where opening and closing would cost more. */
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

/** A file that was deleted meanwhile, for example by a cleanup, needs no sync. */
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

/** Transient shortages of the process or the machine, which say nothing about the disk. */
const SHORTAGES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR']);

/** A failed fsync has lost data, whatever its code; a failed call before it has lost nothing. */
export function isShortage(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return false;
  return SHORTAGES.has(error.code) && error.syscall !== 'fsync';
}

/** Paths that a commit created or changed, and that may not be durable yet. */
export class DirtyPaths {
  readonly files = new Set<string>();
  readonly folders = new Set<string>();

  add({ files, folders }: DirtyPaths): void {
    for (const file of files) this.files.add(file);
    for (const folder of folders) this.folders.add(folder);
  }
}

/** The number of threads in the process's thread pool. */
const AT_ONCE_MAX = 4;

/** Files first: a directory entry must not be durable before its file. */
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
