import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../parts/button.tsx';
import { wordsOf } from '../../parts/error-box.tsx';
import { useTask } from '../../parts/use-load.ts';

/** Values to set, by key; `null` removes the key. */
export type MetadataChange = Readonly<Record<string, string | null>>;

interface PairFormProps {
  readonly owner: string;
  readonly pairs: ReadonlyMap<string, string>;
  /** Absent for a new pair. */
  readonly name?: string;
  readonly onSave: (change: MetadataChange) => Promise<void>;
  readonly onClose: (name: string) => void;
}

/** Stays open when it loses the focus, so that no input is lost. */
export function PairForm({ owner, pairs, name, onSave, onClose }: PairFormProps): JSX.Element {
  const before = name === undefined ? '' : (pairs.get(name) ?? '');
  const [key, setKey] = useState(name ?? '');
  const [value, setValue] = useState(before);
  const form = useRef<HTMLFormElement>(null);
  const faultId = useId();
  useLayoutEffect(() => form.current?.querySelector('input')?.select(), []);
  const task = useTask(async () => {
    if (name !== undefined && value === before) return onClose(name);
    if (key === '') throw new Error('Enter a name.');
    if (name === undefined && pairs.has(key)) throw new Error(`There is already a key ${key}.`);
    await onSave({ [key]: value });
    onClose(key);
  });
  const submit = (event: Event): void => {
    event.preventDefault();
    task.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    onClose(name ?? '');
  };
  const given = { 'aria-invalid': task.error !== undefined, 'aria-describedby': faultId, spellcheck: false };
  return (
    <form class="pair-place" ref={form} onSubmit={submit} onKeyDown={onKeyDown}>
      <span class="pair-form">
        {name === undefined ? (
          <input
            {...given}
            aria-label={`Name of new metadata of ${owner}`}
            placeholder="name"
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        ) : (
          <span class="pair-name">{name}</span>
        )}
        <input
          {...given}
          aria-label={name === undefined ? `Value of new metadata of ${owner}` : `Value of ${name} of ${owner}`}
          placeholder="value"
          value={value}
          onInput={(event) => setValue(event.currentTarget.value)}
        />
        <Button submits kind="quiet" icon="check" label="Save" isBusy={task.isRunning} />
        <Button kind="quiet" icon="close" label="Cancel" onClick={() => onClose(name ?? '')} />
      </span>
      <PairFault error={task.error} id={faultId} />
    </form>
  );
}

export function PairFault({ error, id }: { readonly error: unknown; readonly id?: string }): JSX.Element | null {
  if (error === undefined) return null;
  const { message, hint } = wordsOf(error);
  return (
    <span class="pair-fault" role="alert" id={id}>
      <strong>{message}</strong> {hint}
    </span>
  );
}
