import { join } from 'node:path';
import { ServiceError } from '../errors/service-error.ts';
import { readManifest } from './manifest.ts';
import { readManifestFile } from './manifest-file.ts';

/** `Manifest.base_paths` of Lance's table.proto. */
const BASE_PATHS_FIELD = 18;

/**
 * Refuses a version whose manifest names folders beside the table's own, as the engine's shallow clones do: whoever could
 * register such a table could read any other by it.
 */
export async function refuseForeignFiles(folder: string, version: number): Promise<void> {
  const manifest = readManifest(await readManifestFile(join(folder, '_versions'), version));
  if (!manifest.has(BASE_PATHS_FIELD)) return;
  throw new ServiceError('InvalidInput', 'The table at the location refers to files outside of its directory.', {
    hint: 'Copy the rows to a table of its own.',
  });
}
