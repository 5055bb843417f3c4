export type Variables = Readonly<Record<string, string | undefined>>;

/** What the usual variables of OpenTelemetry ask for. */
export interface OtelSettings {
  readonly hasTraces: boolean;
  readonly hasLogs: boolean;
  readonly serviceName: string;
  readonly sampler: SamplerSettings;
  readonly spans: BatchSettings;
  readonly logs: BatchSettings;
  /** What was asked for and is not offered. */
  readonly faults: readonly string[];
}

export interface SamplerSettings {
  /** Of requests that come without a decision of the caller's, the share that is traced. */
  readonly ratio: number;
  /** Whether a caller's decision counts. */
  readonly followsParent: boolean;
}

export interface BatchSettings {
  readonly scheduledDelayMillis: number;
  readonly maxQueueSize: number;
  readonly maxExportBatchSize: number;
  readonly exportTimeoutMillis: number;
}

/** `undefined` unless an endpoint is named for traces or for logs: the SDK is then not even loaded. */
export function readOtelVariables(variables: Variables): OtelSettings | undefined {
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
    faults: findFaults(variables),
  };
}

function isWanted(variables: Variables, signal: 'TRACES' | 'LOGS'): boolean {
  const endpoint = variables[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] ?? variables['OTEL_EXPORTER_OTLP_ENDPOINT'];
  return endpoint !== undefined && endpoint !== '' && variables[`OTEL_${signal}_EXPORTER`] !== 'none';
}

function readSampler(variables: Variables): SamplerSettings {
  const name = variables['OTEL_TRACES_SAMPLER'] ?? 'parentbased_always_on';
  const followsParent = name.startsWith('parentbased_');
  const kind = name.replace(/^parentbased_/, '');
  const argument = readNumber(variables['OTEL_TRACES_SAMPLER_ARG'], [0, 1], 1);
  const ratios: Readonly<Record<string, number>> = { always_off: 0, traceidratio: argument };
  return { ratio: ratios[kind] ?? 1, followsParent };
}

/** A collector that is away must not cost more memory than this. */
const QUEUE_MAX = 65_536;
const EXPORT_MILLISECONDS_MAX = 60_000;

function readBatch(variables: Variables, prefix: string, delay: number): BatchSettings {
  const maxQueueSize = readNumber(variables[`${prefix}_MAX_QUEUE_SIZE`], [1, QUEUE_MAX], 2048);
  return {
    scheduledDelayMillis: readNumber(variables[`${prefix}_SCHEDULE_DELAY`], [10, EXPORT_MILLISECONDS_MAX], delay),
    maxQueueSize,
    maxExportBatchSize: readNumber(
      variables[`${prefix}_MAX_EXPORT_BATCH_SIZE`],
      [1, maxQueueSize],
      Math.min(512, maxQueueSize),
    ),
    exportTimeoutMillis: readNumber(variables[`${prefix}_EXPORT_TIMEOUT`], [10, EXPORT_MILLISECONDS_MAX], 30_000),
  };
}

/** The specification wants a value that makes no sense to be ignored. */
function readNumber(text: string | undefined, [least, most]: readonly [number, number], fallback: number): number {
  const number = text === undefined || text === '' ? Number.NaN : Number(text);
  return Number.isNaN(number) ? fallback : Math.min(Math.max(number, least), most);
}

function findFaults(variables: Variables): readonly string[] {
  return ['', 'TRACES_', 'LOGS_'].flatMap((signal) => {
    const name = `OTEL_EXPORTER_OTLP_${signal}PROTOCOL`;
    const protocol = variables[name];
    if (protocol !== 'grpc') return [];
    return [`${name} is grpc, which is not offered: JSON is sent over HTTP, to the port for that (4318 as a rule).`];
  });
}
