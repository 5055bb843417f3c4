import { useEffect, useState } from 'preact/hooks';
import type { ApiClient } from '../../../src/client/api-client.ts';
import type { ActivityPoint } from '../../../src/telemetry/metrics/activity-history.ts';
import { useClient } from '../api.ts';
import { useLoad } from '../parts/use-load.ts';
import type { Load } from '../parts/use-load.ts';
import { apiAddress } from '../session.ts';
import { FIGURES, toPastPoint, toPoint } from './charts.ts';
import type { Point, Sample } from './charts.ts';
import { parseMetricsText } from './prometheus-text.ts';

/** A quarter of an hour. */
const POINTS_MAX = 450;
const EVERY_MILLISECONDS = 2000;

interface Figures {
  /** Oldest first, including those of this tab from before a reload. */
  readonly points: readonly Point[];
  readonly error: unknown;
}

/** Polls the metrics while the page is visible and not paused. */
export function useFigures(isPaused: boolean): Figures {
  const client = useClient();
  const [state, setState] = useState<Figures>(() => ({ points: loadPoints(), error: undefined }));
  useEffect(() => {
    if (isPaused) return;
    const unmounted = new AbortController();
    let before: Sample | undefined;
    const read = async (): Promise<void> => {
      if (document.visibilityState !== 'visible') return;
      try {
        const readings = parseMetricsText(await client.text('/metrics', { signal: unmounted.signal }));
        const sample = { at: Date.now(), readings };
        const point = toPoint(sample, before);
        before = sample;
        setState(({ points }) => ({ points: [...points, point].slice(-POINTS_MAX), error: undefined }));
      } catch (error) {
        if (!unmounted.signal.aborted) setState(({ points }) => ({ points, error }));
      }
    };
    void read();
    const timer = setInterval(() => void read(), EVERY_MILLISECONDS);
    return () => {
      unmounted.abort();
      clearInterval(timer);
    };
  }, [client, isPaused]);
  usePast(client, (past) =>
    setState(({ points, error }) => {
      const first = points[0]?.at ?? Number.POSITIVE_INFINITY;
      return { points: [...past.filter(({ at }) => at < first), ...points].slice(-POINTS_MAX), error };
    }),
  );
  useEffect(() => keepPoints(state.points), [state.points]);
  return state;
}

/** What the server measured earlier, read once; without it, the charts start empty. */
function usePast(client: ApiClient, onPast: (points: readonly Point[]) => void): void {
  const { value } = useLoad(
    async () => client.json<{ readonly points: readonly ActivityPoint[] }>('/metrics/history').catch(() => NO_PAST),
    [client],
  );
  useEffect(() => {
    if (value !== undefined) onPast(value.points.map(toPastPoint));
  }, [value]);
}

const NO_PAST = { points: [] };

const STORED_AS = 'tiltyard-activity';

function keepPoints(points: readonly Point[]): void {
  if (points.length > 0) sessionStorage.setItem(STORED_AS, JSON.stringify({ server: apiAddress(), points }));
}

/** Excludes points of another server, or of a release with other measurements. */
function loadPoints(): readonly Point[] {
  const stored: unknown = JSON.parse(sessionStorage.getItem(STORED_AS) ?? 'null');
  if (typeof stored !== 'object' || stored === null || !('server' in stored) || !('points' in stored)) return [];
  const { server, points } = stored;
  return server === apiAddress() && Array.isArray(points) ? points.filter(isPoint).slice(-POINTS_MAX) : [];
}

function isPoint(value: unknown): value is Point {
  if (typeof value !== 'object' || value === null || !('at' in value) || !('values' in value)) return false;
  return typeof value.at === 'number' && Array.isArray(value.values) && value.values.length === FIGURES;
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
