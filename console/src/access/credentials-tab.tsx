import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Credential } from '../../../src/wire/access.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog, FormDialog } from '../parts/dialog.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { formatAgo } from '../parts/format.ts';
import { Heads, hidden } from '../parts/grid/pager.tsx';
import { Badge, Empty, Skeleton } from '../parts/states.tsx';
import { toast } from '../parts/toasts.tsx';
import { useLoad } from '../parts/use-load.ts';
import { createCredential, describeGrant, listCredentials, revokeCredential } from './access-api.ts';
import type { CredentialKind, Secret } from './access-api.ts';
import { GrantFields, toGrant } from './grant-fields.tsx';
import { SecretDialog } from './secret-dialog.tsx';

interface CredentialsTabProps {
  readonly kind: CredentialKind;
  readonly database: string;
  readonly databases: readonly string[];
}

const WORDS = {
  key: { one: 'key', title: 'API keys', about: 'Send a key with each request in the header x-api-key.' },
  client: {
    one: 'client',
    title: 'OAuth clients',
    about: 'A client gets access tokens from the token endpoint with its id and secret.',
  },
} as const;

export function CredentialsTab({ kind, database, databases }: CredentialsTabProps): JSX.Element {
  const client = useClient();
  const list = useLoad(async () => listCredentials(client, kind), [client, kind]);
  const [isCreating, setIsCreating] = useState(false);
  const [secret, setSecret] = useState<Secret | undefined>();
  const [revoked, setRevoked] = useState<Credential | undefined>();
  const words = WORDS[kind];
  return (
    <section aria-label={words.title}>
      <header class="section-head">
        <p class="muted">{words.about}</p>
        <span class="spring" />
        <Button kind="primary" icon="add" onClick={() => setIsCreating(true)}>
          New {words.one}
        </Button>
      </header>
      <ErrorBox error={list.error} onRetry={list.reload} />
      {list.value === undefined && list.error === undefined ? <Skeleton /> : null}
      {list.value?.length === 0 ? (
        <Empty icon="key" title={`No ${words.one}s yet`}>
          <p>Create a {words.one} for each program or person, with the smallest role that is enough.</p>
        </Empty>
      ) : null}
      {list.value === undefined || list.value.length === 0 ? null : (
        <CredentialTable title={words.title} credentials={list.value} onRevoke={setRevoked} />
      )}
      {isCreating ? (
        <NewCredentialDialog
          kind={kind}
          database={database}
          databases={databases}
          onCreated={(created) => {
            setSecret(created);
            list.reload();
          }}
          onClose={() => setIsCreating(false)}
        />
      ) : null}
      {secret === undefined ? null : <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
      {revoked === undefined ? null : (
        <ConfirmDialog
          title={`Revoke ${revoked.name}?`}
          action="Revoke"
          onConfirm={async () => {
            await revokeCredential(client, kind, revoked.id);
            toast(`Revoked ${revoked.name}.`);
            list.reload();
          }}
          onClose={() => setRevoked(undefined)}
        >
          <p>From the next request on, programs that use it get a 401. You cannot undo this.</p>
        </ConfirmDialog>
      )}
    </section>
  );
}

interface CredentialTableProps {
  readonly title: string;
  readonly credentials: readonly Credential[];
  readonly onRevoke: (credential: Credential) => void;
}

const STATES = { valid: 'good', expired: 'warn', revoked: 'plain' } as const;

function CredentialTable({ title, credentials, onRevoke }: CredentialTableProps): JSX.Element {
  return (
    <div class="scrolled">
      <table class="entries">
        <caption class="hidden">{title}</caption>
        <Heads heads={['Name', 'Roles', 'State', 'Created', 'Expires', hidden('Actions')]} />
        <tbody>
          {credentials
            .toSorted((one, other) => orderOf(one) - orderOf(other))
            .map((each) => (
              <tr key={each.id}>
                <th scope="row">
                  {each.name}
                  <br />
                  <code class="muted">{each.principal}</code>
                </th>
                <td>
                  {each.grants.map((grant) => (
                    <div key={describeGrant(grant)}>{describeGrant(grant)}</div>
                  ))}
                  {each.other_grants === true ? <div class="muted">and roles that you do not administer</div> : null}
                </td>
                <td>
                  <Badge kind={stateLook(each.state)}>{each.state}</Badge>
                </td>
                <td>{formatAgo(Date.parse(each.created_at))}</td>
                <td>
                  {each.expires_at === undefined ? <span class="muted">never</span> : each.expires_at.slice(0, 10)}
                </td>
                <td class="right">
                  {each.state === 'revoked' ? null : (
                    <Button kind="quiet" icon="trash" label={`Revoke ${each.name}`} onClick={() => onRevoke(each)} />
                  )}
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

/** Valid ones first. */
function orderOf({ state }: Credential): number {
  return state === 'valid' ? 0 : 1;
}

function stateLook(state: string): 'good' | 'warn' | 'plain' {
  return Object.entries(STATES).find(([name]) => name === state)?.[1] ?? 'plain';
}

interface NewCredentialDialogProps extends CredentialsTabProps {
  readonly onCreated: (secret: Secret) => void;
  readonly onClose: () => void;
}

function NewCredentialDialog(props: NewCredentialDialogProps): JSX.Element {
  const { kind, database, databases, onCreated, onClose } = props;
  const client = useClient();
  const [name, setName] = useState('');
  const [grant, setGrant] = useState({ role: 'reader', database, path: '' });
  const [days, setDays] = useState('');
  const isReady = name.trim() !== '' && (days === '' || Number(days) > 0);
  const create = async (): Promise<void> => {
    const wanted = { name: name.trim(), grant: toGrant(grant), days: days === '' ? undefined : Number(days) };
    onCreated(await createCredential(client, kind, wanted));
  };
  return (
    <FormDialog title={`New ${WORDS[kind].one}`} action="Create" isReady={isReady} onSubmit={create} onClose={onClose}>
      <TextField label="Name" value={name} onChange={setName} hint="What it is for, such as dashboard." hasFocus />
      <GrantFields form={grant} databases={databases} onChange={setGrant} />
      <TextField label="Expires after (days)" value={days} onChange={setDays} placeholder="never" isNumber />
    </FormDialog>
  );
}
