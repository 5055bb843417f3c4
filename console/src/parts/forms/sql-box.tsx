import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { ClientError, findSqlPosition } from '../../../../src/client/client-error.ts';
import { Icon } from '../icon.tsx';
import { SqlHelp } from './sql-help.tsx';

interface SqlBoxProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** On Enter; Shift+Enter inserts a line break. */
  readonly onSubmit: () => void;
  readonly placeholder?: string;
  /** The error of the last request. */
  readonly error?: unknown;
  /** The name of this text in error messages. */
  readonly place: string;
  readonly fields: readonly string[];
}

/** SQL input with help, and an underline at the position of the error. */
export function SqlBox(props: SqlBoxProps): JSX.Element {
  const { label, value, onChange, onSubmit, error, place, fields } = props;
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (area.current === null) return;
    area.current.style.height = 'auto';
    area.current.style.height = `${area.current.scrollHeight}px`;
  }, [value]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    onSubmit();
  };
  const fault = faultOf(error, place);
  return (
    <div class="sql-box">
      <label for={id} class="hidden">
        {label}
      </label>
      <div class="line">
        <Icon name="filter" />
        <div class="text">
          {fault?.character === undefined ? null : <Mark text={value} character={fault.character} />}
          <textarea
            id={id}
            ref={area}
            rows={1}
            value={value}
            spellcheck={false}
            placeholder={props.placeholder}
            aria-invalid={error !== undefined}
            aria-describedby={fault === undefined ? undefined : `${id}-fault`}
            onInput={(event) => onChange(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
        </div>
        <SqlHelp fields={fields} />
      </div>
      {fault === undefined ? null : (
        <p class="fault" id={`${id}-fault`} role="alert">
          <strong>{fault.message}</strong> {fault.hint}
        </p>
      )}
    </div>
  );
}

interface Fault {
  readonly message: string;
  readonly hint: string | undefined;
  readonly character: number | undefined;
}

function faultOf(error: unknown, place: string): Fault | undefined {
  if (!(error instanceof ClientError)) return undefined;
  const found = findSqlPosition(error.message);
  const character = found?.text === place ? found.character : undefined;
  return { message: error.message, hint: error.hint, character };
}

/** A copy of the text behind the input, of which only the underline is visible. */
function Mark({ text, character }: { readonly text: string; readonly character: number }): JSX.Element {
  const characters = Array.from(text);
  const at = Math.min(character - 1, characters.length);
  const before = characters.slice(0, at).join('');
  const rest = characters.slice(at).join('');
  const word = /^(?:\w+|'[^']*'?|\s*\S)/u.exec(rest)?.[0] ?? ' ';
  return (
    <div class="mark" aria-hidden="true">
      {before}
      <mark>{word}</mark>
      {rest.slice(word.length)}
    </div>
  );
}
