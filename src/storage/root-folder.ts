import { mkdir, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { ServiceError } from '../errors/service-error.ts';

/** The engine would take a file for an empty root after seconds of waiting, and a relative path for a cloud address. */
export async function ensureRootFolder(root: string): Promise<void> {
  if (!isAbsolute(root)) throw new Error(`The storage root is not an absolute path: ${root}`);
  try {
    await mkdir(root, { recursive: true });
    if ((await stat(root)).isDirectory()) return;
  } catch (cause) {
    throw rootUnusable(cause);
  }
  throw rootUnusable(new Error(`The storage root is not a folder: ${root}`));
}

function rootUnusable(cause: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The storage root of the database cannot be used.', {
    cause,
    retryAfterSeconds: 30,
  });
}
