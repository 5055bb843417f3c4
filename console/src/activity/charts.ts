import { formatCount, formatBytes } from '../parts/format.ts';
import { formatTime } from '../../../src/plans/format-figure.ts';
import { quantileBetween, sumOf } from './prometheus-text.ts';
import type { Reading } from './prometheus-text.ts';
import type { ActivityPoint } from '../../../src/telemetry/metrics/activity-history.ts';

export interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly readings: readonly Reading[];
}

/** The figures at one time, in the order of the charts and their lines; null if there was nothing to measure. */
export interface Point {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly values: readonly (number | null)[];
}

export interface Line {
  readonly label: string;
  readonly look: 'accent' | 'good' | 'warn' | 'bad';
  /** One for each point. */
  readonly values: readonly (number | null)[];
}

export interface Chart {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
}

/** Computes a value from a sample and the previous one, which the first sample lacks. */
type Measure = (now: Sample, before: Sample | undefined) => number | undefined;

interface LineSpec {
  readonly label: string;
  readonly look: Line['look'];
  readonly measure: Measure;
  /** Its name in the server's history. */
  readonly past: Exclude<keyof ActivityPoint, 'at'>;
}

interface ChartSpec {
  readonly title: string;
  readonly format: (value: number) => string;
  readonly lines: readonly LineSpec[];
}

const perSecond =
  (name: string, labels: Readonly<Record<string, RegExp>> = {}): Measure =>
  (now, before) => {
    if (before === undefined) return undefined;
    const seconds = (now.at - before.at) / 1000;
    // Late replies arrive together.
    if (seconds <= 0) return undefined;
    // A replaced worker starts its counters at 0.
    return Math.max(0, sumOf(now.readings, name, labels) - sumOf(before.readings, name, labels)) / seconds;
  };

const gauge =
  (name: string, labels: Readonly<Record<string, string>> = {}): Measure =>
  (now) =>
    sumOf(now.readings, name, labels);

const quantile =
  (histogram: string, part: number): Measure =>
  (now, before) =>
    before === undefined ? undefined : quantileBetween(before.readings, now.readings, histogram, part);

const rate = (value: number): string => `${value >= 10 ? formatCount(Math.round(value)) : Number(value.toFixed(1))}/s`;
const whole = (value: number): string => formatCount(Math.round(value));
const seconds = (value: number): string => formatTime(value * 1e9);

const SPECS: readonly ChartSpec[] = [
  {
    title: 'Requests',
    format: rate,
    lines: [
      {
        label: 'succeeded',
        look: 'accent',
        measure: perSecond('tiltyard_requests_total', { status: /^[23]/ }),
        past: 'succeeded_per_second',
      },
      {
        label: 'refused',
        look: 'warn',
        measure: perSecond('tiltyard_requests_total', { status: /^4/ }),
        past: 'refused_per_second',
      },
      {
        label: 'failed',
        look: 'bad',
        measure: perSecond('tiltyard_requests_total', { status: /^5/ }),
        past: 'failed_per_second',
      },
    ],
  },
  {
    title: 'Latency',
    format: seconds,
    lines: [
      { label: 'p50', look: 'good', measure: quantile('tiltyard_request_duration_seconds', 0.5), past: 'p50_seconds' },
      {
        label: 'p95',
        look: 'accent',
        measure: quantile('tiltyard_request_duration_seconds', 0.95),
        past: 'p95_seconds',
      },
      { label: 'p99', look: 'warn', measure: quantile('tiltyard_request_duration_seconds', 0.99), past: 'p99_seconds' },
    ],
  },
  {
    title: 'In flight',
    format: whole,
    lines: [
      { label: 'requests', look: 'accent', measure: gauge('tiltyard_requests_under_way'), past: 'in_flight' },
      { label: 'queued', look: 'warn', measure: gauge('tiltyard_admission_waiting'), past: 'queued' },
    ],
  },
  {
    title: 'Write queues',
    format: whole,
    lines: [
      {
        label: 'tables written',
        look: 'accent',
        measure: gauge('tiltyard_write_lanes_running'),
        past: 'tables_written',
      },
      { label: 'writes queued', look: 'warn', measure: gauge('tiltyard_write_lanes_waiting'), past: 'writes_queued' },
    ],
  },
  {
    title: 'Jobs',
    format: whole,
    lines: [
      { label: 'running', look: 'accent', measure: gauge('tiltyard_jobs', { state: 'running' }), past: 'jobs_running' },
      { label: 'queued', look: 'warn', measure: gauge('tiltyard_jobs', { state: 'waiting' }), past: 'jobs_queued' },
    ],
  },
  {
    title: 'Memory',
    format: formatBytes,
    lines: [
      {
        label: 'resident',
        look: 'accent',
        measure: gauge('tiltyard_memory_bytes', { kind: 'rss' }),
        past: 'memory_bytes',
      },
    ],
  },
];

const PASTS = SPECS.flatMap(({ lines }) => lines.map(({ past }) => past));
const MEASURES = SPECS.flatMap(({ lines }) => lines.map(({ measure }) => measure));

/** The number of values in a point. */
export const FIGURES = MEASURES.length;

/** A point of the server's history. */
export function toPastPoint(past: ActivityPoint): Point {
  return { at: past.at, values: PASTS.map((name) => past[name] ?? null) };
}

export function toPoint(now: Sample, before: Sample | undefined): Point {
  return { at: now.at, values: MEASURES.map((measure) => measure(now, before) ?? null) };
}

export function toCharts(points: readonly Point[]): readonly Chart[] {
  let figure = 0;
  return SPECS.map(({ title, format, lines }) => ({
    title,
    format,
    lines: lines.map(({ label, look }) => {
      const at = figure;
      figure += 1;
      return { label, look, values: points.map(({ values }) => values[at] ?? null) };
    }),
  }));
}
