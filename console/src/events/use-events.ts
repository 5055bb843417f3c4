import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiClient } from '../../../src/client/api-client.ts';
import { ClientError } from '../../../src/client/client-error.ts';
import { followEvents } from '../../../src/client/events.ts';
import { isWanted } from '../../../src/model/events/commit.ts';
import type { NamespacePath } from '../../../src/model/identifier.ts';
import type { ListTransactionsReply, Transaction } from '../../../src/wire/history/transactions.ts';
import { useClient } from '../api.ts';
import { apiAddress } from '../session.ts';
import { EVENTS_MAX, addEvents, keepEvents, loadEvents } from './kept-events.ts';
import type { KeptEvents } from './kept-events.ts';

export interface FollowedEvents {
  /** Newest first; `undefined` until the first reply. */
  readonly events: readonly Transaction[] | undefined;
  readonly isLive: boolean;
  readonly error: unknown;
}

const RETRY_MILLISECONDS_MIN = 1000;
const RETRY_MILLISECONDS_MAX = 30_000;

/**
 * Commits as they happen. A pause, a hidden page, a lost connection and a reload all end the stream; it then continues
 * after the cursor, and no commit is missed.
 */
export function useEvents(below: NamespacePath, isPaused: boolean): FollowedEvents {
  const client = useClient();
  const isVisible = useVisibility();
  const [state, setState] = useState<FollowedEvents>({ events: undefined, isLive: false, error: undefined });
  const kept = useRef<KeptEvents>(undefined);
  const followed = { server: apiAddress(), database: client.database ?? '', below };
  const inputs = [client, below.join('/')];
  useEffect(() => {
    const keep = (): void => {
      if (kept.current !== undefined) keepEvents(followed, kept.current);
    };
    kept.current = loadEvents(followed);
    setState({ events: kept.current?.events, isLive: false, error: undefined });
    addEventListener('pagehide', keep);
    return () => {
      removeEventListener('pagehide', keep);
      keep();
    };
  }, inputs);
  useEffect(() => {
    if (isPaused || !isVisible) return;
    const ended = new AbortController();
    const { signal } = ended;
    const show = (next: KeptEvents, isLive: boolean): void => {
      if (signal.aborted) return;
      kept.current = next;
      setState({ events: next.events, isLive, error: undefined });
    };
    const follow = async (): Promise<void> => {
      if (kept.current === undefined) show(await readNewest(client, below, signal), false);
      const { cursor } = kept.current ?? {};
      for await (const page of followEvents(client, { below, cursor, signal })) {
        show(addEvents(kept.current ?? { events: [], cursor }, page), true);
      }
    };
    void repeat(follow, signal, (error) => setState((before) => ({ ...before, isLive: false, error })));
    return () => {
      ended.abort();
      setState((before) => ({ ...before, isLive: false }));
    };
  }, [...inputs, isPaused, isVisible]);
  return state;
}

/** Reconnects until the signal fires, with growing pauses; a refusal of the caller ends it. */
async function repeat(
  follow: () => Promise<void>,
  signal: AbortSignal,
  onEnd: (error: unknown) => void,
): Promise<void> {
  for (let wait = RETRY_MILLISECONDS_MIN; ; wait = Math.min(2 * wait, RETRY_MILLISECONDS_MAX)) {
    const startedAt = performance.now();
    const error = await follow().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (signal.aborted) return;
    onEnd(error);
    if (error instanceof ClientError && error.status < 500 && error.status !== 429) return;
    if (performance.now() - startedAt > RETRY_MILLISECONDS_MAX) wait = RETRY_MILLISECONDS_MIN;
    await new Promise((resolve) => setTimeout(resolve, wait));
    if (signal.aborted) return;
  }
}

/** Earlier commits, from the list: the stream starts after them. */
async function readNewest(client: ApiClient, below: NamespacePath, signal: AbortSignal): Promise<KeptEvents> {
  const query = { limit: EVENTS_MAX, newest_first: true };
  const { transactions } = await client.json<ListTransactionsReply>('/v1/transaction/list', { query, signal });
  const filter = { tables: [], namespaces: below.length === 0 ? [] : [below], operations: [] };
  const events = transactions.filter(({ id, renamed_from: formerPath, operation }) =>
    isWanted({ path: id, formerPath, operation }, filter),
  );
  return { events, cursor: transactions[0]?.transaction_id };
}

function useVisibility(): boolean {
  const [isVisible, setIsVisible] = useState(document.visibilityState === 'visible');
  useEffect(() => {
    const update = (): void => setIsVisible(document.visibilityState === 'visible');
    document.addEventListener('visibilitychange', update);
    return () => document.removeEventListener('visibilitychange', update);
  }, []);
  return isVisible;
}
