import { formatCount, formatBytes } from '../parts/format.ts';
import { formatTime } from '../../../src/plans/format-figure.ts';
import { quantileBetween, sumOf } from './prometheus-text.ts';
import type { Reading } from './prometheus-text.ts';

export interface Sample {
  readonly at: number;
  readonly readings: readonly Reading[];
}

export interface Line {
  readonly label: string;
  readonly look: 'accent' | 'good' | 'warn' | 'bad';
  readonly values: readonly (number | undefined)[];
}

export interface Chart {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
}

/** Computes a value from a sample and the previous one. */
type Measure = (now: Sample, before: Sample) => number | undefined;

interface LineSpec {
  readonly label: string;
  readonly look: Line['look'];
  readonly measure: Measure;
}

interface ChartSpec {
  readonly title: string;
  readonly format: (value: number) => string;
  readonly lines: readonly LineSpec[];
}

const perSecond =
  (name: string, labels: Readonly<Record<string, RegExp>> = {}): Measure =>
  (now, before) => {
    const seconds = (now.at - before.at) / 1000;
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
    quantileBetween(before.readings, now.readings, histogram, part);

const rate = (value: number): string => `${value >= 10 ? formatCount(Math.round(value)) : Number(value.toFixed(1))}/s`;
const whole = (value: number): string => formatCount(Math.round(value));
const seconds = (value: number): string => formatTime(value * 1e9);

const SPECS: readonly ChartSpec[] = [
  {
    title: 'Requests',
    format: rate,
    lines: [
      { label: 'answered', look: 'accent', measure: perSecond('tiltyard_requests_total', { status: /^[23]/ }) },
      { label: 'refused', look: 'warn', measure: perSecond('tiltyard_requests_total', { status: /^4/ }) },
      { label: 'failed', look: 'bad', measure: perSecond('tiltyard_requests_total', { status: /^5/ }) },
    ],
  },
  {
    title: 'Latency',
    format: seconds,
    lines: [
      { label: 'half below', look: 'good', measure: quantile('tiltyard_request_duration_seconds', 0.5) },
      { label: '95 % below', look: 'accent', measure: quantile('tiltyard_request_duration_seconds', 0.95) },
      { label: '99 % below', look: 'warn', measure: quantile('tiltyard_request_duration_seconds', 0.99) },
    ],
  },
  {
    title: 'Under way',
    format: whole,
    lines: [
      { label: 'requests', look: 'accent', measure: gauge('tiltyard_requests_under_way') },
      { label: 'waiting for a place', look: 'warn', measure: gauge('tiltyard_admission_waiting') },
    ],
  },
  {
    title: 'Write lanes',
    format: whole,
    lines: [
      { label: 'tables being written', look: 'accent', measure: gauge('tiltyard_write_lanes_running') },
      { label: 'writes waiting', look: 'warn', measure: gauge('tiltyard_write_lanes_waiting') },
    ],
  },
  {
    title: 'Jobs',
    format: whole,
    lines: [
      { label: 'running', look: 'accent', measure: gauge('tiltyard_jobs', { state: 'running' }) },
      { label: 'waiting', look: 'warn', measure: gauge('tiltyard_jobs', { state: 'waiting' }) },
    ],
  },
  {
    title: 'Memory',
    format: formatBytes,
    lines: [{ label: 'of the worker', look: 'accent', measure: gauge('tiltyard_memory_bytes', { kind: 'rss' }) }],
  },
];

/** One value for each pair of consecutive samples. */
export function toCharts(samples: readonly Sample[]): readonly Chart[] {
  return SPECS.map(({ title, format, lines }) => ({
    title,
    format,
    lines: lines.map(({ label, look, measure }) => ({
      label,
      look,
      values: samples.slice(1).map((now, index) => {
        const before = samples[index];
        return before === undefined ? undefined : measure(now, before);
      }),
    })),
  }));
}
