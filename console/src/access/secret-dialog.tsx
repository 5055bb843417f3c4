import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Field } from '../parts/forms/field.tsx';
import { toast } from '../parts/toasts.tsx';
import type { Secret } from './access-api.ts';

interface SecretDialogProps {
  readonly secret: Secret;
  readonly onClose: () => void;
}

/** The secret is shown only here. */
export function SecretDialog({ secret, onClose }: SecretDialogProps): JSX.Element {
  return (
    <Dialog title={`${secret.name} is made`} onClose={onClose}>
      <div class="body">
        <p>Copy it now: the server keeps a digest only, and cannot show it again.</p>
        {secret.lines.map(({ label, text }) => (
          <SecretLine key={label} label={label} text={text} />
        ))}
        <div class="dialog-end">
          <Button kind="primary" onClick={onClose}>
            I have kept it
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

function SecretLine({ label, text }: { readonly label: string; readonly text: string }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const copy = (): void => {
    input.current?.select();
    // Without a secure context there is no clipboard: select the text for Ctrl+C.
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
