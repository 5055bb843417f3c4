import { constants } from 'node:fs';
import { access, mkdir, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError } from '../../errors/service-error.ts';
import { escapePath } from '../../model/address.ts';

/**
 * Seen in @lancedb/lancedb 0.39.0, not in 0.31.0: the engine first writes the file of a branch next to the table's
 * folder, to a folder such as `Caf%C3%A9` for `Café`, and then links it. If it cannot, it leaves half a branch, and the
 * folder in any case. Can be removed when the engine uses the table's folder; the tests of storage-roots show it.
 */
export async function stageRefs(folder: string): Promise<() => Promise<void>> {
  const escaped = escapePath(folder);
  if (!folder.startsWith('/') || escaped === folder) return async () => {};
  const staging = join(escaped, '_refs', 'branches');
  const created = await mkdir(staging, { recursive: true }).catch((cause: unknown) => {
    throw notStaged(cause);
  });
  const remove = async (): Promise<void> => removeEmpty(staging, created);
  if (await isUsable(staging, folder)) return remove;
  await remove();
  throw notStaged(new Error(`${staging} is not writable, or on another file system`));
}

async function isUsable(staging: string, folder: string): Promise<boolean> {
  const [{ dev }, { dev: needed }] = await Promise.all([stat(staging), stat(folder)]);
  const canWrite = access(staging, constants.W_OK).then(
    () => true,
    () => false,
  );
  return dev === needed && canWrite;
}

function notStaged(cause: unknown): ServiceError {
  const message = 'Branches cannot be created in this folder: the storage engine does not support its path.';
  const hint = 'Move the tables to a folder whose path has only ASCII letters, digits, "-", "_" and ".".';
  return new ServiceError('Unsupported', message, { cause, hint });
}

/**
 * Removes folders from the innermost up to the one that was created. Keeps a folder that another branch needs
 * meanwhile.
 */
async function removeEmpty(folder: string, top: string | undefined): Promise<void> {
  if (top === undefined) return;
  for (let path = folder; path.length >= top.length; path = dirname(path)) {
    await rmdir(path).catch(() => {});
  }
}
