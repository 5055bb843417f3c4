import { setTimeout as sleep } from 'node:timers/promises';
import type { Reservation } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { formatPath, quoteForMessage } from '../../model/identifier.ts';
import type { TableRecord } from '../../model/table.ts';
import type { IngestRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import type { CreateMode } from './create-settings.ts';
import { isOnlyDeclared } from './declared-tables.ts';

export type { Reservation } from '../../catalog/catalog.ts';

/** The name is either ours to fill, or a table has it. */
export type NameClaim =
  | { readonly kind: 'reserved'; readonly reservation: Reservation }
  | { readonly kind: 'taken'; readonly table: TableRecord };

const POLL_MILLISECONDS = 25;

/**
 * Claims the name of a new table, or finds the table that has it. While somebody else is creating it, `create` is refused
 * at once; the other modes want the table, whoever makes it, and wait for the outcome.
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

/** `undefined`: somebody else holds the name and has not finished. */
async function tryClaim(request: IngestRequest, services: Services): Promise<NameClaim | undefined> {
  const { tables } = services.catalog;
  const table = await tables.find(request.database.id, request.path);
  if (table !== undefined && !(await isOnlyDeclared(table, services))) return { kind: 'taken', table };
  // The schema is read first, so that a body that never comes, or is no Arrow stream, never holds a name.
  await request.openStream();
  try {
    const reservation = await tables.reserve({
      databaseId: request.database.id,
      path: request.path,
      root: request.database.root,
      caller: request.caller.id,
      ...(table === undefined ? {} : { fills: table.id }),
    });
    return { kind: 'reserved', reservation };
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'TableAlreadyExists') return undefined;
    throw error;
  }
}
