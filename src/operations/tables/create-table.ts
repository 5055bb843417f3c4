import type { WriteIntent } from '../../model/write-intent.ts';
import { placeLocation } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import { CreateTableQuery, CreateTableReply } from '../../wire/tables.ts';
import { defineNewTableIngest } from '../operation.ts';
import type { IngestRequest, Operation, Reply } from '../operation.ts';
import { recordCommit } from '../record-commit.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../table-state.ts';
import { readCreateSettings } from './create-settings.ts';
import type { CreateSettings } from './create-settings.ts';
import { isOnlyDeclared } from './declared-tables.ts';
import { alreadyExists, claimName } from './name-claim.ts';
import type { Reservation } from './name-claim.ts';

export const createTable = defineNewTableIngest({
  id: 'create_table',
  methods: ['POST'],
  path: '/v1/table/:id/create',
  summary: 'Create a table from an Arrow IPC stream',
  permission: 'write',
  body: { kind: 'arrow' },
  query: CreateTableQuery,
  replies: [{ mediaType: 'application/json', shape: CreateTableReply, description: 'The table as it is now.' }],
  statuses: [409],
  run: createFromStream,
});

export const createNamedTable: Operation = {
  ...createTable,
  id: 'create_named_table',
  path: '/v1/tables/:id',
  identifier: 'name',
  summary: 'Create a table in the root namespace by its name',
};

async function createFromStream(request: IngestRequest, services: Services): Promise<Reply> {
  const settings = readCreateSettings(request.query, services);
  const claim = await claimName(request, settings.mode, services);
  if (claim.kind === 'reserved')
    return toReply((await writeFresh(claim.reservation, request, settings, services)).reply);
  switch (settings.mode) {
    case 'create':
      throw alreadyExists(request);
    case 'exist_ok':
      return replyWithExisting(claim.table, settings, services);
    case 'overwrite':
      return overwrite(claim.table, request, settings, services);
  }
}

/** Rows for a table that was only declared make it; or they find that somebody else has made it by now. */
export async function fillTable(request: FillRequest, services: Services): Promise<FreshTable | TableRecord> {
  const claim = await claimName(request, 'exist_ok', services);
  if (claim.kind === 'taken') return claim.table;
  return writeFresh(claim.reservation, request, readCreateSettings({}, services), services);
}

/** Rows of an insert or a merge, which the journal is told of. */
export interface FillRequest extends IngestRequest {
  readonly noted?: WriteIntent | undefined;
}

export interface FreshTable {
  readonly reply: CreateTableReply;
  readonly rows: number;
}

/** The name is reserved: write the data, then publish. Until then nobody sees anything; a crash leaves only litter. */
async function writeFresh(
  reservation: Reservation,
  request: FillRequest,
  settings: CreateSettings,
  services: Services,
): Promise<FreshTable> {
  const { engine, catalog } = services;
  const { noted } = request;
  const properties = settings.properties ?? {};
  try {
    const stream = await request.openStream();
    const { version, rows } = await engine.createTable(reservation.place, stream, settings.storageOptions);
    if (reservation.fills !== undefined) await refuseOvertaken(request, services);
    await noted?.begin(0);
    const journal = noted === undefined ? undefined : request.intent?.commit({ num_inserted_rows: rows });
    const entry = {
      operation: 'create_table',
      caller: request.caller.id,
      requestId: request.requestId,
      version,
      journal,
    };
    const { transactionId } = await catalog.tables.publish(reservation, { ...entry, properties });
    const reply = {
      location: placeLocation(reservation.place),
      version,
      storage_options: settings.shownOptions,
      properties,
      transaction_id: transactionId,
    };
    return { reply, rows };
  } catch (error) {
    noted?.fail();
    await discard(reservation, services);
    throw error;
  }
}

/** Somebody may have written the data of a declared table themselves meanwhile. */
async function refuseOvertaken(request: IngestRequest, services: Services): Promise<void> {
  const table = await services.catalog.tables.find(request.database.id, request.path);
  if (table !== undefined && !(await isOnlyDeclared(table, services))) throw alreadyExists(request);
}

/** The reservation is given back last: while its data may still be there, the name is not free. */
export async function discard(reservation: Reservation, services: Services): Promise<void> {
  try {
    await services.engine.removeTable(reservation.place);
    await services.catalog.tables.abandon(reservation);
  } catch (error) {
    // The row stays reserved and is swept at the next start; the caller hears of the first failure, not of this one.
    services.telemetry.emit({ kind: 'background-failed', task: 'removal of an unpublished table', cause: error });
  }
}

async function overwrite(
  table: TableRecord,
  request: IngestRequest,
  settings: CreateSettings,
  services: Services,
): Promise<Reply> {
  const { engine, catalog } = services;
  const stream = await request.openStream();
  const { version } = await engine.overwriteTable(table.place, stream, {
    storageOptions: settings.storageOptions,
    hold: (held) => catalog.tables.hold(table.id, { version: held }),
    release: () => catalog.tables.release(table.id),
  });
  const recorded = await recordCommit(services, table, {
    operation: 'overwrite_table',
    caller: request.caller.id,
    requestId: request.requestId,
    version,
    ...(settings.properties === undefined ? {} : { properties: settings.properties }),
  });
  return toReply({
    location: placeLocation(table.place),
    version,
    storage_options: settings.shownOptions,
    ...recorded,
  });
}

async function replyWithExisting(table: TableRecord, settings: CreateSettings, services: Services): Promise<Reply> {
  const { version } = await services.engine.describeTable(toTableState(table, {}));
  return toReply({
    location: placeLocation(table.place),
    version,
    storage_options: settings.shownOptions,
    properties: { ...table.properties },
  });
}

function toReply(body: CreateTableReply): Reply {
  return { kind: 'object', body };
}
