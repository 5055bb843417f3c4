import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { JsonValue } from '../../../../../src/client/rows.ts';
import { Button } from '../../../parts/button.tsx';
import { FormDialog } from '../../../parts/dialog.tsx';
import { Field } from '../../../parts/forms/field.tsx';
import type { FieldShape } from '../../../parts/grid/field-type.ts';
import { isText, typeText } from '../../../parts/grid/field-type.ts';
import { exampleOf, fromAreaText, fromEditText, isEditedAsJson, toAreaText, toEditText } from './edit-value.ts';

interface CellEditorProps {
  readonly field: FieldShape;
  readonly value: JsonValue | undefined;
  /** Throws when the value does not fit the column. */
  readonly onSave: (value: JsonValue) => void;
  readonly onClose: () => void;
}

/** In the cell: Enter saves, Escape cancels, leaving the cell also saves. */
export function CellEditor(props: CellEditorProps): JSX.Element {
  return props.field.type.type === 'bool' ? <FlagEditor {...props} /> : <LineEditor {...props} />;
}

function LineEditor({ field, value, onSave, onClose }: CellEditorProps): JSX.Element {
  const [text, setText] = useState(toEditText(value));
  const wasNull = value === null || value === undefined;
  const [isNull, setIsNull] = useState(wasNull);
  const [fault, setFault] = useState<string>();
  const input = useRef<HTMLInputElement>(null);
  const isClosed = useRef(false);
  const faultId = useId();
  const shownFault = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => input.current?.select(), []);
  // Below a cell at the edge of the grid, it would be cut off.
  useLayoutEffect(() => shownFault.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [fault]);
  const close = (work: () => void): void => {
    if (isClosed.current) return;
    try {
      work();
      isClosed.current = true;
      focusCell(input.current);
      onClose();
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  const isEmptied = wasNull && !isNull && isText(field.type);
  const save = (): void =>
    close(() => (text === toEditText(value) && !isEmptied ? undefined : onSave(fromEditText(text, field.type))));
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') save();
    else if (event.key === 'Escape') close(() => undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span class="cell-editor">
      <input
        ref={input}
        aria-label={`New value of ${field.name}`}
        aria-invalid={fault !== undefined}
        aria-describedby={fault === undefined ? undefined : faultId}
        placeholder={isNull ? 'null' : exampleOf(field.type)}
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setIsNull(false);
        }}
        onKeyDown={onKeyDown}
        onBlur={save}
      />
      {field.nullable ? (
        <button
          type="button"
          class="to-null"
          title={`Set ${field.name} to null`}
          tabIndex={-1}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => close(() => onSave(null))}
        >
          null
        </button>
      ) : null}
      {fault === undefined ? null : (
        <span ref={shownFault} class="cell-fault" id={faultId} role="alert">
          {fault}
        </span>
      )}
    </span>
  );
}

function focusCell(element: HTMLElement | null): void {
  element?.closest<HTMLElement>('[data-cell]')?.focus();
}

function FlagEditor({ field, value, onSave, onClose }: CellEditorProps): JSX.Element {
  const select = useRef<HTMLSelectElement>(null);
  useLayoutEffect(() => select.current?.focus(), []);
  const choose = (text: string): void => {
    onSave(text === '' ? null : text === 'true');
    focusCell(select.current);
    onClose();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' && event.key !== 'Enter') return;
    event.preventDefault();
    event.stopPropagation();
    focusCell(select.current);
    onClose();
  };
  const options = ['true', 'false', ...(field.nullable ? [''] : [])];
  return (
    <span class="cell-editor">
      <select
        ref={select}
        aria-label={`New value of ${field.name}`}
        value={toEditText(value)}
        onChange={(event) => choose(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onBlur={onClose}
      >
        {options.map((option) => (
          <option key={option} value={option} selected={option === toEditText(value)}>
            {option === '' ? 'null' : option}
          </option>
        ))}
      </select>
    </span>
  );
}

const ROWS = 12;

/** For lists, structs, vectors, bytes and long texts. */
export function DialogEditor({ field, value, onSave, onClose }: CellEditorProps): JSX.Element {
  const [text, setText] = useState(toAreaText(value));
  const [isNull, setIsNull] = useState(value === null || value === undefined);
  const save = async (): Promise<void> => onSave(isNull ? null : fromAreaText(text, field.type, value));
  const hint = isEditedAsJson(value)
    ? 'A JSON string, because the line ends of this text differ: \\r\\n, \\n or \\r'
    : `For example ${exampleOf(field.type) || 'any text'}`;
  return (
    <FormDialog title={`Edit ${field.name}`} action="Save" isWide onSubmit={save} onClose={onClose}>
      <Field label={typeText(field.type)} hint={hint}>
        {({ id, hintId }) => (
          <textarea
            id={id}
            class="mono"
            rows={ROWS}
            aria-describedby={hintId}
            spellcheck={false}
            placeholder={isNull ? 'null' : ''}
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setIsNull(false);
            }}
          />
        )}
      </Field>
      {field.nullable ? (
        <div class="actions">
          <Button onClick={() => (setText(''), setIsNull(true))} isPressed={isNull}>
            Set to null
          </Button>
        </div>
      ) : null}
    </FormDialog>
  );
}
