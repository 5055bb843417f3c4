import { guardTableProperties } from '../../guard/metadata.ts';
import { isPermitted } from '../../model/access.ts';
import { locationUri, readLocation } from '../../model/table.ts';
import type { TableLocation } from '../../model/table.ts';
import { RegisterTableBody, RegisterTableReply } from '../../wire/tables.ts';
import { defineNewTableOperation, json, objectReply } from '../operation.ts';
import type { NewTableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { readWord } from '../shared/parameters.ts';
import { toCommitEntry } from '../shared/record-commit.ts';
import { orNoTable, requireUnowned } from './given-location.ts';

export const registerTable = defineNewTableOperation({
  id: 'register_table',
  path: '/v1/table/:id/register',
  summary: 'Register existing data below the storage root as a table',
  permission: 'manage',
  body: { kind: 'json', shape: RegisterTableBody },
  replies: [json(RegisterTableReply, 'The registered table.')],
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

async function locate({ caller, database, body }: Request, { engine }: Services): Promise<TableLocation> {
  const isHidden = !isPermitted(caller, 'manage', database.name, []);
  return orNoTable(engine.lifecycle.locate(database.root, readLocation(body.location)), { isHidden });
}
