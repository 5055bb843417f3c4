import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { wordsOf } from './error-box.tsx';
import { closeToast, shownToasts, subscribeToasts, toast } from './toast-store.ts';

export { toast, toastWithAction } from './toast-store.ts';

/** For tasks that fail after their component was removed. */
export function toastError(error: unknown, task = ''): void {
  const { message, hint = '' } = wordsOf(error);
  toast(`${task} ${message} ${hint}`.trim(), 'bad');
}

export function Toasts(): JSX.Element {
  const [, setRound] = useState(0);
  // Not after the paint: toasts before it would be missed.
  useLayoutEffect(() => subscribeToasts(() => setRound((before) => before + 1)), []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shownToasts().map(({ id, text, kind, action }) => (
        <div key={id} class={`toast ${kind}`}>
          <span>{text}</span>
          {action === undefined ? null : <Button onClick={() => (closeToast(id), action.run())}>{action.label}</Button>}
          <Button kind="quiet" icon="close" label="Close" onClick={() => closeToast(id)} />
        </div>
      ))}
    </div>
  );
}
