import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface Modal {
  readonly ref: RefObject<HTMLDialogElement | null>;
  readonly onCancel: (event: Event) => void;
  readonly onClose: () => void;
}

/**
 * Shows a `<dialog>`, which traps the focus and restores it when it is closed.
 * The browser tells later that a dialog was closed, when the next key may already have opened another one:
 * `onClosed` is called at once, and only once.
 */
export function useModal(onClosed: () => void): readonly [modal: Modal, close: () => void] {
  const ref = useRef<HTMLDialogElement>(null);
  const isClosed = useRef(false);
  useEffect(() => ref.current?.showModal(), []);
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
