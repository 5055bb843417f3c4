import { statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { ServiceError } from '../errors/service-error.ts';
import { isMissing } from './file-sync.ts';

export async function ensureRootFolder(root: string): Promise<void> {
  requireAbsolute(root);
  await mkdir(root, { recursive: true }).catch((cause: unknown) => {
    throw rootUnusable(cause);
  });
  requireRootFolder(root);
}

/**
 * The engine would create a missing root, and take a file for an empty root after seconds of waiting. Synchronous: every
 * write asks, and a trip through the thread pool costs more.
 */
export function requireRootFolder(root: string): void {
  requireAbsolute(root);
  const found = findFolder(root);
  if (found === undefined) throw rootMissing(new Error(`There is no folder ${root}`));
  if (!found.isDirectory()) throw rootUnusable(new Error(`The storage root is not a folder: ${root}`));
}

function findFolder(root: string): Stats | undefined {
  try {
    return statSync(root, { throwIfNoEntry: false });
  } catch (cause) {
    throw isMissing(cause) ? rootMissing(cause) : rootUnusable(cause);
  }
}

/** The engine would take a relative path for a cloud address. */
function requireAbsolute(root: string): void {
  if (!isAbsolute(root)) throw new Error(`The storage root is not an absolute path: ${root}`);
}

function rootMissing(cause: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The storage root of the database is missing.', {
    cause,
    retryAfterSeconds: 30,
  });
}

function rootUnusable(cause: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The storage root of the database cannot be used.', {
    cause,
    retryAfterSeconds: 30,
  });
}
