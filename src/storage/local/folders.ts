import { statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { lstat, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { createFolder } from '../../model/storage/create-folder.ts';
import type { TableLocation } from '../../model/table.ts';
import { branchPath } from '../format/layout.ts';
import { locationUsed } from '../storage.ts';
import { isMissing } from '../sync/file-sync.ts';

/** The folder of a root, or of anything below it, on a local disk; `undefined` for an address of an object store. */
export function findLocalFolder(root: string): string | undefined {
  if (root.startsWith('file://')) return fileURLToPath(root);
  return root.includes('://') ? undefined : root;
}

/** The folder of a table below the folder of its root. */
export function tableFolder(rootFolder: string, location: TableLocation): string {
  return join(rootFolder, location.kind === 'listed' ? `${location.directory}.lance` : location.directory);
}

/** `undefined` for a branch whose name is not a valid path. */
export function branchFolder(folder: string, branch: string | undefined): string | undefined {
  const path = branchPath(branch);
  return path === undefined ? undefined : join(folder, path);
}

export async function ensureRootFolder(root: string): Promise<void> {
  requireAbsolute(root);
  try {
    createFolder(root);
  } catch (cause) {
    throw rootUnavailable('cannot be used', cause);
  }
  requireRootFolder(root);
}

/**
 * The engine would create a missing root, and treat a file as an empty root after seconds of waiting. Synchronous:
 * every write calls it, and the thread pool would cost more.
 */
export function requireRootFolder(root: string): void {
  requireAbsolute(root);
  const found = findFolder(root);
  if (found === undefined) throw rootUnavailable('is missing', new Error(`The folder ${root} does not exist`));
  if (!found.isDirectory()) {
    throw rootUnavailable('cannot be used', new Error(`The storage root is not a folder: ${root}`));
  }
}

function findFolder(root: string): Stats | undefined {
  try {
    return statSync(root, { throwIfNoEntry: false });
  } catch (cause) {
    throw rootUnavailable(isMissing(cause) ? 'is missing' : 'cannot be used', cause);
  }
}

/** The engine would treat a relative path as a cloud address. */
function requireAbsolute(root: string): void {
  if (!isAbsolute(root)) throw new Error(`The storage root is not an absolute path: ${root}`);
}

function rootUnavailable(state: 'is missing' | 'cannot be used', cause: unknown): ServiceError {
  const message = `The storage root of the database ${state}.`;
  return new ServiceError('ServiceUnavailable', message, { cause, retryAfterSeconds: 30 });
}

/** Refuses links: a link below the root could lead to the data of another database, now or when it is changed later. */
export async function requirePlainDirectory(root: string, segments: readonly string[]): Promise<void> {
  const path = join(root, ...segments);
  try {
    const isPlain = (await realpath(path)) === join(await realpath(root), ...segments);
    if (!isPlain || !(await stat(path)).isDirectory()) throw new Error(`Not a plain directory: ${path}`);
  } catch (cause) {
    throw new ServiceError('TableNotFound', 'There is no Lance table at the location.', { cause });
  }
}

/** The engine creates missing folders; existing ones must not be links or files. */
export async function requireUnused(root: string, segments: readonly string[]): Promise<void> {
  for (let depth = 1; depth <= segments.length; depth += 1) {
    const found = await lstat(join(root, ...segments.slice(0, depth))).catch((cause: unknown) => {
      if (isMissing(cause)) return undefined;
      throw cause;
    });
    if (found === undefined) return;
    if (depth === segments.length) throw locationUsed();
    if (!found.isDirectory()) throw invalidInput('The path of the location contains a symbolic link or a file.');
  }
}
