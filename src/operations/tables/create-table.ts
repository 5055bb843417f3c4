import type { Reservation } from '../../catalog/catalog.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { guardStorageOptions, guardTableProperties } from '../../guard/metadata.ts';
import { isObject, parseStrictText } from '../../model/strict-json.ts';
import { locationUri } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import { CreateTableQuery, CreateTableReply } from '../../wire/tables.ts';
import { defineNewTableOperation, json, objectReply } from '../operation.ts';
import type { IngestRequest, Operation, QueryValues, Reply } from '../operation.ts';
import type { Services } from '../services.ts';
import { readWord } from '../shared/parameters.ts';
import { toTableState } from '../shared/table-state.ts';
import { describeWrite, replyToWrite, requireSuccess, toFrame } from '../shared/write-reply.ts';
import { alreadyExists, claimName, publishData, writeData } from './new-table.ts';

export const createTable = defineNewTableOperation({
  id: 'create_table',
  path: '/v1/table/:id/create',
  summary: 'Create a table from an Arrow IPC stream',
  permission: 'write',
  isKeyed: true,
  body: { kind: 'arrow' },
  query: CreateTableQuery,
  replies: [json(CreateTableReply, 'The current state of the table.')],
  statuses: [409],
  async run(request, services) {
    const settings = readCreateSettings(request.query, services);
    const { write } = request;
    const { writes } = services;
    if (write.key === undefined) return create(request, settings, services);
    return writes.idempotency.serialize(write, async () => {
      const replayed = await replay(request, services);
      if (replayed !== undefined) return replayed;
      try {
        return await create(request, settings, services);
      } catch (error) {
        // An earlier attempt on another node may have created it meanwhile.
        const isTaken = error instanceof ServiceError && error.kind === 'TableAlreadyExists';
        const late = isTaken ? await replay(request, services) : undefined;
        if (late === undefined) throw error;
        return late;
      }
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

/** The reply to an earlier attempt with the same key, if that created the table. */
async function replay(request: IngestRequest, { writes }: Services): Promise<Reply | undefined> {
  const { write } = request;
  if (!(await writes.idempotency.hasKey(write))) return undefined;
  // Reads the whole body, because its digest distinguishes a retry from another request.
  for await (const chunk of (await request.openStream()).chunks) chunk.release();
  const replayed = await writes.idempotency.findReplay(write);
  return replayed && replyToWrite(replayed);
}

interface CreateSettings {
  readonly mode: 'create' | 'exist_ok' | 'overwrite';
  readonly properties: Record<string, string> | undefined;
  readonly storageOptions: Record<string, string>;
  /** The options to repeat in replies. */
  readonly shownOptions: Record<string, string>;
}

export function readCreateSettings(
  query: QueryValues,
  { limits, allowedStorageOptions }: Pick<Services, 'limits' | 'allowedStorageOptions'>,
): CreateSettings {
  const { jsonDepthMax } = limits.http;
  const properties = readStringMap('properties', query['properties'], jsonDepthMax);
  const storageOptions = readStringMap('storage_options', query['storage_options'], jsonDepthMax) ?? {};
  if (properties !== undefined) guardTableProperties(properties, limits.metadata);
  guardStorageOptions(storageOptions, allowedStorageOptions);
  const shownOptions = withoutSecrets(storageOptions, allowedStorageOptions);
  const mode = readWord('mode', query['mode'], ['create', 'exist_ok', 'overwrite']);
  return { mode, properties, storageOptions, shownOptions };
}

/**
 * Options that the administrator allowed in addition to the harmless ones may be credentials, so they are not sent
 * back.
 */
function withoutSecrets(options: Readonly<Record<string, string>>, allowed: readonly string[]): Record<string, string> {
  const hidden = new Set(allowed.map((key) => key.toLowerCase()));
  return Object.fromEntries(Object.entries(options).filter(([key]) => !hidden.has(key.toLowerCase())));
}

function readStringMap(name: string, text: string | undefined, depthMax: number): Record<string, string> | undefined {
  if (text === undefined) return undefined;
  const value = parseStrictText(text, { depthMax, what: `The query parameter ${name}` });
  if (!isObject(value) || !Object.values(value).every((entry) => typeof entry === 'string')) {
    const hint = `Send it as ${name}={"key":"value"}, percent-encoded.`;
    throw invalidInput(`The query parameter ${name} must be a JSON object of strings.`, hint);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Just checked to be an object whose values are all strings. Without a prototype, no key is special.
  return Object.assign(Object.create(null), value) as Record<string, string>;
}

async function create(request: IngestRequest, settings: CreateSettings, services: Services): Promise<Reply> {
  const claim = await claimName(request, services, { waits: settings.mode !== 'create' });
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
  const { version } = await writeData(reservation, request, services, settings.storageOptions);
  // A create repeated without a key is refused anyway, because the table exists.
  const isKept = request.write.key !== undefined;
  const result = await publishData(reservation, request, { version, properties, fields: shown, isKept }, services);
  return replyToWrite(result);
}

async function overwrite(
  table: TableRecord,
  request: IngestRequest,
  settings: CreateSettings,
  services: Services,
): Promise<Reply> {
  const { properties: given } = settings;
  if (given !== undefined) guardTableProperties(given, services.limits.metadata, table.properties);
  const shown = { location: locationUri(table.location), storage_options: settings.shownOptions };
  const result = await services.writes.insert(
    {
      ...describeWrite({ table, write: request.write }, undefined),
      recordedAs: 'overwrite_table',
      mode: 'overwrite',
      storageOptions: settings.storageOptions,
      properties: given,
      toFields: () => ({ ...shown, properties: { ...table.properties, ...given } }),
    },
    await request.openStream(),
  );
  const success = requireSuccess(result);
  const { version, transactionId, properties = table.properties } = success;
  const reply = objectReply<typeof CreateTableReply>({ ...shown, version, properties, transaction_id: transactionId });
  return { ...reply, ...toFrame(success) };
}

async function replyWithExisting(table: TableRecord, settings: CreateSettings, services: Services): Promise<Reply> {
  const { version } = await services.engine.describeTable(toTableState(table, {}));
  return objectReply<typeof CreateTableReply>({
    location: locationUri(table.location),
    version,
    storage_options: settings.shownOptions,
    properties: table.properties,
  });
}
