import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { FormDialog } from '../parts/dialog.tsx';
import { SelectField, TextField } from '../parts/forms/field.tsx';
import { isComplete } from './webhook-form.ts';
import type { WebhookForm } from './webhook-form.ts';

interface WebhookDialogProps {
  readonly title: string;
  readonly action: string;
  readonly start: WebhookForm;
  readonly onSave: (form: WebhookForm) => Promise<void>;
  readonly onClose: () => void;
}

const SELECTIONS = [
  { value: 'database', label: 'the whole database' },
  { value: 'namespace', label: 'a namespace and everything below it' },
  { value: 'table', label: 'one table' },
];

export function WebhookDialog({ title, action, start, onSave, onClose }: WebhookDialogProps): JSX.Element {
  const [form, setForm] = useState(start);
  const change = (changes: Partial<WebhookForm>): void => setForm({ ...form, ...changes });
  const select = (value: string): void => {
    if (value === 'database' || value === 'namespace' || value === 'table') change({ selects: value });
  };
  return (
    <FormDialog
      title={title}
      action={action}
      isReady={isComplete(form)}
      onSubmit={async () => onSave(form)}
      onClose={onClose}
    >
      <TextField
        label="URL"
        value={form.url}
        onChange={(url) => change({ url })}
        placeholder="https://example.com/hooks"
        hint="It gets a signed POST request for every group of commits."
        hasFocus
        isMono
      />
      <SelectField label="Commits of" value={form.selects} options={SELECTIONS} onChange={select} />
      {form.selects === 'database' ? null : (
        <TextField
          label={form.selects === 'table' ? 'Table' : 'Namespace'}
          value={form.path}
          onChange={(path) => change({ path })}
          placeholder={form.selects === 'table' ? 'shop/products' : 'shop'}
          isMono
        />
      )}
      <TextField
        label="Kinds of writes"
        value={form.operations}
        onChange={(operations) => change({ operations })}
        placeholder="all"
        hint="Such as insert_into_table, delete_from_table."
        isMono
      />
    </FormDialog>
  );
}
