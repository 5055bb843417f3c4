import { setTimeout as sleep } from 'node:timers/promises';
import type { PublishEntry, Reservation } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import { locationUri } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import type { CreateTableReply } from '../../wire/tables.ts';
import type { Fields, SucceededWrite } from '../../writes/writes.ts';
import type { IngestRequest, TableIngestRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toNameEntry } from '../shared/record-commit.ts';
import { readBranch } from '../shared/table-state.ts';
import { readCreateSettings } from './create-settings.ts';
import type { CreateMode, CreateSettings } from './create-settings.ts';
import { isOnlyDeclared } from './declared-tables.ts';

/** The name is either reserved for this request, or a table has it. */
export type NameClaim =
  | { readonly kind: 'reserved'; readonly reservation: Reservation }
  | { readonly kind: 'taken'; readonly table: TableRecord };

const POLL_MILLISECONDS = 25;

/**
 * Reserves the name of a new table, or finds the table that has it. While another request creates that table, `create` is
 * refused at once; the other modes want the table in any case, and wait for it.
 */
export async function claimName(request: IngestRequest, mode: CreateMode, services: Services): Promise<NameClaim> {
  const polls = Math.ceil((services.limits.engine.queueWaitSeconds * 1000) / POLL_MILLISECONDS);
  for (let poll = 0; poll < polls; poll += 1) {
    const claim = await tryClaim(request, services);
    if (claim !== undefined) return claim;
    if (mode === 'create') throw alreadyExists(request);
    await sleep(POLL_MILLISECONDS);
  }
  throw new ServiceError('ConcurrentModification', 'Another request is still creating this table.', {
    hint: 'Try again when it has finished.',
    retryAfterSeconds: 1,
  });
}

export function alreadyExists(request: IngestRequest): ServiceError {
  const id = quoteForMessage(formatPath(request.path, request.delimiter));
  return new ServiceError('TableAlreadyExists', `The table ${id} already exists.`, {
    hint: 'Use mode=overwrite to replace its data, or mode=exist_ok to keep it.',
  });
}

/** `undefined`: another request has reserved the name. */
async function tryClaim(request: IngestRequest, services: Services): Promise<NameClaim | undefined> {
  const { tables } = services.catalog;
  const { database, path, caller } = request;
  const table = await tables.find(database.id, path);
  if (table !== undefined && !(await isOnlyDeclared(table, services))) return { kind: 'taken', table };
  // The schema is read first: a body that never comes, or is no Arrow stream, must not hold a name.
  await request.openStream();
  try {
    const fills = table === undefined ? {} : { fills: table.id };
    const wanted = { databaseId: database.id, path, root: database.root, caller: caller.id, ...fills };
    return { kind: 'reserved', reservation: await tables.reserve(wanted) };
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'TableAlreadyExists') return undefined;
    throw error;
  }
}

export interface NewTableSettings extends CreateSettings {
  /** For rows that fill a declared table: the fields of their reply. */
  readonly toFields?: (outcome: { readonly rows: number }) => Fields;
}

export interface NewTable {
  readonly reply: CreateTableReply;
  readonly result: SucceededWrite;
}

/**
 * Writes the data under the reserved name, then publishes the table. Until then it is invisible, and a crash leaves only
 * data to sweep: the transaction that publishes the table is the commit, and also writes the journal entry.
 */
export async function writeNewTable(
  reservation: Reservation,
  request: IngestRequest,
  settings: NewTableSettings,
  services: Services,
): Promise<NewTable> {
  const { toFields, shownOptions, properties = {} } = settings;
  const shown = { location: locationUri(reservation.location), storage_options: shownOptions, properties };
  const { version, rows } = await writeData(reservation, request, settings, services);
  const fields = toFields?.({ rows }) ?? shown;
  // A create that is sent again without a key is refused, because the table exists; rows would be added twice.
  const isRepeatable = request.write.key === undefined && toFields === undefined;
  const completes = isRepeatable ? undefined : services.writes.toCompleted(request.write, fields);
  const entry = { ...toNameEntry(request, 'create_table'), version };
  const transactionId = await publish(reservation, { ...entry, properties, completes }, services);
  return {
    reply: { ...shown, version, ...(transactionId === undefined ? {} : { transaction_id: transactionId }) },
    result: { kind: 'committed', version, transactionId, properties, fields, response: completes },
  };
}

async function writeData(
  reservation: Reservation,
  request: IngestRequest,
  { storageOptions }: CreateSettings,
  services: Services,
) {
  try {
    const stream = await request.openStream();
    const outcome = await services.writes.createTable(reservation.location, stream, storageOptions);
    if (reservation.fills !== undefined) await refuseFilled(request, services);
    return outcome;
  } catch (error) {
    await discard(reservation, services);
    throw error;
  }
}

/** Another program may have written the data of the declared table meanwhile. */
async function refuseFilled(request: IngestRequest, services: Services): Promise<void> {
  const table = await services.catalog.tables.find(request.database.id, request.path);
  if (table !== undefined && !(await isOnlyDeclared(table, services))) throw alreadyExists(request);
}

/** Data that may be published must not be discarded: after a failure the catalog is asked whether they are. */
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
    if (isPublished === 'unknown') {
      // The next start publishes nothing more: it removes the data, or finds the table published.
      throw new ServiceError('ServiceUnavailable', 'It is not known whether the table was created.', {
        hint: 'Ask for the table again in a moment.',
        cause: error,
        retryAfterSeconds: 5,
      });
    }
    await discard(reservation, services);
    throw error;
  }
}

/** The reservation is given back last: the name is not free while its data may still exist. */
export async function discard(reservation: Reservation, services: Services): Promise<void> {
  try {
    await services.writes.removeTable(reservation.location);
    await services.catalog.tables.abandon(reservation);
  } catch (error) {
    // The reservation is swept at the next start; the caller gets the first failure, not this one.
    services.telemetry.emit({ kind: 'background-failed', task: 'removal of an unpublished table', cause: error });
  }
}

/** The table that rows are for; or, when it was only declared, the result of creating it from them. */
export type Filled =
  | { readonly kind: 'existing'; readonly table: TableRecord }
  | { readonly kind: 'filled'; readonly result: SucceededWrite };

export async function fillIfDeclared(
  request: TableIngestRequest,
  services: Services,
  toFields: NonNullable<NewTableSettings['toFields']>,
): Promise<Filled> {
  const { table } = request;
  // A declared table has only the main branch.
  const isEmpty = readBranch(request.query) === undefined && (await isOnlyDeclared(table, services));
  if (!isEmpty) return { kind: 'existing', table };
  const ingest = { ...request, path: table.path };
  try {
    const claim = await claimName(ingest, 'exist_ok', services);
    if (claim.kind === 'taken') return { kind: 'existing', table: claim.table };
    const settings = { ...readCreateSettings({}, services), toFields };
    const { result } = await writeNewTable(claim.reservation, ingest, settings, services);
    return { kind: 'filled', result };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'TableAlreadyExists') throw error;
    // The rows have been read from the request, so only the client can send them again.
    throw new ServiceError('ConcurrentModification', 'Another request made the table from its rows at the same time.', {
      hint: 'Send the rows again: they are added then.',
      retryAfterSeconds: 1,
      cause: error,
    });
  }
}
