import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../errors/service-error.ts';

/** A link anywhere below the root could lead to data of another database, now or when it is changed later. */
export async function requirePlainDirectory(root: string, segments: readonly string[]): Promise<void> {
  const path = join(root, ...segments);
  try {
    const isPlain = (await realpath(path)) === join(await realpath(root), ...segments);
    if (isPlain && (await stat(path)).isDirectory()) return;
  } catch (cause) {
    throw noTableThere(cause);
  }
  throw noTableThere(new Error(`Not a plain directory: ${path}`));
}

function noTableThere(cause: unknown): ServiceError {
  return new ServiceError('TableNotFound', 'There is no Lance table at the location.', { cause });
}
