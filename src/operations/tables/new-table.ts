import { setTimeout as sleep } from 'node:timers/promises';
import type { PublishEntry, Reservation } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import { versionDiffers } from '../../model/refusals.ts';
import type { Schema } from '../../model/schema.ts';
import type { TableRecord } from '../../model/table.ts';
import type { Fields, SucceededWrite, WriteResult } from '../../writes/writes.ts';
import type { IngestRequest, TableIngestRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { orReport, toCommitEntry } from '../shared/record-commit.ts';
import { isOnlyDeclared } from './declared-tables.ts';

/** The name is either reserved for this request or taken by a table. */
type NameClaim =
  | { readonly kind: 'reserved'; readonly reservation: Reservation }
  | { readonly kind: 'taken'; readonly table: TableRecord };

const POLL_MILLISECONDS = 25;

/** If another request is creating the table, waits for that table, or refuses at once. */
export async function claimName(
  request: IngestRequest,
  services: Services,
  { waits }: { readonly waits: boolean },
): Promise<NameClaim> {
  const polls = Math.ceil((services.limits.engine.queueWaitSeconds * 1000) / POLL_MILLISECONDS);
  for (let poll = 0; poll < polls; poll += 1) {
    const claim = await tryClaim(request, services);
    if (claim !== undefined) return claim;
    // With a key, the other request may be an earlier attempt of this one on another node, so it is not refused for
    // good.
    if (!waits && request.write.key === undefined) throw alreadyExists(request);
    await sleep(POLL_MILLISECONDS);
  }
  throw new ServiceError('ConcurrentModification', 'Another request is still creating this table.', {
    hint: 'Try again when it is finished.',
    retryAfterSeconds: 1,
  });
}

export function alreadyExists(request: IngestRequest): ServiceError {
  const id = quoteForMessage(formatPath(request.path, request.delimiter));
  return new ServiceError('TableAlreadyExists', `The table ${id} already exists.`, {
    hint: 'Use mode=overwrite to replace its data, or mode=exist_ok to keep it.',
  });
}

/** `undefined` if another request has reserved the name. */
async function tryClaim(request: IngestRequest, services: Services): Promise<NameClaim | undefined> {
  const { tables } = services.catalog;
  const { database, path, caller } = request;
  const table = await tables.find(database.id, path);
  if (table !== undefined && !(await isOnlyDeclared(table, services))) return { kind: 'taken', table };
  // Reads the schema first: a body that never arrives, or is no Arrow stream, must not reserve a name.
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

/**
 * Writes the data under the reserved name. It is invisible until it is published; a crash only leaves data to sweep.
 */
export async function writeData(
  reservation: Reservation,
  request: IngestRequest,
  services: Services,
  storageOptions: Readonly<Record<string, string>> = {},
) {
  return orDiscard(reservation, services, async () =>
    services.writes.createTable(reservation.location, await request.openStream(), storageOptions),
  );
}

interface Publication extends Pick<SucceededWrite, 'version' | 'fields'> {
  readonly properties?: Readonly<Record<string, string>>;
  /** Whether a repeated request gets the result. */
  readonly isKept: boolean;
  /** Name of the operation in the audit log. */
  readonly recordedAs?: string;
}

/** The transaction that publishes the table is the commit, and also writes the journal entry. */
export async function publishData(
  reservation: Reservation,
  request: IngestRequest,
  { version, fields, properties = {}, isKept, recordedAs = 'create_table' }: Publication,
  services: Services,
): Promise<SucceededWrite> {
  if (reservation.fills !== undefined) {
    await orDiscard(reservation, services, async () => refuseFilled(request, services));
  }
  const { admit } = request.write;
  if (admit !== undefined) {
    const state = { location: reservation.location, branch: undefined, version };
    await orDiscard(reservation, services, async () => admit(await services.engine.versions.size(state)));
  }
  const completes = isKept ? services.writes.toCompleted(request.write, fields) : undefined;
  const entry = { ...toCommitEntry(request, version), operation: recordedAs, properties, completes };
  const transactionId = await publish(reservation, entry, services);
  return { kind: 'committed', version, transactionId, properties, fields, response: completes };
}

/** Discards what was written under the reserved name if the work fails. */
export async function orDiscard<Value>(
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

/** Another program may have written the data of the declared table meanwhile. */
async function refuseFilled(request: IngestRequest, services: Services): Promise<void> {
  const table = await services.catalog.tables.find(request.database.id, request.path);
  if (table !== undefined && !(await isOnlyDeclared(table, services))) throw alreadyExists(request);
}

/** Data that may be published must not be discarded, so after a failure the catalog is asked whether it is. */
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
      if (entry.completes !== undefined) services.writes.addInDoubt(entry.completes, reservation);
      // The next start does not publish it: it removes the data, or finds the table published.
      throw new ServiceError('ServiceUnavailable', 'It is not known whether the table was created.', {
        hint: 'Describe the table in a moment to find out.',
        cause: error,
        retryAfterSeconds: 5,
        outcome: 'unknown',
      });
    }
    await discard(reservation, services);
    throw error;
  }
}

/**
 * Releases the reservation last, because the name is not free while its data may exist. The next start repeats this.
 */
async function discard(reservation: Reservation, services: Services): Promise<void> {
  await orReport('removal of an unpublished table', services, async () => {
    await services.writes.removeTable(reservation.location);
    await services.catalog.tables.abandon(reservation);
  });
}

/** The table that rows are for; or, when it was only declared, the result of creating it from them. */
type Filled =
  | { readonly kind: 'existing'; readonly table: TableRecord }
  | { readonly kind: 'filled'; readonly result: WriteResult };

export async function fillIfDeclared(
  request: TableIngestRequest,
  services: Services,
  toFields: (outcome: { readonly rows: number }) => Fields,
  checkSchema: (schema: Schema) => void = () => {},
): Promise<Filled> {
  const { table } = request;
  // A declared table has only the main branch.
  const isEmpty = request.query['branch'] === undefined && (await isOnlyDeclared(table, services));
  if (!isEmpty) return { kind: 'existing', table };
  const { expectedVersion = 0 } = request.write;
  if (expectedVersion !== 0) throw versionDiffers(expectedVersion, 0);
  checkSchema((await request.openStream()).schema);
  const ingest = { ...request, path: table.path };
  try {
    const claim = await claimName(ingest, services, { waits: true });
    if (claim.kind === 'taken') return { kind: 'existing', table: claim.table };
    const { reservation } = claim;
    const { version, rows } = await writeData(reservation, ingest, services);
    const publication = { version, fields: toFields({ rows }), isKept: true };
    const written = { table, branch: undefined };
    const result = await services.writes.idempotency.serializeWrite(request.write, written, async () => {
      const replayed = await orDiscard(reservation, services, async () =>
        services.writes.idempotency.findReplay(request.write),
      );
      if (replayed === undefined) return publishData(reservation, ingest, publication, services);
      await discard(reservation, services);
      return replayed;
    });
    return { kind: 'filled', result };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'TableAlreadyExists') throw error;
    // The rows have been read from the request, so only the client can send them again.
    throw new ServiceError('ConcurrentModification', 'Another request created the table at the same time.', {
      hint: 'Send the rows again: they are then added to the table.',
      retryAfterSeconds: 1,
      cause: error,
    });
  }
}
