import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MAIN_BRANCH } from '../model/table.ts';
import type { TableLocation } from '../model/table.ts';

/** The folder of a root, or of anything below it, on a local disk; `undefined` for an address of an object store. */
export function findLocalFolder(root: string): string | undefined {
  if (root.startsWith('file://')) return fileURLToPath(root);
  return root.includes('://') ? undefined : root;
}

/** The folder of a table below the folder of its root. */
export function tableFolder(rootFolder: string, location: TableLocation): string {
  return join(rootFolder, location.kind === 'listed' ? `${location.directory}.lance` : location.directory);
}

/** `undefined` for a name that leads out of the folder of branches: callers choose it, and it becomes a path here. */
export function branchFolder(folder: string, branch: string | undefined): string | undefined {
  if (branch === undefined || branch === MAIN_BRANCH) return folder;
  const isPlain = branch.split('/').every((segment) => SEGMENT.test(segment) && segment !== '.' && segment !== '..');
  return isPlain ? join(folder, 'tree', branch) : undefined;
}

const SEGMENT = /^[A-Za-z0-9._-]{1,200}$/;
