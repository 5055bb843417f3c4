import type { TelemetryEvent } from '../events.ts';
import { HISTOGRAMS } from './metric-rows.ts';
import type { Readings } from './metric-rows.ts';

/** The figures of one interval; quantiles are absent if no request ended in it. */
export interface ActivityPoint {
  /** The end of the interval, in milliseconds since 1970. */
  readonly at: number;
  readonly succeeded_per_second: number;
  readonly refused_per_second: number;
  readonly failed_per_second: number;
  readonly p50_seconds?: number;
  readonly p95_seconds?: number;
  readonly p99_seconds?: number;
  readonly in_flight: number;
  readonly queued: number;
  readonly tables_written: number;
  readonly writes_queued: number;
  readonly jobs_running: number;
  readonly jobs_queued: number;
  readonly memory_bytes: number;
}

type Gauges = Pick<
  Readings,
  'requestsInFlight' | 'admissionWaiting' | 'queuesRunning' | 'queuesWaiting' | 'jobs' | 'memory'
>;

const EVERY_SECONDS = 10;
const BOUNDS = HISTOGRAMS.requestSeconds.buckets;

/** The metrics of the last minutes in memory, so that charts do not start empty. */
export class ActivityHistory {
  readonly #pointsMax: number;
  readonly #points: ActivityPoint[] = [];
  /** Requests since the last point, by the first digit of the status. */
  readonly #requests = zeros(6);
  /** Requests since the last point, by bucket; the last bucket has no upper bound. */
  readonly #durations = zeros(BOUNDS.length + 1);

  constructor(pointsMax: number) {
    this.#pointsMax = pointsMax;
  }

  count(event: TelemetryEvent): void {
    if (event.kind !== 'request-finished' && event.kind !== 'requests-refused') return;
    const count = event.kind === 'requests-refused' ? event.count : 1;
    add(this.#requests, Math.trunc(event.status / 100), count);
    if (event.kind === 'requests-refused') return;
    const bucket = BOUNDS.findIndex((bound) => event.milliseconds <= bound * 1000);
    add(this.#durations, bucket < 0 ? BOUNDS.length : bucket, 1);
  }

  /** Takes a point every ten seconds until it is closed. */
  follow(read: () => Gauges, clock: () => number): { close(): void } {
    if (this.#pointsMax === 0) return { close: () => undefined };
    const timer = setInterval(() => this.take(read(), clock()), EVERY_SECONDS * 1000).unref();
    return { close: () => clearInterval(timer) };
  }

  /** Oldest first. */
  list(): readonly ActivityPoint[] {
    return this.#points;
  }

  /** Ends an interval. */
  take(readings: Gauges, at: number): void {
    const [, , done = 0, redirected = 0, refused = 0, failed = 0] = this.#requests;
    this.#points.push({
      at,
      succeeded_per_second: (done + redirected) / EVERY_SECONDS,
      refused_per_second: refused / EVERY_SECONDS,
      failed_per_second: failed / EVERY_SECONDS,
      ...quantiles(this.#durations),
      in_flight: sum(readings.requestsInFlight),
      queued: sum(readings.admissionWaiting),
      tables_written: sum(readings.queuesRunning),
      writes_queued: sum(readings.queuesWaiting),
      jobs_running: part(readings.jobs, 'running'),
      jobs_queued: part(readings.jobs, 'waiting'),
      memory_bytes: part(readings.memory, 'rss'),
    });
    if (this.#points.length > this.#pointsMax) this.#points.shift();
    this.#requests.fill(0);
    this.#durations.fill(0);
  }
}

function zeros(length: number): number[] {
  return Array.from({ length }, () => 0);
}

function add(counts: number[], at: number, count: number): void {
  counts[at] = (counts[at] ?? 0) + count;
}

type Reading = Readings[keyof Readings];

function sum(reading: Reading): number {
  return typeof reading === 'number' ? reading : Object.values(reading).reduce((all, each) => all + each, 0);
}

function part(reading: Reading, label: string): number {
  return typeof reading === 'number' ? reading : (reading[label] ?? 0);
}

function quantiles(durations: readonly number[]): Partial<ActivityPoint> {
  const all = durations.reduce((total, count) => total + count, 0);
  if (all === 0) return {};
  return {
    p50_seconds: quantile(durations, all * 0.5),
    p95_seconds: quantile(durations, all * 0.95),
    p99_seconds: quantile(durations, all * 0.99),
  };
}

/** Interpolated linearly within its bucket, as the console does with the metrics. */
function quantile(durations: readonly number[], wanted: number): number {
  let below = 0;
  for (const [at, count] of durations.entries()) {
    const [low, bound] = [BOUNDS[at - 1] ?? 0, BOUNDS[at]];
    if (bound === undefined) return low;
    if (below + count >= wanted) return low + ((bound - low) * (wanted - below)) / Math.max(1, count);
    below += count;
  }
  return 0;
}
