import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { guardTagName } from '../../guard/names.ts';
import { isPermitted } from '../../model/access.ts';
import { withoutView } from '../../model/derived/view.ts';
import { locationUri, readLocation } from '../../model/table.ts';
import type { TableRecord, TableState } from '../../model/table.ts';
import { CloneTableBody, CloneTableReply } from '../../wire/tables.ts';
import { defineNewTableOperation, json, objectReply } from '../operation.ts';
import type { NewTableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toCommitEntry } from '../shared/record-commit.ts';
import { toTableState } from '../shared/table-state.ts';
import { orDiscard, publish } from './new-table.ts';

export const cloneTable = defineNewTableOperation({
  id: 'clone_table',
  path: '/v1/table/:id/clone',
  summary: 'Copy a version of a table or a branch to a new table',
  permission: 'write',
  body: { kind: 'json', shape: CloneTableBody },
  replies: [json(CloneTableReply, 'The new table.')],
  statuses: [409],
  async run(request, services) {
    const { caller, database, path, body } = request;
    const source = await requireSource(request, services);
    const state = await readSourceState(source, body, services);
    if (request.write.admit !== undefined) await request.write.admit(await services.engine.versions.size(state));
    const wanted = { databaseId: database.id, path, root: database.root, caller: caller.id };
    const reservation = await services.catalog.tables.reserve(wanted);
    const version = await orDiscard(reservation, services, async () =>
      services.writes.cloneTable(state.location, reservation.location, async () =>
        services.engine.lifecycle.clone(state, reservation.location),
      ),
    );
    const properties = withoutView(source.properties);
    const transactionId = await publish(reservation, { ...toCommitEntry(request, version), properties }, services);
    const location = locationUri(reservation.location);
    return objectReply<typeof CloneTableReply>({ location, version, properties, transaction_id: transactionId });
  },
});

/** A location without a table, and one whose table the caller may not read, are refused in the same way. */
async function requireSource(
  { caller, body }: NewTableRequest<CloneTableBody>,
  services: Services,
): Promise<TableRecord> {
  for (const field of ['source_version', 'source_branch'] as const) {
    if (body.source_tag === undefined || body[field] === undefined) continue;
    throw invalidInput(`${field} and source_tag are both given.`, 'A tag names branch and version.');
  }
  const source = await services.catalog.tables.findByLocation(readLocation(body.source_location));
  const databases = source === undefined ? [] : await services.catalog.databases.list();
  const database = databases.find(({ id }) => id === source?.databaseId);
  if (source !== undefined && database !== undefined && isPermitted(caller, 'read', database.name, source.path)) {
    // A lookup by name also returns the version that readers get.
    const named = await services.catalog.tables.find(source.databaseId, source.path);
    return named?.id === source.id ? named : source;
  }
  throw new ServiceError('TableNotFound', 'source_location is not the location of a table of this server.', {
    hint: 'Give the location that describe_table returns for the source.',
  });
}

async function readSourceState(source: TableRecord, body: CloneTableBody, { engine }: Services): Promise<TableState> {
  const { source_tag: tag, source_version: version, source_branch: branch } = body;
  if (tag === undefined) return toTableState(source, { version, branch });
  return toTableState(source, await engine.versions.requireTag(source.location, guardTagName(tag)));
}
