import type { JSX } from 'preact';
import { listDatabases, useClient } from '../api.ts';
import { useDocumentTitle, useLoad } from '../parts/use-load.ts';
import { go, toHash } from '../router.ts';
import type { ViewProps } from '../router.ts';
import { CredentialsTab } from './credentials-tab.tsx';
import { GrantsTab } from './grants-tab.tsx';
import { QuotasTab } from './quotas-tab.tsx';

const TABS = [
  ['keys', 'Keys'],
  ['clients', 'OAuth clients'],
  ['grants', 'Grants'],
  ['quotas', 'Quotas'],
] as const;

export function AccessView({ route, session }: ViewProps): JSX.Element {
  useDocumentTitle('Access');
  const client = useClient();
  const databases = useLoad(async () => listDatabases(client), [client]);
  const shown = TABS.find(([id]) => id === route.segments[0])?.[0] ?? 'keys';
  const given = { database: session.database, databases: databases.value ?? [session.database] };
  return (
    <div class="view">
      <h1>Access</h1>
      <nav class="lab-tabs flat" aria-label="Kinds of access">
        {TABS.map(([id, words]) => (
          <button key={id} type="button" aria-pressed={id === shown} onClick={() => go(toHash('access', [id]))}>
            {words}
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
