import { DiagLogLevel, diag } from '@opentelemetry/api';
import type { Context } from '@opentelemetry/api';
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
import { endsWithin } from '../../model/time/ends-within.ts';
import type { TelemetryEvent } from '../events.ts';
import { levelOf, levelsUpTo, toLogLine } from '../log/log-line.ts';
import type { LogLevel } from '../log/log-line.ts';
import type { OpenTelemetryOptions, OtelSettings } from './otel-settings.ts';
import { RequestSpans } from './request-spans.ts';

const FLUSH_SECONDS = 2;
const FAULT_MILLISECONDS = 60_000;

/** Callers choose names, keys and texts, which may be long. */
const LIMITS = { attributeValueLengthLimit: 1024, attributeCountLimit: 64 };

/** Exports traces and logs to a collector. */
export function createOpenTelemetry(settings: OtelSettings, options: OpenTelemetryOptions) {
  const { release, level, onFault } = options;
  listenForFaults(onFault);
  for (const fault of settings.faults) onFault(fault);
  const resource = describeService(settings, release);
  const traces = settings.hasTraces ? openTraces(settings, resource) : undefined;
  const logs = settings.hasLogs ? openLogs(settings, resource) : undefined;
  const spans = traces && new RequestSpans(traces.getTracer('tiltyard', release));
  const exportLog = logs && createLogExport(logs, release, level);
  return {
    read: (event: TelemetryEvent): void => {
      exportLog?.(event, spans?.currentContext());
      if (event.kind === 'request-finished') spans?.finish(event);
    },
    /** Present if traces are enabled. */
    tracer: spans,
    engineCalled: (call: string, startedAt: number, endedAt: number) => spans?.addCall(call, startedAt, endedAt),
    /** Sends what is still buffered. */
    async close(): Promise<void> {
      // An unreachable collector must not block the shutdown.
      await endsWithin(FLUSH_SECONDS, Promise.allSettled([traces?.shutdown(), logs?.shutdown()]));
    },
  };
}

/** Severity numbers of the OpenTelemetry data model. */
const SEVERITIES = { error: 17, warn: 13, info: 9, debug: 5 } as const;

function createLogExport(logs: LoggerProvider, release: string, level: LogLevel) {
  const logger = logs.getLogger('tiltyard', release);
  const exported = levelsUpTo(level);
  return (event: TelemetryEvent, context: Context | undefined): void => {
    if (!exported.has(levelOf(event))) return;
    const line = toLogLine(event);
    logger.emit({
      severityNumber: SEVERITIES[line.level],
      severityText: line.level,
      eventName: line.event,
      body: [line.event, ...line.details].join('\n'),
      attributes: { ...line.fields },
      ...(context === undefined ? {} : { context }),
    });
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

function toSampler({ ratio, followsParent }: OtelSettings['sampler']): Sampler {
  const partial = ratio === 0 ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
  const root = ratio === 1 ? new AlwaysOnSampler() : partial;
  return followsParent ? new ParentBasedSampler({ root }) : root;
}

/** The SDK reports its errors to one logger of the process. */
function listenForFaults(onFault: (fault: string) => void): void {
  let reportedAt = -Infinity;
  const error = (message: string): void => {
    if (performance.now() - reportedAt < FAULT_MILLISECONDS) return;
    reportedAt = performance.now();
    // An error arrives as the JSON of its fields.
    const text = /"message":"((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? message;
    onFault(`The collector could not be reached: ${text}`);
  };
  const logger = { error, warn() {}, info() {}, debug() {}, verbose() {} };
  diag.setLogger(logger, { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
}
