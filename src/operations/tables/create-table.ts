import type { Reservation } from '../../catalog/catalog.ts';
import { locationUri } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import { CreateTableQuery, CreateTableReply } from '../../wire/tables.ts';
import { defineNewTableIngest, json, objectReply } from '../operation.ts';
import type { IngestRequest, Operation, Reply } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../shared/table-state.ts';
import { describeWrite, replyToWrite, requireSuccess, toFrame } from '../shared/write-reply.ts';
import { readCreateSettings } from './create-settings.ts';
import type { CreateSettings } from './create-settings.ts';
import { alreadyExists, claimName, publishData, writeData } from './new-table.ts';

export const createTable = defineNewTableIngest({
  id: 'create_table',
  path: '/v1/table/:id/create',
  summary: 'Create a table from an Arrow IPC stream',
  permission: 'write',
  isKeyed: true,
  body: { kind: 'arrow' },
  query: CreateTableQuery,
  replies: [json(CreateTableReply, 'The table as it is now.')],
  statuses: [409],
  async run(request, services) {
    const settings = readCreateSettings(request.query, services);
    const { write } = request;
    const { writes } = services;
    if (write.key === undefined) return create(request, settings, services);
    return writes.idempotency.serialize(write, async () => {
      if (!(await writes.idempotency.hasKey(write))) return create(request, settings, services);
      // The digest that tells a retry from another request is that of the whole body.
      for await (const chunk of (await request.openStream()).chunks) chunk.release();
      const replayed = await writes.idempotency.findReplay(write);
      return replayed === undefined ? create(request, settings, services) : replyToWrite(replayed);
    });
  },
});

export const createNamedTable: Operation = {
  ...createTable,
  id: 'create_named_table',
  path: '/v1/tables/:id',
  identifier: 'name',
  summary: 'Create a table in the root namespace by its name',
};

async function create(request: IngestRequest, settings: CreateSettings, services: Services): Promise<Reply> {
  const claim = await claimName(request, settings.mode, services);
  if (claim.kind === 'reserved') return createNew(claim.reservation, request, settings, services);
  switch (settings.mode) {
    case 'create':
      throw alreadyExists(request);
    case 'exist_ok':
      return replyWithExisting(claim.table, settings, services);
    case 'overwrite':
      return overwrite(claim.table, request, settings, services);
  }
}

async function createNew(
  reservation: Reservation,
  request: IngestRequest,
  settings: CreateSettings,
  services: Services,
): Promise<Reply> {
  const { shownOptions, properties = {} } = settings;
  const shown = { location: locationUri(reservation.location), storage_options: shownOptions, properties };
  const { version } = await writeData(reservation, request, settings, services);
  // A create that is sent again without a key is refused, because the table exists.
  const isKept = request.write.key !== undefined;
  const result = await publishData(reservation, request, { version, properties, fields: shown, isKept }, services);
  const reply = objectReply<CreateTableReply>({ ...shown, version, transaction_id: result.transactionId });
  return { ...reply, ...toFrame(result) };
}

async function overwrite(
  table: TableRecord,
  request: IngestRequest,
  settings: CreateSettings,
  services: Services,
): Promise<Reply> {
  const shown = { location: locationUri(table.location), storage_options: settings.shownOptions };
  const result = await services.writes.insert(
    {
      ...describeWrite({ table, write: request.write }, undefined),
      recordedAs: 'overwrite_table',
      mode: 'overwrite',
      storageOptions: settings.storageOptions,
      properties: settings.properties,
      toFields: () => ({ ...shown, properties: { ...table.properties, ...settings.properties } }),
    },
    await request.openStream(),
  );
  const success = requireSuccess(result);
  const { version, transactionId, properties = table.properties } = success;
  const reply = objectReply<CreateTableReply>({ ...shown, version, properties, transaction_id: transactionId });
  return { ...reply, ...toFrame(success) };
}

async function replyWithExisting(table: TableRecord, settings: CreateSettings, services: Services): Promise<Reply> {
  const { version } = await services.engine.describeTable(toTableState(table, {}));
  return objectReply<CreateTableReply>({
    location: locationUri(table.location),
    version,
    storage_options: settings.shownOptions,
    properties: table.properties,
  });
}
