import { useCallback, useEffect, useState } from 'preact/hooks';

export interface Load<Value> {
  /** The last value, kept while a newer one loads. */
  readonly value: Value | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface State<Value> {
  readonly value: Value | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
}

/** Loads on mount and when `inputs` change; ignores outdated results. `start` is the value until the first result. */
export function useLoad<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  inputs: readonly unknown[],
  start?: Value,
): Load<Value> {
  const [state, setState] = useState<State<Value>>({ value: start, error: undefined, isLoading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const unmounted = new AbortController();
    setState((before) => (before.isLoading ? before : { ...before, isLoading: true }));
    load(unmounted.signal).then(
      (value) => unmounted.signal.aborted || setState({ value, error: undefined, isLoading: false }),
      (error: unknown) => unmounted.signal.aborted || setState({ value: undefined, error, isLoading: false }),
    );
    return () => unmounted.abort();
  }, [...inputs, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  return { ...state, reload };
}

interface Task {
  readonly isRunning: boolean;
  readonly error: unknown;
  readonly run: () => void;
}

/** A user action: one at a time; its error stays until the next attempt. */
export function useTask(work: () => Promise<void>): Task {
  const [state, setState] = useState<{ isRunning: boolean; error: unknown }>({ isRunning: false, error: undefined });
  const run = (): void => {
    if (state.isRunning) return;
    setState({ isRunning: true, error: undefined });
    work().then(
      () => setState({ isRunning: false, error: undefined }),
      (error: unknown) => setState({ isRunning: false, error }),
    );
  };
  return { ...state, run };
}

export function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Tiltyard`;
  }, [title]);
}
