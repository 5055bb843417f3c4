import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { ChosenColumn } from './opened-file.ts';

interface ColumnChoicesProps {
  readonly columns: readonly ChosenColumn[];
  readonly onChange: (columns: readonly ChosenColumn[]) => void;
}

/** Suggestions: any type of the server can be entered. */
const TYPES = [
  'bool',
  'int32',
  'int64',
  'float32',
  'float64',
  'utf8',
  'binary',
  'date32',
  'timestamp[us]',
  'timestamp[us, UTC]',
  'decimal128(18, 2)',
  'float32[128]',
  'list<utf8>',
];

export function ColumnChoices({ columns, onChange }: ColumnChoicesProps): JSX.Element {
  const listId = useId();
  const change = (at: number, part: Partial<ChosenColumn>): void =>
    onChange(columns.map((column, index) => (index === at ? { ...column, ...part } : column)));
  return (
    <section aria-label="Columns">
      <h2>Columns</h2>
      <datalist id={listId}>
        {TYPES.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
      <div class="column-choices">
        {columns.map((column, index) => (
          <ChoiceRow key={column.source} column={column} listId={listId} onChange={(part) => change(index, part)} />
        ))}
      </div>
    </section>
  );
}

interface ChoiceRowProps {
  readonly column: ChosenColumn;
  readonly listId: string;
  readonly onChange: (part: Partial<ChosenColumn>) => void;
}

function ChoiceRow({ column, listId, onChange }: ChoiceRowProps): JSX.Element {
  const { source, sourceType, name, type, isKept } = column;
  return (
    <div class={isKept ? 'choice' : 'choice skipped'}>
      <input
        type="checkbox"
        aria-label={`Load ${source}`}
        checked={isKept}
        onChange={(event) => onChange({ isKept: event.currentTarget.checked })}
      />
      <input
        type="text"
        aria-label={`Name of ${source}`}
        value={name}
        disabled={!isKept}
        onInput={(event) => onChange({ name: event.currentTarget.value })}
      />
      <input
        type="text"
        class="mono"
        aria-label={`Type of ${source}`}
        list={listId}
        value={type}
        disabled={!isKept}
        onChange={(event) => onChange({ type: event.currentTarget.value })}
      />
      <span class="hint">
        {name === source ? '' : `from ${source} `}
        {type === sourceType ? '' : `was ${sourceType}`}
      </span>
    </div>
  );
}
