interface ToastAction {
  readonly label: string;
  readonly run: () => void;
}

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: 'good' | 'bad';
  readonly action: ToastAction | undefined;
}

const SHOWN_MAX = 4;
const GOOD_MILLISECONDS = 5000;
const BAD_MILLISECONDS = 12_000;
const ACTION_MILLISECONDS = 30_000;

let shown: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

/** Shows a short message at the edge of the page for some seconds. */
export function toast(text: string, kind: Toast['kind'] = 'good'): void {
  show({ text, kind, action: undefined }, kind === 'good' ? GOOD_MILLISECONDS : BAD_MILLISECONDS);
}

/** Stays longer, and closes when the action is chosen. */
export function toastWithAction(text: string, action: ToastAction): void {
  show({ text, kind: 'good', action }, ACTION_MILLISECONDS);
}

export function closeToast(id: number): void {
  change(shown.filter((each) => each.id !== id));
}

export function shownToasts(): readonly Toast[] {
  return shown;
}

export function subscribeToasts(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

function show(words: Omit<Toast, 'id'>, milliseconds: number): void {
  lastId += 1;
  const id = lastId;
  change([...shown, { id, ...words }]);
  setTimeout(() => closeToast(id), milliseconds);
}

function change(toasts: readonly Toast[]): void {
  shown = toasts.slice(-SHOWN_MAX);
  for (const listener of listeners) listener();
}
