import { mkdir, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { ServiceError } from '../errors/service-error.ts';
import { isMissing } from './file-sync.ts';

export async function ensureRootFolder(root: string): Promise<void> {
  requireAbsolute(root);
  await mkdir(root, { recursive: true }).catch((cause: unknown) => {
    throw rootUnusable(cause);
  });
  await requireRootFolder(root);
}

/** The engine would create a missing root, and take a file for an empty root after seconds of waiting. */
export async function requireRootFolder(root: string): Promise<void> {
  requireAbsolute(root);
  const found = await stat(root).catch((cause: unknown) => {
    throw isMissing(cause) ? rootMissing(cause) : rootUnusable(cause);
  });
  if (!found.isDirectory()) throw rootUnusable(new Error(`The storage root is not a folder: ${root}`));
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
