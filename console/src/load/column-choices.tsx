import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { SCALAR_TYPES } from '../table/schema/column-type.ts';
import { isDetectedVector } from './opened-file.ts';
import type { ChosenColumn } from './opened-file.ts';

interface ColumnChoicesProps {
  readonly columns: readonly ChosenColumn[];
  readonly onChange: (columns: readonly ChosenColumn[]) => void;
}

/** Suggestions: any type that the server supports can be entered. */
const TYPES = [...SCALAR_TYPES, 'vector[384]', 'list<utf8>'];

export function ColumnChoices({ columns, onChange }: ColumnChoicesProps): JSX.Element {
  const listId = useId();
  const change = (at: number, part: Partial<ChosenColumn>): void =>
    onChange(columns.map((column, index) => (index === at ? { ...column, ...part } : column)));
  return (
    <section aria-label="Columns">
      <h2>Columns</h2>
      <p class="hint">What each column will be, and why. Change a name or a type, or clear the box to leave it out.</p>
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
  const { source, name, type, isKept } = column;
  return (
    <div class={isKept ? 'choice' : 'choice skipped'} role="group" aria-label={source}>
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
      <p class="hint">
        {isDetectedVector(column) && isKept ? (
          <label class="vector-switch">
            <input
              type="checkbox"
              role="switch"
              aria-label={`${source} as vectors`}
              checked={type !== column.sourceType}
              onChange={(event) => {
                onChange({ type: event.currentTarget.checked ? column.detectedType : column.sourceType });
              }}
            />
            Vectors
          </label>
        ) : null}
        <span>{reasonFor(column)}</span>
      </p>
    </div>
  );
}

/** Why a column gets its type. */
function reasonFor({ source, sourceType, detectedType, reason, name, type, isKept }: ChosenColumn): string {
  if (!isKept) return 'Left out.';
  const renamed = name === source ? '' : `From ${source}. `;
  if (type === detectedType && type === sourceType) return `${renamed}${capitalized(reason)}.`;
  if (type === detectedType) return `${renamed}Found: ${reason}.`;
  return `${renamed}Chosen instead of ${detectedType}.`;
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
