import type { PublishEntry } from '../../catalog/catalog.ts';
import type { WriteOutcome } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { locationUri } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import { CreateTableQuery, CreateTableReply } from '../../wire/tables.ts';
import type { Fields, SucceededWrite, WriteResult } from '../../writes/writes.ts';
import { defineNewTableIngest, json } from '../operation.ts';
import type { IngestRequest, Operation, Reply } from '../operation.ts';
import type { Services } from '../services.ts';
import { toTableState } from '../shared/table-state.ts';
import { describeWrite, requireSuccess, runOnce, toFrame } from '../shared/write-reply.ts';
import { readCreateSettings } from './create-settings.ts';
import type { CreateSettings } from './create-settings.ts';
import { isOnlyDeclared } from './declared-tables.ts';
import { alreadyExists, claimName } from './name-claim.ts';
import type { Reservation } from './name-claim.ts';

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
  return runOnce(request, services, {
    run: async () => create(request, settings, services),
    readBody: async () => drain(request),
  });
}

async function create(request: IngestRequest, settings: CreateSettings, services: Services): Promise<Reply> {
  const claim = await claimName(request, settings.mode, services);
  if (claim.kind === 'reserved') return writeFresh(claim.reservation, request, settings, services);
  switch (settings.mode) {
    case 'create':
      throw alreadyExists(request);
    case 'exist_ok':
      return replyWithExisting(claim.table, settings, services);
    case 'overwrite':
      return overwrite(claim.table, request, settings, services);
  }
}

/** Rows for a table that was only declared create it, unless another request has created it by now. */
export async function fillTable(
  request: IngestRequest,
  services: Services,
  toFields: (outcome: { readonly rows: number }) => Fields,
): Promise<Filled> {
  const claim = await claimName(request, 'exist_ok', services);
  if (claim.kind === 'taken') return { kind: 'existing', table: claim.table };
  const { reservation } = claim;
  const { version, rows } = await writeData(reservation, request, readCreateSettings({}, services), services);
  const result = await services.writes.singleWrite(request.write, async () => {
    const replayed = await orDiscard(reservation, services, async () => services.writes.findReplay(request.write));
    if (replayed === undefined) {
      return publishData(reservation, request, { version, fields: toFields({ rows }), isKept: true }, services);
    }
    await discard(reservation, services);
    return replayed;
  });
  return { kind: 'filled', result };
}

type Filled =
  | { readonly kind: 'existing'; readonly table: TableRecord }
  | { readonly kind: 'filled'; readonly result: WriteResult };

/** The name is reserved: write the data, then publish. Until then no reader sees anything. */
async function writeFresh(
  reservation: Reservation,
  request: IngestRequest,
  settings: CreateSettings,
  services: Services,
): Promise<Reply> {
  const { properties = {} } = settings;
  const shown = { location: locationUri(reservation.location), storage_options: settings.shownOptions, properties };
  const { version } = await writeData(reservation, request, settings, services);
  // A create that is sent again without a key is told that the table exists.
  const isKept = request.write.key !== undefined;
  const result = await publishData(reservation, request, { version, properties, fields: shown, isKept }, services);
  const { transactionId } = result;
  const reply: CreateTableReply = {
    ...shown,
    version,
    ...(transactionId === undefined ? {} : { transaction_id: transactionId }),
  };
  return { kind: 'object', body: reply, ...toFrame(result) };
}

async function writeData(
  reservation: Reservation,
  request: IngestRequest,
  { storageOptions }: CreateSettings,
  services: Services,
): Promise<WriteOutcome> {
  return orDiscard(reservation, services, async () => {
    const stream = await request.openStream();
    return services.writes.createTable(reservation.location, stream, storageOptions);
  });
}

interface Publication {
  readonly version: number;
  readonly fields: Fields;
  readonly properties?: Readonly<Record<string, string>>;
  /** Whether a repeated request gets the result. */
  readonly isKept: boolean;
}

/** The transaction that publishes the table is the commit, and also writes the journal entry. */
async function publishData(
  reservation: Reservation,
  request: IngestRequest,
  { version, fields, properties = {}, isKept }: Publication,
  services: Services,
): Promise<SucceededWrite> {
  if (reservation.fills !== undefined) {
    await orDiscard(reservation, services, async () => refuseOvertaken(request, services));
  }
  const completes = isKept ? services.writes.toCompleted(request.write, fields) : undefined;
  const entry = { operation: 'create_table', caller: request.caller.id, requestId: request.requestId, version };
  const transactionId = await publish(reservation, { ...entry, properties, completes }, services);
  return { kind: 'committed', version, transactionId, properties, fields, response: completes };
}

async function orDiscard<Value>(
  reservation: Reservation,
  services: Services,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    await discard(reservation, services);
    throw error;
  }
}

/** What may be published must not be discarded: a publication that failed is looked up. */
export async function publish(
  reservation: Reservation,
  entry: PublishEntry,
  services: Services,
): Promise<string | undefined> {
  const { tables } = services.catalog;
  try {
    return (await tables.publish(reservation, entry)).transactionId;
  } catch (error) {
    const isPublished = await tables.isPublished(reservation).catch(() => 'unknown' as const);
    if (isPublished === true) return undefined;
    // The next start publishes nothing more: it removes the data, or finds the table there.
    if (isPublished === 'unknown') {
      if (entry.completes !== undefined) services.writes.addInDoubt(entry.completes, reservation);
      throw createInDoubt(error);
    }
    await discard(reservation, services);
    throw error;
  }
}

function createInDoubt(cause: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', 'It is not known whether the table was created.', {
    hint: 'Ask for the table again in a moment.',
    cause,
    retryAfterSeconds: 5,
  });
}

/** The digest of a request is that of its whole body. */
async function drain(request: IngestRequest): Promise<void> {
  for await (const chunk of (await request.openStream()).chunks) chunk.release();
}

/** Somebody may have written the data of a declared table themselves meanwhile. */
async function refuseOvertaken(request: IngestRequest, services: Services): Promise<void> {
  const table = await services.catalog.tables.find(request.database.id, request.path);
  if (table !== undefined && !(await isOnlyDeclared(table, services))) throw alreadyExists(request);
}

/** The reservation is given back last: while its data may still be there, the name is not free. */
export async function discard(reservation: Reservation, services: Services): Promise<void> {
  try {
    await services.writes.removeTable(reservation.location);
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
  const reply: CreateTableReply = {
    ...shown,
    version,
    properties: { ...properties },
    ...(transactionId === undefined ? {} : { transaction_id: transactionId }),
  };
  return { kind: 'object', body: reply, ...toFrame(success) };
}

async function replyWithExisting(table: TableRecord, settings: CreateSettings, services: Services): Promise<Reply> {
  const { version } = await services.engine.describeTable(toTableState(table, {}));
  return toReply({
    location: locationUri(table.location),
    version,
    storage_options: settings.shownOptions,
    properties: { ...table.properties },
  });
}

function toReply(body: CreateTableReply): Reply {
  return { kind: 'object', body };
}
