import { invalidInput } from '../../errors/service-error.ts';
import { administersEverything, mayGive, ROLES, isVisible } from '../../model/access.ts';
import type { Caller, Grant } from '../../model/access.ts';
import { DEFAULT_DELIMITER, checkNames, quoteForMessage } from '../../model/identifier.ts';
import { databaseNotFound, notPermitted } from '../../model/refusals.ts';
import type { GrantShape } from '../../wire/access.ts';
import type { Sent } from '../../wire/shapes.ts';
import type { ServerRequest } from '../operation.ts';
import type { Services } from '../services.ts';

export function readGrant(shape: GrantShape): Grant {
  const role = ROLES.find((each) => each === shape.role);
  if (role === undefined) {
    throw invalidInput(`The role ${quoteForMessage(shape.role)} does not exist.`, `The roles are ${ROLES.join(', ')}.`);
  }
  const { database, all_databases: isEverywhere = false, path = [] } = shape;
  // A grant on everything must be explicit.
  if ((database === undefined) !== isEverywhere) {
    const hint = 'Give "database" with a name, or "all_databases": true.';
    throw invalidInput('A grant needs either a database or all_databases.', hint);
  }
  if (isEverywhere && path.length > 0) throw invalidInput('A grant on all databases cannot have a path.');
  return { role, database, path: checkNames(path, DEFAULT_DELIMITER) };
}

/** A database that is hidden from the caller is refused as if it did not exist. */
export function requireGivable(caller: Caller, grant: Grant): void {
  if (mayGive(caller, grant)) return;
  const { database } = grant;
  if (database !== undefined && !isVisible(caller, database, [])) throw databaseNotFound(database);
  throw notPermitted('administer');
}

export function requireServerAdministrator(caller: Caller): void {
  if (!administersEverything(caller)) throw notPermitted('administer');
}

export function toGrantShape({ role, database, path }: Grant): Sent<GrantShape> {
  return {
    role,
    ...(database === undefined ? { all_databases: true } : { database }),
    path: path.length === 0 ? undefined : path,
  };
}

export function reportChange({ caller, write }: ServerRequest, principal: string, { telemetry }: Services): void {
  telemetry.emit({ kind: 'access-changed', caller: caller.id, action: write.operation, principal });
}
