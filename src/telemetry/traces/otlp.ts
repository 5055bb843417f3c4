import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import type { Resource } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Sampler } from '@opentelemetry/sdk-trace';
import type { OpenTelemetry, OpenTelemetryOptions } from './open-telemetry.ts';
import { RequestSpans } from './request-spans.ts';
import type { OtelSettings, SamplerSettings } from './otel-settings.ts';
import type { Context } from '@opentelemetry/api';
import type { TelemetryEvent } from '../events.ts';
import { LOG_LEVELS, toLogLine } from '../log/log-line.ts';
import type { LogLevel } from '../log/log-line.ts';

const FLUSH_MILLISECONDS = 2000;
const FAULT_MILLISECONDS = 60_000;

/** Names, keys and texts that callers chose may be long. */
const LIMITS = { attributeValueLengthLimit: 1024, attributeCountLimit: 64 };

export function createOtlp(settings: OtelSettings, options: OpenTelemetryOptions): OpenTelemetry {
  listenForFaults(options.onFault);
  for (const fault of settings.faults) options.onFault(fault);
  const resource = describeService(settings, options.release);
  const traces = settings.hasTraces ? openTraces(settings, resource) : undefined;
  const logs = settings.hasLogs ? openLogs(settings, resource) : undefined;
  const spans = traces && new RequestSpans(traces.getTracer('tiltyard', options.release));
  const records = logs && new LogRecords(logs.getLogger('tiltyard', options.release), options.level);
  return {
    read(event) {
      const context = spans?.currentContext();
      records?.add(event, context);
      if (event.kind === 'request-finished') spans?.finish(event);
    },
    tracer: spans,
    engineCalled: (call, startedAt, endedAt) => spans?.addCall(call, startedAt, endedAt),
    async close() {
      await flush([traces, logs]);
    },
  };
}

function describeService({ serviceName }: OtelSettings, release: string): Resource {
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.version': release }))
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(resourceFromAttributes({ 'service.name': serviceName }));
}

function openTraces({ spans, sampler }: OtelSettings, resource: Resource): TracerProvider {
  return new TracerProvider({
    resource,
    sampler: toSampler(sampler),
    spanLimits: LIMITS,
    spanProcessors: [new BatchSpanProcessor({ ...spans, exporter: new OTLPTraceExporter() })],
  });
}

function openLogs({ logs }: OtelSettings, resource: Resource): LoggerProvider {
  const processor = new BatchLogRecordProcessor({ ...logs, exporter: new OTLPLogExporter() });
  return new LoggerProvider({ resource, logRecordLimits: LIMITS, processors: [processor] });
}

function toSampler({ ratio, followsParent }: SamplerSettings): Sampler {
  const partly = ratio === 0 ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
  const root = ratio === 1 ? new AlwaysOnSampler() : partly;
  return followsParent ? new ParentBasedSampler({ root }) : root;
}

/** The SDK tells what goes wrong to one logger for the whole process. */
function listenForFaults(onFault: (fault: string) => void): void {
  let toldAt = -Infinity;
  const tell = (message: string): void => {
    if (performance.now() - toldAt < FAULT_MILLISECONDS) return;
    toldAt = performance.now();
    onFault(`The collector could not be reached: ${readMessage(message)}`);
  };
  const logger = { error: tell, warn: ignore, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
}

/** An error arrives as the JSON of its fields. */
function readMessage(text: string): string {
  return /"message":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text;
}

function ignore(): void {}

interface Provider {
  shutdown(): Promise<void>;
}

/** A collector that is away must not keep the service from ending. */
async function flush(providers: readonly (Provider | undefined)[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, FLUSH_MILLISECONDS);
  });
  await Promise.race([Promise.allSettled(providers.map(async (each) => each?.shutdown())), late]);
  clearTimeout(timer);
}

/** Of the OpenTelemetry data model. */
const SEVERITIES = { error: 17, warn: 13, info: 9, debug: 5 } as const;

/** The lines of the log as records of OpenTelemetry. */
export class LogRecords {
  readonly #logger: ReturnType<LoggerProvider['getLogger']>;
  readonly #sent: ReadonlySet<LogLevel>;

  constructor(logger: ReturnType<LoggerProvider['getLogger']>, level: LogLevel) {
    this.#logger = logger;
    this.#sent = new Set(LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(level) + 1));
  }

  add(event: TelemetryEvent, context: Context | undefined): void {
    const { level, event: name, fields, details } = toLogLine(event);
    if (!this.#sent.has(level)) return;
    this.#logger.emit({
      severityNumber: SEVERITIES[level],
      severityText: level,
      eventName: name,
      body: [name, ...details].join('\n'),
      attributes: { ...fields },
      ...(context === undefined ? {} : { context }),
    });
  }
}
