import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, createTraceState, trace } from '@opentelemetry/api';
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import type { RequestFinished } from '../events.ts';

interface Active {
  readonly span: Span;
  readonly context: Context;
}

/** One span per request, with a child span per engine call. */
export class RequestSpans {
  readonly #tracer: Tracer;
  readonly #active = new AsyncLocalStorage<Active>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** Runs the work inside a span; `onSpan` gets the value of the `traceresponse` header. */
  run<Value>(headers: IncomingHttpHeaders, onSpan: (traceresponse: string) => void, work: () => Value): Value {
    const parent = readParent(headers);
    // Renamed when the request has ended.
    const span = this.#tracer.startSpan('request', { kind: SpanKind.SERVER }, parent);
    onSpan(formatTraceparent(span));
    return this.#active.run({ span, context: trace.setSpan(parent, span) }, work);
  }

  /** For a request that continues this one on another node: its span becomes a child of this request's. */
  traceparent(): string | undefined {
    const active = this.#active.getStore();
    return active && formatTraceparent(active.span);
  }

  currentContext(): Context | undefined {
    return this.#active.getStore()?.context;
  }

  /** A request that reached no operation has no span yet. */
  finish(event: RequestFinished): void {
    const active = this.#active.getStore();
    const startTime = toEpoch(performance.now() - event.milliseconds);
    const span = active?.span ?? this.#tracer.startSpan('request', { kind: SpanKind.SERVER, startTime }, ROOT_CONTEXT);
    span.updateName(`${event.method}${event.route === undefined ? '' : ` ${toRoute(event.route)}`}`);
    span.setAttributes(toAttributes(event));
    if (event.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  /** Work that outlasts its request is not traced. */
  addCall(call: string, startedAt: number, endedAt: number): void {
    const active = this.#active.getStore();
    if (active === undefined || !active.span.isRecording()) return;
    const options = { kind: SpanKind.INTERNAL, startTime: toEpoch(startedAt) };
    this.#tracer.startSpan(`engine ${call}`, options, active.context).end(toEpoch(endedAt));
  }
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const TRACESTATE_CHARACTERS_MAX = 512;

/** W3C Trace Context: invalid headers count as absent. */
function readParent({ traceparent, tracestate }: IncomingHttpHeaders): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(typeof traceparent === 'string' ? traceparent : '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  const isKept = typeof tracestate === 'string' && tracestate.length <= TRACESTATE_CHARACTERS_MAX;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) % 2,
    isRemote: true,
    ...(isKept ? { traceState: createTraceState(tracestate) } : {}),
  });
}

function formatTraceparent(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** Named by the semantic conventions for HTTP; the address itself may contain what must not be logged. */
function toAttributes(event: RequestFinished): Attributes {
  return {
    'http.request.method': event.method,
    'http.response.status_code': event.status,
    'http.request.body.size': event.bytesIn,
    'http.response.body.size': event.bytesOut,
    'http.route': event.route === undefined ? undefined : toRoute(event.route),
    'error.type': event.errorKind,
    'tiltyard.operation': event.operation,
    'tiltyard.database': event.database,
    'enduser.id': event.caller,
    'tiltyard.dialect': event.dialect,
    'tiltyard.request_id': event.requestId,
  };
}

function toRoute(route: string): string {
  return route.replaceAll(/:(\w+)/g, '{$1}');
}

/** The SDK would interpret a small number as a time on its own clock. */
function toEpoch(now: number): Date {
  return new Date(performance.timeOrigin + now);
}
