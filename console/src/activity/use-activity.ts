import { useEffect, useState } from 'preact/hooks';
import { useClient } from '../api.ts';
import type { Sample } from './charts.ts';
import { parseMetricsText } from './prometheus-text.ts';
import type { ApiClient } from '../../../src/client/api-client.ts';
import { listCredentials } from '../access/access-api.ts';
import { useLoad } from '../parts/use-load.ts';
import type { Load } from '../parts/use-load.ts';

/** Five minutes. */
const SAMPLES_MAX = 150;
const EVERY_MILLISECONDS = 2000;

interface Samples {
  readonly samples: readonly Sample[];
  readonly error: unknown;
}

/** Polls the metrics while the page is visible and not paused. */
export function useSamples(isPaused: boolean): Samples {
  const client = useClient();
  const [state, setState] = useState<Samples>({ samples: [], error: undefined });
  useEffect(() => {
    if (isPaused) return;
    const unmounted = new AbortController();
    const read = async (): Promise<void> => {
      if (document.visibilityState !== 'visible') return;
      try {
        const readings = parseMetricsText(await client.text('/metrics', { signal: unmounted.signal }));
        const sample = { at: performance.now(), readings };
        setState(({ samples }) => ({ samples: [...samples, sample].slice(-SAMPLES_MAX), error: undefined }));
      } catch (error) {
        if (!unmounted.signal.aborted) setState(({ samples }) => ({ samples, error }));
      }
    };
    void read();
    const timer = setInterval(() => void read(), EVERY_MILLISECONDS);
    return () => {
      unmounted.abort();
      clearInterval(timer);
    };
  }, [client, isPaused]);
  return state;
}

const NONE: ReadonlyMap<string, string> = new Map();

/** Names of the keys and clients that the user may see, by principal. */
export function useCallerNames(): ReadonlyMap<string, string> {
  const client = useClient();
  return useLoad(async () => namesOfCallers(client), [client]).value ?? NONE;
}

async function namesOfCallers(client: ApiClient): Promise<ReadonlyMap<string, string>> {
  try {
    const [keys, clients] = await Promise.all([listCredentials(client, 'key'), listCredentials(client, 'client')]);
    return new Map([...keys, ...clients].map(({ principal, name }) => [principal, name]));
  } catch {
    return NONE;
  }
}

const RELOAD_MILLISECONDS = 5000;

/** Reloads while the page is visible and not paused. */
export function usePolling<Value>(load: Load<Value>, isPaused: boolean): void {
  useEffect(() => {
    if (isPaused) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') load.reload();
    }, RELOAD_MILLISECONDS);
    return () => clearInterval(timer);
  }, [isPaused, load.reload]);
}
