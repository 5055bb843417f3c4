import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../../parts/icon.tsx';
import { useTask } from '../../parts/use-load.ts';
import { PairFault, PairForm } from './pair-form.tsx';
import type { MetadataChange } from './pair-form.tsx';

interface MetadataPairsProps {
  /** The label for screen readers. */
  readonly owner: string;
  readonly record: Readonly<Record<string, string>> | undefined;
  /** Absent if read-only. */
  readonly onSave: ((change: MetadataChange) => Promise<void>) | undefined;
}

/** Marks the new pair: real keys are not empty. */
const NEW = '';

/** Edited in place: Enter or a click opens a value, Enter saves, Escape cancels. */
export function MetadataPairs({ owner, record, onSave }: MetadataPairsProps): JSX.Element {
  const root = useRef<HTMLSpanElement>(null);
  const [open, setOpen] = useState<string>();
  // Optimistic: shows the saved values while the table reloads.
  const [saved, setSaved] = useState<MetadataChange>({});
  useEffect(() => setSaved({}), [record]);
  const pairs = new Map(Object.entries({ ...record, ...saved }).filter(isKept));
  if (onSave === undefined) return <FixedPairs pairs={pairs} />;
  const close = (name: string): void => {
    setOpen(undefined);
    // The button reappears with the next render.
    requestAnimationFrame(() => focusPair(root.current, name));
  };
  const save = async (change: MetadataChange): Promise<void> => {
    await onSave(change);
    setSaved((before) => ({ ...before, ...change }));
  };
  const remove = async (name: string): Promise<void> => {
    await save({ [name]: null });
    focusPair(root.current, NEW);
  };
  return (
    <span class="pair-list" ref={root}>
      {[...pairs].map(([name, value]) =>
        name === open ? (
          <PairForm key={name} owner={owner} pairs={pairs} name={name} onSave={save} onClose={close} />
        ) : (
          <Pair
            key={name}
            owner={owner}
            name={name}
            value={value}
            onEdit={() => setOpen(name)}
            onRemove={async () => remove(name)}
          />
        ),
      )}
      {open === NEW ? (
        <PairForm key={NEW} owner={owner} pairs={pairs} onSave={save} onClose={close} />
      ) : (
        <button
          type="button"
          class="pair-add"
          data-pair={NEW}
          aria-label={`Add metadata to ${owner}`}
          title={`Add metadata to ${owner}`}
          onClick={() => setOpen(NEW)}
        >
          <Icon name="add" />
        </button>
      )}
    </span>
  );
}

function isKept(pair: [string, string | null]): pair is [string, string] {
  return pair[1] !== null;
}

function focusPair(list: HTMLElement | null, name: string): void {
  const buttons = [...(list?.querySelectorAll<HTMLElement>('[data-pair]') ?? [])];
  (buttons.find((button) => button.dataset['pair'] === name) ?? buttons.at(-1))?.focus();
}

function FixedPairs({ pairs }: { readonly pairs: ReadonlyMap<string, string> }): JSX.Element {
  return (
    <span class="pair-list">
      {[...pairs].map(([name, value]) => (
        <span key={name} class="pair" title={`${name}: ${value}`}>
          <span class="pair-name">{name}</span>
          <span class="pair-value">{value}</span>
        </span>
      ))}
    </span>
  );
}

interface PairProps {
  readonly owner: string;
  readonly name: string;
  readonly value: string;
  readonly onEdit: () => void;
  readonly onRemove: () => Promise<void>;
}

function Pair({ owner, name, value, onEdit, onRemove }: PairProps): JSX.Element {
  const task = useTask(onRemove);
  return (
    <span class="pair-place">
      <span class="pair" aria-busy={task.isRunning}>
        <span class="pair-name">{name}</span>
        <button
          type="button"
          class="pair-value"
          data-pair={name}
          aria-label={`Edit ${name} of ${owner}: ${value}`}
          title={value}
          onClick={onEdit}
        >
          {value === '' ? <span class="muted">empty</span> : value}
        </button>
        <button
          type="button"
          class="pair-remove"
          aria-label={`Remove ${name} of ${owner}`}
          title={`Remove ${name}`}
          onClick={task.run}
        >
          <Icon name="close" />
        </button>
      </span>
      <PairFault error={task.error} />
    </span>
  );
}
