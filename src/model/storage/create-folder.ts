import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * With the folders above it. `mkdir` with `recursive` never ends on Node 20 where the file system refuses a new folder
 * with ENOENT, as `/proc` does.
 */
export function createFolder(path: string, mode?: number): void {
  const missing: string[] = [];
  for (let at = resolve(path); !isFolder(at); at = dirname(at)) missing.push(at);
  for (const folder of missing.toReversed()) createOne(folder, mode);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function createOne(folder: string, mode: number | undefined): void {
  try {
    mkdirSync(folder, mode);
  } catch (cause) {
    // Another process may have created it.
    if (isFolder(folder)) return;
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) throw cause;
    const refusal = new Error(`no folder can be created in ${dirname(folder)}`, { cause });
    throw Object.assign(refusal, { code: 'EACCES', syscall: 'mkdir' });
  }
}
