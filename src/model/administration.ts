import { isPermitted } from './caller.ts';
import type { Caller, Grant } from './caller.ts';

/** Whether the caller administers every database, and so the server. */
export function administersEverything(caller: Caller): boolean {
  return caller.grants.some(({ role, database, path }) => {
    return role === 'admin' && database === undefined && path.length === 0;
  });
}

export function administersAnything(caller: Caller): boolean {
  return caller.grants.some(({ role }) => role === 'admin');
}

/**
 * Whether the caller may give or take a grant: on what it administers itself, and nowhere else. No role is more than
 * `admin`, so that within that scope any of them may be given.
 */
export function mayGive(caller: Caller, { database, path }: Grant): boolean {
  if (administersEverything(caller)) return true;
  return database !== undefined && isPermitted(caller, 'administer', database, path);
}

/**
 * Whether the caller may change a key or a client with these grants: only when it administers all that they are for.
 * One without any grant is nobody's but the server's.
 */
export function mayChange(caller: Caller, grants: readonly Grant[]): boolean {
  if (administersEverything(caller)) return true;
  return grants.length > 0 && grants.every((grant) => mayGive(caller, grant));
}

/** The databases in which the caller administers something; `undefined` stands for all of them. */
export function administeredDatabases(caller: Caller): readonly string[] | undefined {
  if (administersEverything(caller)) return undefined;
  const names = caller.grants.filter(({ role }) => role === 'admin').map(({ database }) => database);
  return [...new Set(names.filter((name) => name !== undefined))];
}
