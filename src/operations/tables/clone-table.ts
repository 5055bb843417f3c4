import { ServiceError } from '../../errors/service-error.ts';
import { guardTagName } from '../../guard/names.ts';
import { isPermitted } from '../../model/access.ts';
import { locationUri } from '../../model/table.ts';
import type { TableRecord, TableState } from '../../model/table.ts';
import { CloneTableBody, CloneTableReply } from '../../wire/tables.ts';
import { defineNewTableOperation, json } from '../operation.ts';
import type { NewTableRequest, Reply } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../shared/table-state.ts';
import { discard, publish } from './create-table.ts';
import type { Reservation } from './name-claim.ts';

export const cloneTable = defineNewTableOperation({
  id: 'clone_table',
  path: '/v1/table/:id/clone',
  summary: 'Make a table of its own out of a version of another',
  permission: 'write',
  body: { kind: 'json', shape: CloneTableBody },
  replies: [json(CloneTableReply, 'The new table.')],
  statuses: [409],
  run: clone,
});

type Request = NewTableRequest<CloneTableBody>;

async function clone(request: Request, services: Services): Promise<Reply> {
  const { caller, requestId, database, path, body } = request;
  const { engine, catalog } = services;
  if (body.source_tag !== undefined && body.source_version !== undefined) {
    throw new ServiceError('InvalidInput', 'source_version and source_tag are both given.', {
      hint: 'Give one of them, or none for the latest version.',
    });
  }
  const source = await findSource(request, services);
  const tag = body.source_tag;
  const state =
    tag === undefined
      ? toTableState(source, { version: body.source_version })
      : toTableState(source, await engine.versions.requireTag(source.location, guardTagName(tag)));
  const reservation = await catalog.tables.reserve({
    databaseId: database.id,
    path,
    root: database.root,
    caller: caller.id,
  });
  const version = await copyData(state, reservation, services);
  const entry = { operation: 'clone_table', caller: caller.id, requestId, version };
  const properties = { ...source.properties };
  const transactionId = await publish(reservation, { ...entry, properties }, services);
  const reply: CloneTableReply = {
    location: locationUri(reservation.location),
    version,
    properties,
    ...(transactionId === undefined ? {} : { transaction_id: transactionId }),
  };
  return { kind: 'object', body: reply };
}

async function copyData(state: TableState, reservation: Reservation, services: Services): Promise<number> {
  const { engine, writes } = services;
  try {
    return await writes.cloneTable(state.location, reservation.location, async () =>
      engine.lifecycle.clone(state, reservation.location),
    );
  } catch (error) {
    await discard(reservation, services);
    throw error;
  }
}

/** A location that is no table's, and one whose table the caller may not read, answer alike. */
async function findSource({ caller, body }: Request, services: Services): Promise<TableRecord> {
  const source = await services.catalog.tables.findByLocation(toLocation(body.source_location));
  const databases = source === undefined ? [] : await services.catalog.databases.list();
  const database = databases.find(({ id }) => id === source?.databaseId);
  if (source !== undefined && database !== undefined && isPermitted(caller, 'read', database.name, source.path)) {
    return source;
  }
  throw new ServiceError('TableNotFound', 'source_location is not the location of a table of this service.', {
    hint: 'Give the location that the description of the source gives.',
  });
}

function toLocation(text: string): string {
  const trimmed = text.replace(/\/+$/, '');
  if (!trimmed.startsWith('file://')) return trimmed;
  try {
    return decodeURIComponent(new URL(trimmed).pathname);
  } catch {
    return '';
  }
}
