import type { JSX } from 'preact';
import { Button } from '../button.tsx';

export interface Pair {
  readonly name: string;
  readonly value: string;
}

interface PairsEditorProps {
  readonly label: string;
  readonly pairs: readonly Pair[];
  readonly onChange: (pairs: readonly Pair[]) => void;
}

/** For properties and metadata. */
export function PairsEditor({ label, pairs, onChange }: PairsEditorProps): JSX.Element {
  const change = (at: number, pair: Pair): void => onChange(pairs.map((each, index) => (index === at ? pair : each)));
  return (
    <fieldset class="pairs">
      <legend>{label}</legend>
      {pairs.map((pair, index) => (
        <div key={index}>
          <input
            aria-label="Name"
            placeholder="name"
            value={pair.name}
            onInput={(event) => change(index, { ...pair, name: event.currentTarget.value })}
          />
          <input
            aria-label={pair.name === '' ? 'Value' : `Value of ${pair.name}`}
            placeholder="value"
            value={pair.value}
            onInput={(event) => change(index, { ...pair, value: event.currentTarget.value })}
          />
          <Button
            kind="quiet"
            icon="close"
            label={`Remove ${pair.name}`}
            onClick={() => onChange(pairs.filter((_unused, at) => at !== index))}
          />
        </div>
      ))}
      <Button kind="quiet" icon="add" onClick={() => onChange([...pairs, { name: '', value: '' }])}>
        Add
      </Button>
    </fieldset>
  );
}

/** Ignores pairs without a name; a later pair wins. */
export function toRecord(pairs: readonly Pair[]): Record<string, string> {
  return Object.fromEntries(pairs.filter(({ name }) => name !== '').map(({ name, value }) => [name, value]));
}
