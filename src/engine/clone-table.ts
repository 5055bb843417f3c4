import { ServiceError } from '../errors/service-error.ts';
import type { TableLocation, TableState } from '../model/table.ts';
import { engineCall } from './engine-errors.ts';
import type { OpenTables } from './open-tables.ts';

/** Makes a table of its own out of one version of another. */
export async function cloneTable(tables: OpenTables, source: TableState, target: TableLocation): Promise<number> {
  if (source.branch !== undefined) throw new ServiceError('Unsupported', 'A branch cannot be cloned.');
  const { storages } = tables;
  const storage = storages.of(source.location.root);
  const version = await tables.useAlone(source, async ({ native }) => engineCall(async () => native.version()));
  // Its files are elsewhere, and so would be those of the clone.
  await storage.refuseForeignFiles(source.location, version);
  await storage.cloneVersion(source.location, target, version);
  try {
    const latest = { location: target, branch: undefined, version: undefined };
    return await tables.useAlone(latest, async ({ native }) => engineCall(async () => native.version()));
  } catch (error) {
    await storages
      .of(target.root)
      .removeFolder(target)
      .catch(() => {});
    throw error;
  }
}
