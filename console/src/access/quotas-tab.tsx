import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { QuotaShape } from '../../../src/wire/access.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog, FormDialog } from '../parts/dialog.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatBytes, formatCount } from '../parts/format.ts';
import { Field, TextField } from '../parts/forms/field.tsx';
import { readName } from '../parts/forms/typed-names.ts';
import { Heads, hidden } from '../parts/grid/pager.tsx';
import { Empty, Meter, Skeleton } from '../parts/states.tsx';
import { toast } from '../parts/toasts.tsx';
import { useLoad } from '../parts/use-load.ts';
import { listCredentials } from './access-api.ts';
import { LIMITS, listOwnUsage, listUsedQuotas, removeLimits, setQuota, unlessRefused } from './quotas-api.ts';
import type { LimitName, UsedQuota } from './quotas-api.ts';

interface QuotasTabProps {
  readonly database: string;
  readonly databases: readonly string[];
}

interface Known {
  readonly quotas: readonly UsedQuota[];
  /** Names for people, by subject. */
  readonly names: ReadonlyMap<string, string>;
  readonly mayChange: boolean;
}

export function QuotasTab({ database, databases }: QuotasTabProps): JSX.Element {
  const client = useClient();
  const known = useLoad<Known>(async () => {
    const quotas = await unlessRefused(listUsedQuotas(client));
    if (quotas === undefined) {
      return { quotas: await listOwnUsage(client, database), names: new Map(), mayChange: false };
    }
    const [keys, clients] = await Promise.all([listCredentials(client, 'key'), listCredentials(client, 'client')]);
    const names = new Map([...keys, ...clients].map(({ principal, name }) => [principal, name]));
    return { quotas, names, mayChange: true };
  }, [client, database]);
  const [edited, setEdited] = useState<UsedQuota | 'new' | undefined>();
  const [removed, setRemoved] = useState<string | undefined>();
  const mayChange = known.value?.mayChange === true;
  return (
    <section aria-label="Quotas">
      <header class="section-head">
        <p class="muted">
          {known.value?.mayChange === false
            ? 'Your limits and usage, and those of the database if you own it. Server administrators change them.'
            : 'Limits and usage of keys, clients and databases.'}
        </p>
        <span class="spring" />
        {mayChange ? (
          <Button kind="primary" icon="add" onClick={() => setEdited('new')}>
            Set a quota
          </Button>
        ) : null}
      </header>
      <ErrorBox error={known.error} onRetry={known.reload} />
      {known.value === undefined && known.error === undefined ? <Skeleton /> : null}
      {known.value === undefined ? null : <QuotaTable known={known.value} onEdit={setEdited} onRemove={setRemoved} />}
      {edited === undefined ? null : (
        <QuotaDialog
          edited={edited === 'new' ? undefined : edited}
          subjects={[...databases.map((name) => `database:${name}`), ...(known.value?.names.keys() ?? [])]}
          names={known.value?.names ?? new Map()}
          onSet={known.reload}
          onClose={() => setEdited(undefined)}
        />
      )}
      {removed === undefined ? null : (
        <ConfirmDialog
          title="Remove the quota?"
          action="Remove"
          onConfirm={async () => {
            await removeLimits(client, removed);
            toast(`Removed the quota of ${known.value?.names.get(removed) ?? removed}.`);
            known.reload();
          }}
          onClose={() => setRemoved(undefined)}
        >
          <p>No limit applies to {known.value?.names.get(removed) ?? removed} from the next request on.</p>
        </ConfirmDialog>
      )}
    </section>
  );
}

interface QuotaTableProps {
  readonly known: Known;
  readonly onEdit: (quota: UsedQuota) => void;
  readonly onRemove: (subject: string) => void;
}

