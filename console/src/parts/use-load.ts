import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

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
  /** The inputs of the value or error; absent while newer ones load. */
  readonly inputs?: readonly unknown[];
}

/** Loads on mount and when `inputs` change; ignores outdated results. `start` is the value until the first result. */
export function useLoad<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  inputs: readonly unknown[],
  start?: Value,
): Load<Value> {
  const [state, setState] = useState<State<Value>>({ value: start, error: undefined });
  const [round, setRound] = useState(0);
  const wanted = [...inputs, round];
  useEffect(() => {
    const unmounted = new AbortController();
    setState((before) => (before.inputs === undefined ? before : { value: before.value, error: before.error }));
    load(unmounted.signal).then(
      (value) => unmounted.signal.aborted || setState({ value, error: undefined, inputs: wanted }),
      (error: unknown) => unmounted.signal.aborted || setState({ value: undefined, error, inputs: wanted }),
    );
    return () => unmounted.abort();
  }, wanted);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  // Also true in the frame before the effect, so that no result of earlier inputs is used for these.
  const isLoading = state.inputs?.every((input, index) => Object.is(input, wanted[index])) !== true;
  return { value: state.value, error: state.error, isLoading, reload };
}

interface Task {
  readonly isRunning: boolean;
  readonly error: unknown;
  readonly run: () => void;
}

/** A user action: one at a time; its error is kept until the next attempt. */
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

/**
 * What the user typed, until `key` changes: then `given` again. Decided during rendering, not in an effect after it,
 * which would overwrite what was typed in between.
 */
export function useDraft<Value>(given: Value, key: unknown = given): readonly [Value, (value: Value) => void] {
  const kept = useRef({ key, value: given });
  const [, setRound] = useState(0);
  if (kept.current.key !== key) kept.current = { key, value: given };
  const change = (value: Value): void => {
    if (kept.current.key === key && Object.is(kept.current.value, value)) return;
    kept.current = { key, value };
    setRound((before) => before + 1);
  };
  return [kept.current.value, change];
}

export function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Tiltyard`;
  }, [title]);
}
