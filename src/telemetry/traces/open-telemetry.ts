import type { EventReader } from '../telemetry.ts';
import type { LogLevel } from '../log/log-line.ts';
import { readOtelVariables } from './otel-settings.ts';
import type { Variables } from './otel-settings.ts';

/** Headers of a request, of which `traceparent` and `tracestate` say which trace it belongs to. */
export type TraceHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The life of one request, as a span. */
export interface RequestTracer {
  /** Runs the work inside a span, and hands over the value of `traceresponse` for the reply. */
  run<Value>(headers: TraceHeaders, onSpan: (traceresponse: string) => void, work: () => Value): Value;
}

/** Traces and logs on their way to a collector. */
export interface OpenTelemetry {
  readonly read: EventReader;
  /** Where traces are wanted. */
  readonly tracer: RequestTracer | undefined;
  engineCalled(call: string, startedAt: number, endedAt: number): void;
  /** Sends what is left, for a moment. */
  close(): Promise<void>;
}

export interface OpenTelemetryOptions {
  readonly variables: Variables;
  readonly release: string;
  /** Least level that is sent. */
  readonly level: LogLevel;
  /** Told of what does not work, at most once a minute. */
  readonly onFault: (fault: string) => void;
}

/** By the usual variables; loaded only when they ask for it. */
export async function openOpenTelemetry(options: OpenTelemetryOptions): Promise<OpenTelemetry | undefined> {
  const settings = readOtelVariables(options.variables);
  if (settings === undefined) return undefined;
  const { createOtlp } = await import('./otlp.ts');
  return createOtlp(settings, options);
}
