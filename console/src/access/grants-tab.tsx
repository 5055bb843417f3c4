import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { GivenGrant } from '../../../src/wire/access.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
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
  readonly grants: readonly GivenGrant[];
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
  const [isGiving, setIsGiving] = useState(false);
  const [leaving, setLeaving] = useState<GivenGrant | undefined>();
  return (
    <section aria-label="Grants">
      <header class="section-head">
        <p class="muted">A role holds on a database, a namespace or a table, and on everything below it.</p>
        <span class="spring" />
        <Button kind="primary" icon="add" onClick={() => setIsGiving(true)}>
          Give a role
        </Button>
      </header>
      <ErrorBox error={known.error} onRetry={known.reload} />
      {known.value === undefined && known.error === undefined ? <Skeleton /> : null}
      {known.value === undefined ? null : <GrantTable known={known.value} onWithdraw={setLeaving} />}
      {isGiving && known.value !== undefined ? (
        <GiveDialog
          names={known.value.names}
          database={database}
          databases={databases}
          onGiven={known.reload}
          onClose={() => setIsGiving(false)}
        />
      ) : null}
      {leaving === undefined ? null : (
        <ConfirmDialog
          title="Take the role away?"
          action="Take away"
          onConfirm={async () => {
            await withdrawGrant(client, leaving);
            toast(`${leaving.principal} is no longer ${describeGrant(leaving)}.`);
            known.reload();
          }}
          onClose={() => setLeaving(undefined)}
        >
          <p>
            {known.value?.names.get(leaving.principal) ?? leaving.principal} is then no longer {describeGrant(leaving)},
            from the next request on.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

interface GrantTableProps {
  readonly known: Known;
  readonly onWithdraw: (grant: GivenGrant) => void;
}

function GrantTable({ known: { grants, names }, onWithdraw }: GrantTableProps): JSX.Element {
  return (
    <table class="entries">
      <caption class="hidden">Grants</caption>
      <Heads heads={['Who', 'Role', 'On', hidden('Actions')]} />
      <tbody>
        {grants.map((grant) => (
          <tr key={`${grant.principal} ${describeGrant(grant)}`}>
            <th scope="row">
              {names.get(grant.principal) ?? <span class="muted">not valid any more, or a token</span>}
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
                label={`Take ${describeGrant(grant)} away from ${names.get(grant.principal) ?? grant.principal}`}
                onClick={() => onWithdraw(grant)}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface GiveDialogProps extends GrantsTabProps {
  readonly names: ReadonlyMap<string, string>;
  readonly onGiven: () => void;
  readonly onClose: () => void;
}

function GiveDialog({ names, database, databases, onGiven, onClose }: GiveDialogProps): JSX.Element {
  const client = useClient();
  const [principal, setPrincipal] = useState('');
  const [grant, setGrant] = useState({ role: 'reader', database, path: '' });
  const give = async (): Promise<void> => {
    await giveGrant(client, { principal: principal.trim(), ...toGrant(grant) });
    toast(`${names.get(principal) ?? principal} is now ${describeGrant(toGrant(grant))}.`);
    onGiven();
  };
  return (
    <FormDialog title="Give a role" action="Give" isReady={principal.trim() !== ''} onSubmit={give} onClose={onClose}>
      <Field label="To whom" hint="A key, a client, or token:ISSUER#SUBJECT">
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
