import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { guardTableProperties } from '../../guard/metadata.ts';
import { isPermitted } from '../../model/access.ts';
import { notPermitted } from '../../model/refusals.ts';
import { locationUri, readLocation } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';
import { RegisterTableBody, RegisterTableReply } from '../../wire/tables.ts';
import { defineNewTableOperation, json, objectReply } from '../operation.ts';
import type { NewTableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { readWord } from '../shared/parameters.ts';
import { toCommitEntry } from '../shared/record-commit.ts';

export const registerTable = defineNewTableOperation({
  id: 'register_table',
  path: '/v1/table/:id/register',
  summary: 'Make a table of data that are below the storage root of the database already',
  permission: 'manage',
  body: { kind: 'json', shape: RegisterTableBody },
  replies: [json(RegisterTableReply, 'The table as it is now.')],
  statuses: [409],
  async run(request, services) {
    const { path, database, body } = request;
    const mode = readWord('mode', body.mode, ['create', 'overwrite']);
    const { properties = {} } = body;
    guardTableProperties(properties, services.limits.metadata);
    const location = await locate(request, services);
    await requireUnowned(request, location, services);

    const state = { location, branch: undefined, version: undefined };
    const { version } = await orNoTable(services.engine.describeTable(state));
    await services.engine.lifecycle.refuseForeignFiles(location, version);
    if (request.write.admit !== undefined) {
      await request.write.admit({ ...(await services.engine.versions.size(state)), replacesAll: mode === 'overwrite' });
    }
    const { transactionId } = await services.catalog.tables.register(
      { databaseId: database.id, path, location, properties, replaces: mode === 'overwrite' },
      toCommitEntry(request, version),
    );
    const reply = { location: locationUri(location), properties, transaction_id: transactionId };
    return objectReply<typeof RegisterTableReply>(reply);
  },
});

type Request = NewTableRequest<RegisterTableBody>;

async function locate({ database, body }: Request, { engine }: Services): Promise<TableLocation> {
  return orNoTable(engine.lifecycle.locate(database.root, readLocation(body.location)));
}

/** What is missing is named by the body; a 404 would be about the address. */
async function orNoTable<Found>(finding: Promise<Found>): Promise<Found> {
  try {
    return await finding;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'TableNotFound') throw error;
    throw invalidInput('There is no Lance table at the location.', 'Give the directory of the table.', error);
  }
}

/** Data below the root belong to the owner of the database, those of a former table also to the owner of that table. */
async function requireUnowned(request: Request, location: TableLocation, services: Services): Promise<void> {
  const { caller, database } = request;
  const owner = await services.catalog.tables.findOwner(database.id, locationUri(location));
  const needed = owner?.kind === 'released' ? owner.path : [];
  if (!isPermitted(caller, 'manage', database.name, needed)) throw notPermitted('manage');
  const isForeign = await isOtherDatabases(request, locationUri(location), services);
  if (isForeign || (await isInsideTable(request, location, services))) {
    throw invalidInput('The location is not one of this database.');
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
