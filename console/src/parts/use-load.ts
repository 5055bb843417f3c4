import { useCallback, useEffect, useState } from 'preact/hooks';

export interface Load<Value> {
  /** What came last; it stays while newer values are on their way. */
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

/** Loads a value when the component appears and whenever one of `inputs` changes; late answers are thrown away. */
export function useLoad<Value>(load: (signal: AbortSignal) => Promise<Value>, inputs: readonly unknown[]): Load<Value> {
  const [state, setState] = useState<State<Value>>({ value: undefined, error: undefined, isLoading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const gone = new AbortController();
    setState((before) => (before.isLoading ? before : { ...before, isLoading: true }));
    load(gone.signal).then(
      (value) => gone.signal.aborted || setState({ value, error: undefined, isLoading: false }),
      (error: unknown) => gone.signal.aborted || setState({ value: undefined, error, isLoading: false }),
    );
    return () => gone.abort();
  }, [...inputs, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  return { ...state, reload };
}

export interface Task {
  readonly isRunning: boolean;
  readonly error: unknown;
  readonly run: () => void;
}

/** Work that a person starts: one at a time, and what went wrong stays until the next try. */
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
