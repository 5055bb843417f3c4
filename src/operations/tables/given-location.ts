import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { isPermitted } from '../../model/access.ts';
import { notPermitted } from '../../model/refusals.ts';
import { locationUri, readLocation } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';
import type { DatabaseRequest } from '../operation.ts';
import type { Services } from '../services.ts';

type Request = Pick<DatabaseRequest, 'caller' | 'database'>;

/**
 * The location that a caller gives a new table. It must be empty, so that deleting the table only deletes its own data.
 */
export async function readNewLocation(request: Request, text: string, services: Services): Promise<TableLocation> {
  const { caller, database } = request;
  // Before any lookup, whose result would reveal what exists.
  if (!isPermitted(caller, 'manage', database.name, [])) throw notPermitted('manage');
  const location = await services.engine.lifecycle.locateNew(database.root, readLocation(text));
  await requireUnowned(request, location, services);
  // From now on, the engine looks for the table in this folder.
  await services.engine.lifecycle.ensureRoot(location.root, database.root);
  return location;
}

/** Data below the root belongs to the owner of the database; data of a former table also to the owner of that table. */
export async function requireUnowned(request: Request, location: TableLocation, services: Services): Promise<void> {
  const { caller, database } = request;
  const owner = await services.catalog.tables.findOwner(database.id, locationUri(location));
  const needed = owner?.kind === 'released' ? owner.path : [];
  if (!isPermitted(caller, 'manage', database.name, needed)) throw notPermitted('manage');
  const isForeign = await isOtherDatabases(request, locationUri(location), services);
  if (isForeign || (await isInsideTable(request, location, services))) {
    throw invalidInput('The location is not one of this database.');
  }
}

/**
 * The body names what is missing; a 404 would be about the address. `isHidden`: the reply must not reveal whether
 * anything exists.
 */
export async function orNoTable<Found>(finding: Promise<Found>, { isHidden = false } = {}): Promise<Found> {
  try {
    return await finding;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'TableNotFound') throw error;
    if (isHidden) throw notPermitted('manage');
    throw invalidInput('There is no Lance table at the location.', 'Give the directory of the table.', error);
  }
}

/** The folder of one database may lie below that of another. */
async function isOtherDatabases({ database }: Request, uri: string, services: Services): Promise<boolean> {
  const databases = await services.catalog.databases.list();
  return databases.some(
    ({ id, root }) =>
      id !== database.id && root.startsWith(`${trim(database.root)}/`) && uri.startsWith(`${trim(root)}/`),
  );
}

async function isInsideTable({ database }: Request, location: TableLocation, services: Services): Promise<boolean> {
  const base = trim(database.root);
  for (let folder = location.root; folder.length > base.length; folder = folder.slice(0, folder.lastIndexOf('/'))) {
    if ((await services.catalog.tables.findOwner(database.id, folder)) !== undefined) return true;
  }
  return false;
}

function trim(root: string): string {
  return root.replace(/\/+$/, '');
}
