import type { JSX } from 'preact';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { CopyLine } from '../parts/forms/copy-line.tsx';
import type { Secret } from './access-api.ts';

interface SecretDialogProps {
  readonly secret: Secret;
  readonly about?: string;
  readonly onClose: () => void;
}

const DIGEST = 'Copy the secret now. The server stores only a digest of it and cannot show it again.';

/** The secret is shown only here. */
export function SecretDialog({ secret, about = DIGEST, onClose }: SecretDialogProps): JSX.Element {
  return (
    <Dialog title={`Created ${secret.name}`} onClose={onClose}>
      <div class="body">
        <p>{about}</p>
        {secret.lines.map(({ label, text }) => (
          <CopyLine key={label} label={label} text={text} />
        ))}
        <div class="dialog-end">
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
