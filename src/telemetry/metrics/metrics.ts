import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { TUNED_SHARES } from '../../model/tuning/search-tuning.ts';
import type { EventOf, TelemetryEvent } from '../events.ts';
import { COUNTERS, FORWARD_FAILURES, HISTOGRAMS, READINGS } from './metric-rows.ts';
import type { ForwardFailure, MetricRow, Readings } from './metric-rows.ts';

export type MetricsText = Awaited<ReturnType<Metrics['read']>>;

/** Consumes events, and measurements that are too frequent to be events. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #counters = mapRows(COUNTERS, (row) => new Counter(this.#toOptions(row)));
  readonly #histograms = mapRows(
    HISTOGRAMS,
    (row) => new Histogram({ ...this.#toOptions(row), buckets: [...row.buckets] }),
  );
  readonly #readings = mapRows(READINGS, (row) =>
    row.type === 'gauge' ? new Gauge(this.#toOptions(row)) : new Counter(this.#toOptions(row)),
  );

  constructor() {
    // Initialized to 0: Prometheus does not see the first step of a counter that begins at 1, and these are rare.
    for (const reason of FORWARD_FAILURES) this.#counters.forwardFailures.inc({ reason }, 0);
    for (const pending of ['true', 'false']) this.#counters.takeovers.inc({ pending }, 0);
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
      case 'quota-exceeded':
        counters.quotaRefusals.inc({ quota: event.quota, subject: event.subject });
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
      case 'heartbeat-failed':
        counters.heartbeatFailures.inc();
        break;
      case 'node-lapsed':
        counters.lapses.inc();
        break;
      case 'table-taken-over':
        counters.takeovers.inc({ pending: String(event.hasPending) });
        break;
      case 'lease-lost':
        counters.leasesLost.inc();
        break;
      case 'job-ended':
        counters.jobs.inc({ job: event.job, outcome: event.outcome });
        this.#histograms.jobSeconds.observe({ job: event.job }, event.milliseconds / 1000);
        break;
      case 'webhook-attempted':
        counters.webhookAttempts.inc({ outcome: event.outcome });
        this.#histograms.webhookSeconds.observe(event.milliseconds / 1000);
        break;
      case 'embedding-fetched':
      case 'embedding-failed':
        counters.embeddingCalls.inc({ outcome: event.kind === 'embedding-failed' ? event.reason : 'succeeded' });
        this.#histograms.embeddingSeconds.observe(event.milliseconds / 1000);
        break;
      case 'webhook-disabled':
        counters.webhooksDisabled.inc();
        break;
      case 'index-tuned':
        for (const [at, recall] of event.recalls.entries()) {
          const share = String(TUNED_SHARES[at]);
          this.#histograms.indexRecall.observe({ index_type: event.indexType, share }, recall);
        }
        break;
      case 'maintenance-done':
        counters.maintenanceRuns.inc({ outcome: event.isLost ? 'lost' : 'done' });
        counters.maintenanceVersions.inc(event.versionsRemoved);
        counters.maintenanceBytes.inc(event.bytesRemoved);
        counters.maintenanceLaneSeconds.inc(event.laneMilliseconds / 1000);
        break;
      default:
    }
  }

  engineCalled(call: string, milliseconds: number): void {
    this.#histograms.engineSeconds.observe({ call }, milliseconds / 1000);
  }

  /** How many writes shared an engine commit. */
  writesCommitted(kind: string, members: number): void {
    this.#histograms.writeBatch.observe({ kind }, members);
    if (kind === 'update') this.#histograms.updateGroup.observe(members);
  }

  writeForwarded(outcome: 'done' | ForwardFailure, milliseconds: number): void {
    if (outcome === 'done') this.#histograms.forwardSeconds.observe(milliseconds / 1000);
    else this.#counters.forwardFailures.inc({ reason: outcome });
  }

  eventLoopDelayed(milliseconds: number): void {
    this.#histograms.eventLoopDelay.observe(milliseconds / 1000);
  }

  /** In the Prometheus text format. A reading is the absolute value, even of a counter. */
  async read(values: Readings): Promise<{ readonly mediaType: string; readonly text: string }> {
    for (const name of Object.keys(READINGS).filter(isReading)) {
      const metric = this.#readings[name];
      const value = values[name];
      const [label = ''] = READINGS[name].labels;
      metric.reset();
      if (typeof value === 'number') metric.inc(value);
      else for (const [key, each] of Object.entries(value)) metric.inc({ [label]: key }, each);
    }
    return { mediaType: this.#registry.contentType, text: await this.#registry.metrics() };
  }

  #countRequests(event: EventOf<'request-finished' | 'requests-refused'>, count: number): void {
    const { operation = 'none', status, dialect, bytesIn, bytesOut, errorKind } = event;
    const counters = this.#counters;
    counters.requests.inc({ operation, status: STATUS_CLASSES[Math.trunc(status / 100)] ?? 'other', dialect }, count);
    if (bytesIn > 0) counters.bytesIn.inc({ operation }, bytesIn);
    if (bytesOut > 0) counters.bytesOut.inc({ operation }, bytesOut);
    if (errorKind !== undefined) counters.refusals.inc({ kind: errorKind }, count);
  }

  #toOptions({ name, help, labels }: MetricRow) {
    return { name, help, labelNames: [...labels], registers: [this.#registry] };
  }
}

const STATUS_CLASSES = ['other', '1xx', '2xx', '3xx', '4xx', '5xx'];

function isReading(name: string): name is keyof Readings {
  return Object.hasOwn(READINGS, name);
}

function mapRows<Name extends string, Row, Metric>(
  rows: Readonly<Record<Name, Row>>,
  create: (row: Row) => Metric,
): Readonly<Record<Name, Metric>> {
  const created = Object.entries<Row>(rows).map(([name, row]) => [name, create(row)]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The same names as those of the rows.
  return Object.fromEntries(created) as Readonly<Record<Name, Metric>>;
}

const SAMPLE_MILLISECONDS = 100;

/** Measures how late a timer fires, which is how long every request waits for the event loop. */
export function watchEventLoop(onDelay: (milliseconds: number) => void): { close(): void } {
  let dueAt = performance.now() + SAMPLE_MILLISECONDS;
  const timer = setInterval(() => {
    const now = performance.now();
    onDelay(Math.max(0, now - dueAt));
    dueAt = now + SAMPLE_MILLISECONDS;
  }, SAMPLE_MILLISECONDS).unref();
  return { close: () => clearInterval(timer) };
}
