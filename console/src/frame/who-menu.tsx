import type { JSX } from 'preact';
import type { Grant } from '../../../src/model/access.ts';
import { Icon } from '../parts/icon.tsx';
import { Popover } from '../parts/popover.tsx';
import { Badge } from '../parts/states.tsx';
import { highestRole, useWho } from '../who.tsx';
import type { Who } from '../who.tsx';

interface WhoMenuProps {
  readonly database: string;
  readonly onSignOut: () => void;
}

/** The name and the highest role in the database; all roles and signing out in the menu. */
export function WhoMenu({ database, onSignOut }: WhoMenuProps): JSX.Element {
  const who = useWho();
  const role = who === undefined ? undefined : highestRole(who, database);
  return (
    <Popover
      label="Your account"
      icon="user"
      kind="quiet"
      side="right"
      text={
        <span class="who">
          <span class="name">{who?.name ?? 'Account'}</span>
          {role === undefined ? null : <Badge kind={role === 'admin' ? 'warn' : 'accent'}>{role}</Badge>}
        </span>
      }
    >
      {(close) => (
        <div class="menu">
          {who === undefined ? null : <Roles who={who} />}
          <button type="button" class="item" onClick={() => (close(), onSignOut())}>
            <Icon name="out" /> Sign out
          </button>
        </div>
      )}
    </Popover>
  );
}

const KINDS: Readonly<Record<string, string>> = {
  key: 'API key',
  client: 'OAuth client',
  token: 'Access token',
  anonymous: 'No credential required',
};

function Roles({ who: { name, kind, grants } }: { readonly who: Who }): JSX.Element {
  return (
    <div class="roles">
      <strong>{name}</strong>
      <p class="muted">{KINDS[kind] ?? kind}</p>
      {grants.length === 0 ? (
        <p>No roles yet: ask an administrator for one.</p>
      ) : (
        <ul aria-label="Your roles">
          {grants.map((grant) => (
            <li key={describe(grant)}>{describe(grant)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

function describe({ role, database, path }: Grant): string {
  return `${role} on ${[database ?? 'every database', ...path].join(' / ')}`;
}
