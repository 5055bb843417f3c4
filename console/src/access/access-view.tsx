import type { JSX } from 'preact';
import { listDatabases, useClient } from '../api.ts';
import { useDocumentTitle, useLoad } from '../parts/use-load.ts';
import { go, toHash } from '../router.ts';
import type { ViewProps } from '../router.ts';
import { meetsNeed, useWho } from '../who.tsx';
import { CredentialsTab } from './credentials-tab.tsx';
import { GrantsTab } from './grants-tab.tsx';
import { QuotasTab } from './quotas-tab.tsx';

const TABS = [
  { id: 'keys', label: 'Keys', need: 'administrator' },
  { id: 'clients', label: 'OAuth clients', need: 'administrator' },
  { id: 'grants', label: 'Grants', need: 'administrator' },
  { id: 'quotas', label: 'Quotas', need: undefined },
] as const;

export function AccessView({ route, session }: ViewProps): JSX.Element {
  useDocumentTitle('Access');
  const client = useClient();
  const databases = useLoad(async () => listDatabases(client), [client]);
  const who = useWho();
  const tabs = TABS.filter(({ need }) => meetsNeed(who, need, session.database));
  const shown = (tabs.find(({ id }) => id === route.segments[0]) ?? tabs[0])?.id;
  const given = { database: session.database, databases: databases.value ?? [session.database] };
  return (
    <div class="view">
      <h1>Access</h1>
      {tabs.length === TABS.length ? null : (
        <p class="hint">Keys, clients and grants are shown to callers with the admin role.</p>
      )}
      <nav class="lab-tabs flat" aria-label="Parts of access">
        {tabs.map(({ id, label }) => (
          <button key={id} type="button" aria-pressed={id === shown} onClick={() => go(toHash('access', [id]))}>
            {label}
          </button>
        ))}
      </nav>
      {shown === 'keys' ? <CredentialsTab key="key" kind="key" {...given} /> : null}
      {shown === 'clients' ? <CredentialsTab key="client" kind="client" {...given} /> : null}
      {shown === 'grants' ? <GrantsTab {...given} /> : null}
      {shown === 'quotas' ? <QuotasTab {...given} /> : null}
    </div>
  );
}
