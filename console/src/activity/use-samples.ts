import { useEffect, useState } from 'preact/hooks';
import { useClient } from '../api.ts';
import type { Sample } from './charts.ts';
import { parseMetricsText } from './prometheus-text.ts';

/** Five minutes. */
const SAMPLES_MAX = 150;
const EVERY_MILLISECONDS = 2000;

export interface Samples {
  readonly samples: readonly Sample[];
  readonly error: unknown;
}

/** Reads the metrics every two seconds, while the page can be seen and nobody paused. */
export function useSamples(isPaused: boolean): Samples {
  const client = useClient();
  const [state, setState] = useState<Samples>({ samples: [], error: undefined });
  useEffect(() => {
    if (isPaused) return;
    const gone = new AbortController();
    const read = async (): Promise<void> => {
      if (document.visibilityState !== 'visible') return;
      try {
        const readings = parseMetricsText(await client.text('/metrics', { signal: gone.signal }));
        const sample = { at: performance.now(), readings };
        setState(({ samples }) => ({ samples: [...samples, sample].slice(-SAMPLES_MAX), error: undefined }));
      } catch (error) {
        if (!gone.signal.aborted) setState(({ samples }) => ({ samples, error }));
      }
    };
    void read();
    const timer = setInterval(() => void read(), EVERY_MILLISECONDS);
    return () => {
      gone.abort();
      clearInterval(timer);
    };
  }, [client, isPaused]);
  return state;
}
