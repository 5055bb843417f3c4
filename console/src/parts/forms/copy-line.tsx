import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Button } from '../button.tsx';
import { toast } from '../toast-store.ts';
import { Field } from './field.tsx';

interface CopyLineProps {
  readonly label: string;
  readonly text: string;
}

/** A text to copy, such as a command or a secret. */
export function CopyLine({ label, text }: CopyLineProps): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const copy = (): void => {
    input.current?.select();
    // Without a secure context there is no clipboard, so select the text for Ctrl+C.
    void navigator.clipboard?.writeText(text).then(() => toast(`${label} copied.`));
  };
  return (
    <Field label={label}>
      {({ id }) => (
        <div class="joined">
          <input
            id={id}
            ref={input}
            class="mono"
            readOnly
            value={text}
            onFocus={(event) => event.currentTarget.select()}
          />
          <Button icon="copy" onClick={copy}>
            Copy
          </Button>
        </div>
      )}
    </Field>
  );
}
