import type { LogLevel } from '../log/log-line.ts';

export interface OpenTelemetryOptions {
  readonly variables: Variables;
  readonly release: string;
  /** Lowest level of exported logs. */
  readonly level: LogLevel;
  /** Called at most once a minute. */
  readonly onFault: (fault: string) => void;
}

type Variables = Readonly<Record<string, string | undefined>>;

export type OtelSettings = NonNullable<ReturnType<typeof readOtelVariables>>;

/** `undefined` unless an endpoint is set for traces or logs. */
export function readOtelVariables(variables: Variables) {
  if (variables['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return undefined;
  const hasTraces = isWanted(variables, 'TRACES');
  const hasLogs = isWanted(variables, 'LOGS');
  if (!hasTraces && !hasLogs) return undefined;
  return {
    hasTraces,
    hasLogs,
    serviceName: variables['OTEL_SERVICE_NAME'] ?? 'tiltyard',
    sampler: readSampler(variables),
    spans: readBatch(variables, 'OTEL_BSP', 5000),
    logs: readBatch(variables, 'OTEL_BLRP', 1000),
    /** Requested features that are not supported. */
    faults: findFaults(variables),
  };
}

function isWanted(variables: Variables, signal: 'TRACES' | 'LOGS'): boolean {
  const endpoint = variables[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] ?? variables['OTEL_EXPORTER_OTLP_ENDPOINT'];
  return endpoint !== undefined && endpoint !== '' && variables[`OTEL_${signal}_EXPORTER`] !== 'none';
}

/** `ratio` is the share of requests to trace if the caller has not decided. */
function readSampler(variables: Variables) {
  const name = variables['OTEL_TRACES_SAMPLER'] ?? 'parentbased_always_on';
  const argument = readNumber(variables['OTEL_TRACES_SAMPLER_ARG'], [0, 1], 1);
  const ratios: Readonly<Record<string, number>> = { always_off: 0, traceidratio: argument };
  return { ratio: ratios[name.replace(/^parentbased_/, '')] ?? 1, followsParent: name.startsWith('parentbased_') };
}

/** Bounds the memory while the collector is unreachable. */
const QUEUE_MAX = 65_536;
const EXPORT_MILLISECONDS_MAX = 60_000;

function readBatch(variables: Variables, prefix: string, delay: number) {
  const read = (name: string, range: readonly [number, number], fallback: number): number =>
    readNumber(variables[`${prefix}_${name}`], range, fallback);
  const maxQueueSize = read('MAX_QUEUE_SIZE', [1, QUEUE_MAX], 2048);
  return {
    scheduledDelayMillis: read('SCHEDULE_DELAY', [10, EXPORT_MILLISECONDS_MAX], delay),
    maxQueueSize,
    maxExportBatchSize: read('MAX_EXPORT_BATCH_SIZE', [1, maxQueueSize], Math.min(512, maxQueueSize)),
    exportTimeoutMillis: read('EXPORT_TIMEOUT', [10, EXPORT_MILLISECONDS_MAX], 30_000),
  };
}

/** The specification requires invalid values to be ignored. */
function readNumber(text: string | undefined, [least, most]: readonly [number, number], fallback: number): number {
  const number = text === undefined || text === '' ? Number.NaN : Number(text);
  return Number.isNaN(number) ? fallback : Math.min(Math.max(number, least), most);
}

function findFaults(variables: Variables): readonly string[] {
  return ['', 'TRACES_', 'LOGS_']
    .map((signal) => `OTEL_EXPORTER_OTLP_${signal}PROTOCOL`)
    .filter((name) => variables[name] === 'grpc')
    .map(
      (name) =>
        `${name} is grpc, which is not offered. Use http/json, and the HTTP port of the collector (usually 4318).`,
    );
}
