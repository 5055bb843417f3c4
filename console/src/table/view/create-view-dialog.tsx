import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { waitForJob } from '../../../../src/client/calls.ts';
import { createView } from '../../../../src/client/views.ts';
import type { NamespacePath, TablePath } from '../../../../src/model/identifier.ts';
import { useClient } from '../../api.ts';
import { useTree } from '../../browse/tree-store.ts';
import { tableHash, tablePathOf } from '../../links.ts';
import { FormDialog } from '../../parts/dialog.tsx';
import type { LeadTo } from '../../parts/dialog.tsx';
import { CheckField, Field, Segments, TextField } from '../../parts/forms/field.tsx';
import { toast, toastError } from '../../parts/toasts.tsx';
import { toFrom } from './view-text.ts';

interface CreateViewDialogProps {
  readonly namespace: NamespacePath;
  /** The table in the initial query. */
  readonly source?: TablePath | undefined;
  readonly onClose: () => void;
}

const REFRESHES = [
  ['manual', 'Manual'],
  ['on_change', 'On change'],
  ['schedule', 'On schedule'],
] as const;
type Refresh = (typeof REFRESHES)[number][0];

const SECONDS = 3600;

export function CreateViewDialog({ namespace, source, onClose }: CreateViewDialogProps): JSX.Element {
  const client = useClient();
  const tree = useTree();
  const [name, setName] = useState('');
  const [query, setQuery] = useState(`SELECT *\nFROM ${source === undefined ? '' : toFrom(source)}`);
  const [refresh, setRefresh] = useState<Refresh>('manual');
  const [seconds, setSeconds] = useState(String(SECONDS));
  const [isFilled, setIsFilled] = useState(true);
  const isScheduled = refresh === 'schedule';
  const create = async (leadTo: LeadTo): Promise<void> => {
    const path = tablePathOf(namespace, name.trim());
    const { job_id: id } = await createView(client, path, {
      kind: 'query',
      source_query: query,
      with_no_data: !isFilled,
      ...(refresh === 'on_change' ? { auto_refresh: true } : {}),
      ...(isScheduled ? { refresh_seconds: Number(seconds) } : {}),
    });
    await tree.refresh(namespace);
    toast(`The view ${name.trim()} was created.`);
    if (id !== undefined) {
      // The table page may already show the view before its first rows.
      const { failure, job_state: state } = await waitForJob(client, id);
      if (state === 'DONE') toast(`The view ${name.trim()} has its first rows.`);
      if (failure !== undefined)
        toastError(new Error(`The first refresh of ${name.trim()} failed: ${failure.message}`));
    }
    leadTo(tableHash(path));
  };
  const isReady = name.trim() !== '' && query.trim() !== '' && (!isScheduled || /^[1-9]\d{0,8}$/.test(seconds.trim()));
  return (
    <FormDialog title="New materialized view" action="Create" isReady={isReady} onSubmit={create} onClose={onClose}>
      <TextField label="Name" value={name} onChange={setName} hasFocus isRequired />
      <Field label="Query" hint="One table: SELECT id, price * 2 AS twice FROM items WHERE price > 1 LIMIT 100">
        {({ id, hintId }) => (
          <textarea
            id={id}
            class="mono"
            rows={5}
            aria-describedby={hintId}
            spellcheck={false}
            value={query}
            onInput={(event) => setQuery(event.currentTarget.value)}
          />
        )}
      </Field>
      <Segments label="Refresh" value={refresh} options={REFRESHES} onChange={setRefresh} />
      {isScheduled ? (
        <TextField label="Seconds between refreshes" value={seconds} onChange={setSeconds} isNumber />
      ) : null}
      <CheckField label="Fill it now" isChecked={isFilled} onChange={setIsFilled} />
    </FormDialog>
  );
}