function QuotaTable({ known: { quotas, names, mayChange }, onEdit, onRemove }: QuotaTableProps): JSX.Element {
  if (quotas.length === 0) return <Empty icon="database" title="No quotas yet" />;
  return (
    <div class="scrolled">
      <table class="entries">
        <caption class="hidden">Quotas</caption>
        <Heads heads={['Applies to', 'Size', 'Rows', 'Tables', 'Requests', hidden('Actions')]} />
        <tbody>
          {quotas.map((used) => (
            <tr key={used.subject}>
              <th scope="row">
                {names.get(used.subject) ?? (used.isOwn ? 'You' : used.subject.replace(/^database:/, ''))}
                <br />
                <code class="muted">{used.subject}</code>
              </th>
              {(['bytes', 'rows', 'tables'] as const).map((limit) => (
                <td key={limit}>
                  <UsedShare used={used} limit={limit} />
                </td>
              ))}
              <td>{describeRequests(used.quota)}</td>
              <td class="right">
                {mayChange ? (
                  <>
                    <Button kind="quiet" icon="edit" label={`Change ${used.subject}`} onClick={() => onEdit(used)} />
                    <Button
                      kind="quiet"
                      icon="trash"
                      label={`Remove ${used.subject}`}
                      onClick={() => onRemove(used.subject)}
                    />
                  </>
                ) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The share from which the bar warns. */
const NEARLY_USED = 0.9;

function UsedShare({ used: { subject, quota, usage }, limit }: UsedShareProps): JSX.Element {
  const show = limit === 'bytes' ? formatBytes : formatCount;
  const most = quota[limit];
  if (most === undefined) return <span class="muted">{show(usage[limit])}</span>;
  const share = most === 0 ? 1 : usage[limit] / most;
  return (
    <>
      {show(usage[limit])} of {show(most)}
      <Meter label={`${limit} of ${subject}`} share={share} kind={share >= NEARLY_USED ? 'warn' : 'accent'} />
    </>
  );
}

interface UsedShareProps {
  readonly used: UsedQuota;
  readonly limit: 'bytes' | 'rows' | 'tables';
}

function describeRequests(quota: QuotaShape): string {
  const parts = [
    [quota.requests_per_second, 'per second'],
    [quota.concurrent_reads, 'reads at once'],
    [quota.concurrent_writes, 'writes at once'],
  ] as const;
  return parts.flatMap(([value, words]) => (value === undefined ? [] : [`${formatCount(value)} ${words}`])).join(', ');
}

interface QuotaDialogProps {
  readonly edited: UsedQuota | undefined;
  readonly subjects: readonly string[];
  readonly names: ReadonlyMap<string, string>;
  readonly onSet: () => void;
  readonly onClose: () => void;
}

type Texts = Readonly<Partial<Record<LimitName, string>>>;

function QuotaDialog({ edited, subjects, names, onSet, onClose }: QuotaDialogProps): JSX.Element {
  const client = useClient();
  const [subject, setSubject] = useState(edited?.subject ?? '');
  const [texts, setTexts] = useState<Texts>(() => toTexts(edited?.quota ?? {}));
  const save = async (): Promise<void> => {
    const cleared = LIMITS.map(({ name }) => name).filter(
      (name) => edited?.quota[name] !== undefined && (texts[name] ?? '').trim() === '',
    );
    const quota = toQuota(texts);
    const target = readName(subject, edited?.subject);
    if (Object.keys(quota).length > 0) await setQuota(client, target, quota);
    if (cleared.length > 0) await removeLimits(client, target, cleared);
    toast(`Set the quota of ${names.get(subject) ?? subject}.`);
    onSet();
  };
  const hasFault = LIMITS.some(({ name }) => faultOf(texts[name]) !== undefined);
  const isReady =
    subject.trim() !== '' && !hasFault && (edited !== undefined || Object.keys(toQuota(texts)).length > 0);
  return (
    <FormDialog title="Set a quota" action="Set" isReady={isReady} onSubmit={save} onClose={onClose}>
      <Field label="Applies to" hint="A key, a client, or database:NAME.">
        {({ id, hintId }) => (
          <>
            <input
              id={id}
              class="mono"
              list={`${id}-known`}
              value={subject}
              disabled={edited !== undefined}
              aria-describedby={hintId}
              onInput={(event) => setSubject(event.currentTarget.value)}
            />
            <datalist id={`${id}-known`}>
              {subjects.map((value) => (
                <option key={value} value={value}>
                  {names.get(value) ?? value}
                </option>
              ))}
            </datalist>
          </>
        )}
      </Field>
      {LIMITS.map(({ name, label, hint }) => (
        <TextField
          key={name}
          label={label}
          hint={hint}
          fault={faultOf(texts[name])}
          isNumber
          placeholder="no limit"
          value={texts[name] ?? ''}
          onChange={(value) => setTexts({ ...texts, [name]: value })}
        />
      ))}
    </FormDialog>
  );
}

function toTexts(quota: QuotaShape): Texts {
  return Object.fromEntries(Object.entries(quota).map(([name, value]) => [name, String(value)]));
}

function toQuota(texts: Texts): QuotaShape {
  const given = Object.entries(texts).filter(([, text]) => text.trim() !== '');
  return Object.fromEntries(given.map(([name, text]) => [name, Number(text)]));
}

function faultOf(text = ''): string | undefined {
  return /^\s*\d{0,15}\s*$/.test(text) ? undefined : 'Enter a whole number.';
}
