import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { wordsOf } from './error-box.tsx';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: 'good' | 'bad';
}

const SHOWN_MAX = 4;
const GOOD_MILLISECONDS = 5000;
const BAD_MILLISECONDS = 12_000;

let shown: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(toasts: readonly Toast[]): void {
  shown = toasts.slice(-SHOWN_MAX);
  for (const listener of listeners) listener();
}

export function toast(text: string, kind: Toast['kind'] = 'good'): void {
  lastId += 1;
  const id = lastId;
  change([...shown, { id, text, kind }]);
  setTimeout(() => close(id), kind === 'good' ? GOOD_MILLISECONDS : BAD_MILLISECONDS);
}

/** For tasks that fail after their component is gone. */
export function toastError(error: unknown): void {
  const { message, hint } = wordsOf(error);
  toast(hint === undefined ? message : `${message} ${hint}`, 'bad');
}

function close(id: number): void {
  change(shown.filter((each) => each.id !== id));
}

export function Toasts(): JSX.Element {
  const [, setRound] = useState(0);
  useEffect(() => {
    const listener = (): void => setRound((before) => before + 1);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, kind }) => (
        <div key={id} class={`toast ${kind}`}>
          <span>{text}</span>
          <Button kind="quiet" icon="close" label="Close" onClick={() => close(id)} />
        </div>
      ))}
    </div>
  );
}
