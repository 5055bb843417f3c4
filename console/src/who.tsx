import { createContext } from 'preact';
import type { ComponentChildren, JSX } from 'preact';
import { useContext, useEffect, useMemo } from 'preact/hooks';
import { ClientError } from '../../src/client/client-error.ts';
import { ROLES, administersAnything, isPermitted } from '../../src/model/access.ts';
import type { Grant, Permission, Role } from '../../src/model/access.ts';
import type { NamespacePath } from '../../src/model/identifier.ts';
import type { WhoamiReply } from '../../src/wire/access.ts';
import { useClient } from './api.ts';
import { useLoad } from './parts/use-load.ts';

/** The signed-in key, client or token, and its roles. */
export interface Who {
  readonly name: string;
  readonly kind: string;
  readonly id: string;
  /** Administers every database, and thus the server. */
  readonly isAdmin: boolean;
  readonly grants: readonly Grant[];
}

const WhoContext = createContext<Who | undefined>(undefined);

interface WhoProviderProps {
  /** Called when the credential is no longer valid. */
  readonly onRefused: () => void;
  readonly children: ComponentChildren;
}

/** Asks the server who is signed in, for all components below. */
export function WhoProvider({ onRefused, children }: WhoProviderProps): JSX.Element {
  const client = useClient();
  // No name contains a slash.
  const { value, error } = useLoad(
    async () => client.json<WhoamiReply>('/v1/whoami', { query: { delimiter: '/' } }).then(toWho),
    [client],
  );
  useEffect(() => {
    if (error instanceof ClientError && error.status === 401) onRefused();
  }, [error]);
  return <WhoContext.Provider value={value}>{children}</WhoContext.Provider>;
}

/** `undefined` until the server has replied. */
export function useWho(): Who | undefined {
  return useContext(WhoContext);
}

/** Each is `undefined` if the caller may do it, otherwise a sentence for the caller. */
export type Refusals = Readonly<Record<'read' | 'write' | 'manage' | 'administer', string | undefined>>;

/**
 * Why the caller may not read, write, manage or administer a table or a namespace (`[]` is the database). Call it in a
 * view with the path of its target and pass the sentence to the control: `const refusals = usePermissions(table);` and
 * then `<Button refusal={refusals.write} …>`, or the same with `LinkButton`; both turn grey and show the sentence. Leave
 * out what makes no sense without the role: `refusals.manage === undefined ? <Menu /> : null`. Nothing is refused
 * until the roles are known: the server checks every request anyway. Operations name their permission in
 * `src/operations/`: rows, columns, indexes, tags and branches are `write`; drop, rename and maintenance are `manage`.
 */
export function usePermissions(path: NamespacePath): Refusals {
  const who = useWho();
  const { database = 'default' } = useClient();
  return useMemo(() => {
    const refusalOf = (permission: keyof Refusals): string | undefined =>
      who === undefined || isPermitted(toCaller(who), permission, database, path)
        ? undefined
        : `Needs the ${ROLE_NEEDED[permission]} role on ${path.length === 0 ? database : path.join(' / ')}.`;
    return {
      read: refusalOf('read'),
      write: refusalOf('write'),
      manage: refusalOf('manage'),
      administer: refusalOf('administer'),
    };
  }, [who, database, path.join('/')]);
}

const ROLE_NEEDED: Readonly<Record<keyof Refusals, Role>> = {
  read: 'reader',
  write: 'writer',
  manage: 'owner',
  administer: 'admin',
};

/** The role without which a view is not worth showing. */
export type Need = 'writer' | 'owner' | 'administrator' | 'server-administrator';

/** Whether the caller has the role anywhere in the database; true until that is known. */
export function meetsNeed(who: Who | undefined, need: Need | undefined, database: string): boolean {
  if (who === undefined || need === undefined) return true;
  switch (need) {
    case 'writer':
    case 'owner':
      return who.grants.some(
        (grant) => isIn(grant, database) && isPermittedThere(who, NEEDED_PERMISSION[need], grant, database),
      );
    case 'administrator':
      return administersAnything(toCaller(who));
    case 'server-administrator':
      return who.isAdmin;
  }
}

const NEEDED_PERMISSION = { writer: 'write', owner: 'manage' } as const;

function isIn(grant: Grant, database: string): boolean {
  return grant.database === undefined || grant.database === database;
}

function isPermittedThere(who: Who, permission: Permission, { path }: Grant, database: string): boolean {
  return isPermitted(toCaller(who), permission, database, path);
}

/** The highest role of the caller in the database, on any part of it. */
export function highestRole({ grants }: Who, database: string): Role | undefined {
  const held = grants.filter((grant) => isIn(grant, database)).map(({ role }) => role);
  return ROLES.findLast((role) => held.includes(role));
}

function toCaller({ id, grants }: Who) {
  return { id, kind: 'key', grants } as const;
}

function toWho({ name, kind, id, is_admin: isAdmin, roles }: WhoamiReply): Who {
  return { name, kind, id, isAdmin, grants: roles.flatMap(toGrants) };
}

/** Omits roles that this console does not know. */
function toGrants({ role: name, on }: WhoamiReply['roles'][number]): readonly Grant[] {
  const role = ROLES.find((each) => each === name);
  if (role === undefined) return [];
  if (on.all_databases === true) return [{ role, database: undefined, path: [] }];
  if (on.kind === 'database') return [{ role, database: on.name, path: [] }];
  return [{ role, database: on.database, path: on.name.split('/') }];
}
