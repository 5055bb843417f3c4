import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { go } from '../router.ts';
import { Button } from './button.tsx';
import { ErrorBox } from './error-box.tsx';
import { TextField } from './forms/field.tsx';
import { toastError } from './toasts.tsx';
import { useTask } from './use-load.ts';

interface Modal {
  readonly ref: RefObject<HTMLDialogElement | null>;
  readonly onCancel: (event: Event) => void;
  readonly onClose: () => void;
}

/**
 * Shows a `<dialog>`, which traps the focus and restores it when closed. Calls `onClosed` immediately and only once:
 * the browser's `close` event comes later, possibly after the next key has opened another dialog.
 */
export function useModal(onClosed: () => void): readonly [modal: Modal, close: () => void] {
  const ref = useRef<HTMLDialogElement>(null);
  const isClosed = useRef(false);
  // Before the dialog is painted, so that it gets the next key.
  useLayoutEffect(() => ref.current?.showModal(), []);
  const close = (): void => {
    if (isClosed.current) return;
    isClosed.current = true;
    ref.current?.close();
    onClosed();
  };
  const onCancel = (event: Event): void => {
    event.preventDefault();
    close();
  };
  return [{ ref, onCancel, onClose: close }, close];
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly isWide?: boolean;
}

export function Dialog({ title, onClose, children, isWide = false }: DialogProps): JSX.Element {
  const titleId = useId();
  const [modal, close] = useModal(onClose);
  return (
    <dialog {...modal} class={isWide ? 'dialog wide' : 'dialog'} aria-labelledby={titleId}>
      <header>
        <h2 id={titleId}>{title}</h2>
        <Button kind="quiet" icon="close" label="Close" onClick={close} />
      </header>
      {children}
    </dialog>
  );
}

/** Shows another view, unless the user has closed the dialog. */
export type LeadTo = (hash: string) => void;

interface FormDialogProps {
  readonly title: string;
  readonly action: string;
  readonly kind?: 'primary' | 'danger';
  readonly isReady?: boolean;
  readonly isWide?: boolean;
  /** The dialog closes on success and shows errors; after it is closed, a toast shows them. */
  readonly onSubmit: (leadTo: LeadTo) => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function FormDialog(props: FormDialogProps): JSX.Element {
  const { title, action, kind = 'primary', isReady = true, isWide = false, onSubmit, onClose, children } = props;
  const isGone = useRef(false);
  useLayoutEffect(
    () => () => {
      isGone.current = true;
    },
    [],
  );
  const task = useTask(async () => {
    try {
      await onSubmit((hash) => isGone.current || go(hash));
    } catch (error) {
      if (!isGone.current) throw error;
      toastError(error);
    }
    // Another dialog may be open instead.
    if (!isGone.current) onClose();
  });
  const submit = (event: Event): void => {
    event.preventDefault();
    if (isReady) task.run();
  };
  return (
    <Dialog title={title} onClose={onClose} isWide={isWide}>
      <form onSubmit={submit}>
        <div class="stack">{children}</div>
        <ErrorBox error={task.error} />
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button submits kind={kind} isBusy={task.isRunning} isDisabled={!isReady}>
            {action}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

interface ConfirmDialogProps {
  readonly title: string;
  readonly action: string;
  /** Text to type as confirmation of an irreversible action. */
  readonly wantedText?: string;
  readonly isDangerous?: boolean;
  readonly onConfirm: (leadTo: LeadTo) => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function ConfirmDialog(props: ConfirmDialogProps): JSX.Element {
  const { title, action, wantedText, isDangerous = true, onConfirm, onClose, children } = props;
  const [text, setText] = useState('');
  return (
    <FormDialog
      title={title}
      action={action}
      kind={isDangerous ? 'danger' : 'primary'}
      isReady={wantedText === undefined || text === wantedText}
      onSubmit={onConfirm}
      onClose={onClose}
    >
      {children}
      {wantedText === undefined ? null : (
        <TextField label={`Type ${wantedText} to confirm`} value={text} onChange={setText} hasFocus isMono />
      )}
    </FormDialog>
  );
}
