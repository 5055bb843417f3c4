import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { GivenGrant, ListedGrant } from '../../../src/wire/access.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { callerText } from '../parts/caller-name.ts';
import { ConfirmDialog, FormDialog } from '../parts/dialog.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Field } from '../parts/forms/field.tsx';
import { Heads, hidden } from '../parts/grid/pager.tsx';
import { Badge, Skeleton } from '../parts/states.tsx';
import { toast } from '../parts/toasts.tsx';
import { useLoad } from '../parts/use-load.ts';
import { describeGrant, giveGrant, listCredentials, listGrants, withdrawGrant } from './access-api.ts';
import { GrantFields, toGrant } from './grant-fields.tsx';

interface GrantsTabProps {
  readonly database: string;
  readonly databases: readonly string[];
}

interface Known {
  readonly grants: readonly ListedGrant[];
  /** Names of valid credentials, by principal. */
  readonly names: ReadonlyMap<string, string>;
}

export function GrantsTab({ database, databases }: GrantsTabProps): JSX.Element {
  const client = useClient();
  const known = useLoad<Known>(async () => {
    const [grants, keys, clients] = await Promise.all([
      listGrants(client),
      listCredentials(client, 'key'),
      listCredentials(client, 'client'),
    ]);
    const valid = [...keys, ...clients].filter(({ state }) => state === 'valid');
    return { grants, names: new Map(valid.map(({ principal, name }) => [principal, name])) };
  }, [client]);
  const [isGranting, setIsGranting] = useState(false);
  const [removed, setRemoved] = useState<ListedGrant | undefined>();
  return (
    <section aria-label="Grants">
      <header class="section-head">
        <p class="muted">A role on a database, a namespace or a table also applies to everything below it.</p>
        <span class="spring" />
        <Button kind="primary" icon="add" onClick={() => setIsGranting(true)}>
          Grant a role
        </Button>
      </header>
      <ErrorBox error={known.error} onRetry={known.reload} />
      {known.value === undefined && known.error === undefined ? <Skeleton /> : null}
      {known.value === undefined ? null : <GrantTable known={known.value} onRemove={setRemoved} />}
      {isGranting && known.value !== undefined ? (
        <GrantDialog
          names={known.value.names}
          database={database}
          databases={databases}
          onGranted={known.reload}
          onClose={() => setIsGranting(false)}
        />
      ) : null}
      {removed === undefined ? null : (
        <ConfirmDialog
          title="Remove the role?"
          action="Remove"
          onConfirm={async () => {
            await withdrawGrant(client, toGivenGrant(removed));
            toast(`Removed: ${describeGrant(removed)} of ${nameOf(removed)}.`);
            known.reload();
          }}
          onClose={() => setRemoved(undefined)}
        >
          <p>
            {nameOf(removed)} loses the role {describeGrant(removed)} with the next request.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

function nameOf({ principal, principal_name: name }: ListedGrant): string {
  return callerText(principal, name);
}

function toGivenGrant({ principal_name: _name, ...grant }: ListedGrant): GivenGrant {
  return grant;
}

interface GrantTableProps {
  readonly known: Known;
  readonly onRemove: (grant: ListedGrant) => void;
}

function GrantTable({ known: { grants, names }, onRemove }: GrantTableProps): JSX.Element {
  return (
    <div class="scrolled">
      <table class="entries">
        <caption class="hidden">Grants</caption>
        <Heads heads={['Who', 'Role', 'On', hidden('Actions')]} />
        <tbody>
          {grants.map((grant) => (
            <tr key={`${grant.principal} ${describeGrant(grant)}`}>
              <th scope="row">
                {nameOf(grant)}
                {isEnded(grant, names) ? <span class="muted"> (revoked or expired)</span> : null}
                <br />
                <code class="muted">{grant.principal}</code>
              </th>
              <td>
                <Badge kind={grant.role === 'admin' ? 'warn' : 'accent'}>{grant.role}</Badge>
              </td>
              <td>{[grant.database ?? 'every database', ...(grant.path ?? [])].join(' / ')}</td>
              <td class="right">
                <Button
                  kind="quiet"
                  icon="trash"
                  label={`Remove ${describeGrant(grant)} from ${nameOf(grant)}`}
                  onClick={() => onRemove(grant)}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function isEnded({ principal }: ListedGrant, valid: Known['names']): boolean {
  return !principal.startsWith('token:') && !valid.has(principal);
}

interface GrantDialogProps extends GrantsTabProps {
  readonly names: ReadonlyMap<string, string>;
  readonly onGranted: () => void;
  readonly onClose: () => void;
}

function GrantDialog({ names, database, databases, onGranted, onClose }: GrantDialogProps): JSX.Element {
  const client = useClient();
  const [principal, setPrincipal] = useState('');
  const [grant, setGrant] = useState({ role: 'reader', database, path: '' });
  const give = async (): Promise<void> => {
    await giveGrant(client, { principal: principal.trim(), ...toGrant(grant) });
    toast(`${names.get(principal) ?? principal} is now ${describeGrant(toGrant(grant))}.`);
    onGranted();
  };
  return (
    <FormDialog title="Grant a role" action="Grant" isReady={principal.trim() !== ''} onSubmit={give} onClose={onClose}>
      <Field label="To" hint="A key, a client, or token:ISSUER#SUBJECT.">
        {({ id, hintId }) => (
          <>
            <input
              id={id}
              class="mono"
              list={`${id}-known`}
              value={principal}
              aria-describedby={hintId}
              onInput={(event) => setPrincipal(event.currentTarget.value)}
            />
            <datalist id={`${id}-known`}>
              {[...names].map(([value, name]) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
            </datalist>
          </>
        )}
      </Field>
      <GrantFields form={grant} databases={databases} onChange={setGrant} />
    </FormDialog>
  );
}
