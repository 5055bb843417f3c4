import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MaintenanceDone, RequestFinished, RequestsRefused, TelemetryEvent } from '../events.ts';
import { COUNTERS, HISTOGRAMS, READINGS } from './metric-rows.ts';
import type { MetricRow, Readings } from './metric-rows.ts';

export interface MetricsText {
  readonly mediaType: string;
  readonly text: string;
}

/** The second reader of the events, beside the log, and of what is too frequent to be an event. */
export interface Metrics {
  count(event: TelemetryEvent): void;
  engineCalled(call: string, milliseconds: number): void;
  /** How many writes shared a commit of the engine. */
  writesCommitted(kind: string, members: number): void;
  eventLoopDelayed(milliseconds: number): void;
  /** In the text format of Prometheus. */
  read(readings: Readings): Promise<MetricsText>;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  const counters = mapRows(COUNTERS, (row) => new Counter({ ...settingsOf(row), registers: [registry] }));
  const histograms = mapRows(
    HISTOGRAMS,
    (row) => new Histogram({ ...settingsOf(row), buckets: [...row.buckets], registers: [registry] }),
  );
  const readings = mapRows(READINGS, (row) => {
    const settings = { ...settingsOf(row), registers: [registry] };
    return row.type === 'gauge' ? new Gauge(settings) : new Counter(settings);
  });
  const events = new EventCounts(counters, histograms);
  return {
    count: (event) => events.count(event),
    engineCalled: (call, milliseconds) => histograms.engineSeconds.observe({ call }, milliseconds / 1000),
    writesCommitted(kind, members) {
      histograms.writeBatch.observe({ kind }, members);
      if (kind === 'update') histograms.updateGroup.observe(members);
    },
    eventLoopDelayed: (milliseconds) => histograms.eventLoopDelay.observe(milliseconds / 1000),
    async read(values) {
      for (const name of Object.keys(READINGS).filter(isReading)) show(readings[name], READINGS[name], values[name]);
      return { mediaType: registry.contentType, text: await registry.metrics() };
    },
  };
}

type CounterSet = Readonly<Record<keyof typeof COUNTERS, Counter>>;
type HistogramSet = Readonly<Record<keyof typeof HISTOGRAMS, Histogram>>;

class EventCounts {
  readonly #counters: CounterSet;
  readonly #histograms: HistogramSet;

  constructor(counters: CounterSet, histograms: HistogramSet) {
    this.#counters = counters;
    this.#histograms = histograms;
  }

  count(event: TelemetryEvent): void {
    const counters = this.#counters;
    switch (event.kind) {
      case 'request-finished':
        this.#countRequests(event, 1);
        this.#histograms.requestSeconds.observe({ operation: event.operation ?? 'none' }, event.milliseconds / 1000);
        break;
      case 'requests-refused':
        this.#countRequests(event, event.count);
        break;
      case 'unknown-fields-ignored':
        counters.unknownFields.inc({ operation: event.operation }, event.names.length);
        break;
      case 'slow-query':
        counters.slowQueries.inc({ operation: event.operation });
        break;
      case 'connections-refused':
        counters.connectionsRefused.inc(event.count);
        break;
      case 'key-set-fetched':
      case 'key-set-failed':
        counters.keySetFetches.inc({ outcome: event.kind === 'key-set-failed' ? 'failed' : 'done' });
        break;
      case 'background-failed':
        counters.backgroundFailures.inc();
        break;
      case 'manifest-quarantined':
        counters.manifestsQuarantined.inc();
        break;
      case 'job-ended':
        counters.jobs.inc({ job: event.job, outcome: event.outcome });
        this.#histograms.jobSeconds.observe({ job: event.job }, event.milliseconds / 1000);
        break;
      case 'maintenance-done':
        this.#countMaintenance(event);
        break;
      default:
    }
  }

  #countRequests(event: RequestFinished | RequestsRefused, count: number): void {
    const { operation = 'none', status, dialect, bytesIn, bytesOut, errorKind } = event;
    const counters = this.#counters;
    counters.requests.inc({ operation, status: STATUS_CLASSES[Math.trunc(status / 100)] ?? 'other', dialect }, count);
    if (bytesIn > 0) counters.bytesIn.inc({ operation }, bytesIn);
    if (bytesOut > 0) counters.bytesOut.inc({ operation }, bytesOut);
    if (errorKind !== undefined) counters.refusals.inc({ kind: errorKind }, count);
  }

  #countMaintenance(event: MaintenanceDone): void {
    const counters = this.#counters;
    counters.maintenanceRuns.inc({ outcome: event.isLost ? 'lost' : 'done' });
    counters.maintenanceVersions.inc(event.versionsRemoved);
    counters.maintenanceBytes.inc(event.bytesRemoved);
    counters.maintenanceLaneSeconds.inc(event.laneMilliseconds / 1000);
  }
}

const STATUS_CLASSES = ['other', '1xx', '2xx', '3xx', '4xx', '5xx'];

function settingsOf({ name, help, labels }: MetricRow) {
  return { name, help, labelNames: [...labels] };
}

/** What is read is the whole value, also where it only grows. */
function show(metric: Gauge | Counter, { labels: [label] }: MetricRow, value: Readings[keyof Readings]): void {
  metric.reset();
  if (typeof value === 'number') metric.inc(value);
  else if (label !== undefined) for (const [key, each] of Object.entries(value)) metric.inc({ [label]: key }, each);
}

function isReading(name: string): name is keyof Readings {
  return Object.hasOwn(READINGS, name);
}

function mapRows<Name extends string, Row, Made>(
  rows: Readonly<Record<Name, Row>>,
  make: (row: Row) => Made,
): Readonly<Record<Name, Made>> {
  const made = Object.entries<Row>(rows).map(([name, row]) => [name, make(row)]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The same names as those of the rows.
  return Object.fromEntries(made) as Readonly<Record<Name, Made>>;
}

const SAMPLE_MILLISECONDS = 100;

export interface EventLoopWatch {
  close(): void;
}

/** Tells how late a timer came: whatever keeps the event loop busy keeps every request waiting as long. */
export function watchEventLoop(onDelay: (milliseconds: number) => void): EventLoopWatch {
  let dueAt = performance.now() + SAMPLE_MILLISECONDS;
  const timer = setInterval(() => {
    const now = performance.now();
    onDelay(Math.max(0, now - dueAt));
    dueAt = now + SAMPLE_MILLISECONDS;
  }, SAMPLE_MILLISECONDS);
  timer.unref();
  return { close: () => clearInterval(timer) };
}
