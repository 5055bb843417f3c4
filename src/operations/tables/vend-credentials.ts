import { isPermitted } from '../../model/access.ts';
import { formatPath } from '../../model/identifier.ts';
import { isManaged } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import type { TableAccess } from '../../storage/storages.ts';
import type { DatabaseRequest } from '../operation.ts';
import type { Services } from '../services.ts';

type VendingRequest = DatabaseRequest<{ readonly vend_credentials?: boolean | null }>;

type StorageOptions = Record<string, string>;

/** False if vending is disabled, or for a folder. Refuses a root whose store cannot issue credentials. */
export function wantsCredentials({ body, database }: VendingRequest, { vending }: Services): boolean {
  return body.vend_credentials === true && vending?.isNeeded(database.root) === true;
}

/** Credentials for one table, recorded in the log; empty for a caller that gets none. */
export async function vendCredentials(
  request: VendingRequest,
  { table, isEmpty }: { readonly table: TableRecord; readonly isEmpty: boolean },
  services: Services,
): Promise<StorageOptions> {
  const { vending, telemetry } = services;
  if (vending === undefined || !wantsCredentials(request, services)) return {};
  const { requestId, caller, database } = request;
  if (!isPermitted(caller, 'read', database.name, table.path)) return {};
  const access = chooseAccess(request, table, isEmpty);
  const { location } = table;
  const { storageOptions, expiresAtMilliseconds } = await vending.vend({
    location,
    root: database.root,
    access,
    callerId: caller.id,
  });
  telemetry.emit({
    kind: 'credentials-vended',
    requestId,
    caller: caller.id,
    database: database.name,
    table: formatPath(table.path),
    permission: access,
    expiresAt: new Date(expiresAtMilliseconds).toISOString(),
  });
  return { ...storageOptions };
}

/**
 * Which access a caller gets to the files of a table. Rows of a table with data are written through the server, which
 * orders its commits, so everyone gets `read`. Writers of a table with managed versions get `stage`: they commit
 * through the server.
 */
function chooseAccess({ caller, database }: VendingRequest, table: TableRecord, isEmpty: boolean): TableAccess {
  if (!isPermitted(caller, 'write', database.name, table.path)) return 'read';
  if (isManaged(table)) return 'stage';
  return isEmpty ? 'create' : 'read';
}
