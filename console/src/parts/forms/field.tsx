import type { ComponentChildren, JSX, TargetedEvent } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  /** Replaces the hint. */
  readonly fault?: string | undefined;
  readonly children: (ids: { readonly id: string; readonly hintId: string }) => ComponentChildren;
}

export function Field({ label, hint, fault, children }: FieldProps): JSX.Element {
  const id = useId();
  const hintId = `${id}-hint`;
  const note = fault ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, hintId })}
      {note === undefined ? null : (
        <p id={hintId} class={fault === undefined ? 'hint' : 'hint bad'}>
          {note}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: string | undefined;
  readonly fault?: string | undefined;
  readonly isSecret?: boolean;
  readonly isNumber?: boolean;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
  readonly isMono?: boolean;
  readonly hasFocus?: boolean;
}

export function TextField(props: TextFieldProps): JSX.Element {
  const { label, value, onChange, hint, fault } = props;
  return (
    <Field label={label} hint={hint} fault={fault}>
      {({ id, hintId }) => {
        const given = {
          id,
          value,
          placeholder: props.placeholder,
          required: props.isRequired ?? false,
          autocomplete: 'off',
          spellcheck: false,
          autofocus: props.hasFocus ?? false,
          'aria-invalid': fault !== undefined,
          'aria-describedby': hint === undefined && fault === undefined ? undefined : hintId,
          onInput: (event: TargetedEvent<HTMLInputElement>) => onChange(event.currentTarget.value),
        };
        const look = props.isMono === true ? 'mono' : '';
        return props.isSecret === true ? (
          <input {...given} class={look} type="password" />
        ) : (
          <input {...given} class={look} type="text" inputMode={props.isNumber === true ? 'numeric' : undefined} />
        );
      }}
    </Field>
  );
}

export interface Option {
  readonly value: string;
  readonly label?: string;
}

interface SelectFieldProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly Option[];
  readonly onChange: (value: string) => void;
  readonly hint?: string | undefined;
}

export function SelectField({ label, value, options, onChange, hint }: SelectFieldProps): JSX.Element {
  return (
    <Field label={label} hint={hint}>
      {({ id, hintId }) => (
        <select
          id={id}
          value={value}
          aria-describedby={hint === undefined ? undefined : hintId}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value} selected={option.value === value}>
              {option.label ?? option.value}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface CheckFieldProps {
  readonly label: string;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
}

export function CheckField({ label, isChecked, onChange }: CheckFieldProps): JSX.Element {
  return (
    <label class="check">
      <input type="checkbox" checked={isChecked} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  );
}

interface SegmentsProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [Value, string])[];
  readonly onChange: (value: Value) => void;
}

export function Segments<Value extends string>(props: SegmentsProps<Value>): JSX.Element {
  const { label, value, options, onChange } = props;
  const name = useId();
  return (
    <div class="segments" role="radiogroup" aria-label={label}>
      {options.map(([each, words]) => (
        <label key={each}>
          <input type="radio" name={name} checked={each === value} onChange={() => onChange(each)} />
          <span>{words}</span>
        </label>
      ))}
    </div>
  );
}
