import { useLayoutEffect, useState } from 'preact/hooks';
import { newKey } from '../api.ts';
import { formatCountOf } from '../parts/format.ts';
import { toast, toastError } from '../parts/toasts.tsx';
import type { Session } from '../session.ts';
import type { OpenedFile } from './opened-file.ts';
import { sendFile } from './send-file.ts';
import type { LoadTarget, Loaded, Progress } from './send-file.ts';

export interface KeptLoad {
  readonly opened: OpenedFile;
  readonly target: LoadTarget;
  readonly stop: () => void;
  readonly isRunning: boolean;
  readonly progress?: Progress;
  readonly error?: unknown;
  readonly loaded?: Loaded;
}

/** By database: a load continues while other views are shown, and is kept until the user has seen its result. */
const LOADS = new Map<string, KeptLoad>();
/** By database: re-renders the view that shows its load. */
const VIEWS = new Map<string, () => void>();

export function useKeptLoad(database: string): KeptLoad | undefined {
  const [, setRound] = useState(0);
  // Not after the paint: changes before it would be missed.
  useLayoutEffect(() => {
    VIEWS.set(database, () => setRound((before) => before + 1));
    return () => {
      VIEWS.delete(database);
      if (LOADS.get(database)?.isRunning === false) forgetLoad(database);
    };
  }, [database]);
  return LOADS.get(database);
}

export function forgetLoad(database: string): void {
  LOADS.delete(database);
}

export function stopLoads(): void {
  for (const { stop } of LOADS.values()) stop();
  LOADS.clear();
}

/** One load at a time per database. Never rejects. */
export async function startLoad(opened: OpenedFile, wanted: Omit<LoadTarget, 'key'>, session: Session): Promise<void> {
  const { database } = session;
  const before = LOADS.get(database);
  if (before?.isRunning === true) return;
  const key = before !== undefined && isRepeated(before, opened, wanted) ? before.target.key : newKey();
  const stopped = new AbortController();
  let load: KeptLoad = { opened, target: { ...wanted, key }, stop: () => stopped.abort(), isRunning: true };
  LOADS.set(database, load);
  // Not after sign-out.
  const isKept = (): boolean => LOADS.get(database) === load;
  const change = (part: Partial<KeptLoad>): void => {
    if (!isKept()) return;
    load = { ...load, ...part };
    LOADS.set(database, load);
    VIEWS.get(database)?.();
  };
  const isUnseen = (): boolean => isKept() && !VIEWS.has(database);
  const ended = new AbortController();
  // The browser asks before it closes the page.
  addEventListener('beforeunload', (event) => event.preventDefault(), { signal: ended.signal });
  change({});
  try {
    const onProgress = (progress: Progress): void => change({ progress });
    const loaded = await sendFile(opened, load.target, { session, onProgress, signal: stopped.signal });
    change({ isRunning: false, loaded });
    if (isUnseen()) toast(`Imported ${formatCountOf(loaded.rows, 'row')} into ${loaded.table.join(' / ')}.`);
  } catch (error) {
    change({ isRunning: false, error });
    if (isUnseen()) toastError(error, `Loading ${opened.file.name} failed.`);
  } finally {
    ended.abort();
  }
}

/** The same rows for the same table are loaded once, even if the first reply was lost. */
function isRepeated(
  { opened, target }: KeptLoad,
  openedNow: OpenedFile,
  { table, mode }: Omit<LoadTarget, 'key'>,
): boolean {
  return opened === openedNow && target.mode === mode && target.table.join('/') === table.join('/');
}
