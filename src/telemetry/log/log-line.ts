import type { RequestFinished, TelemetryEvent } from '../events.ts';

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** Some fields hold names that callers chose. */
const FIELD_CHARACTERS_MAX = 1024;
const NOT_FIELDS: ReadonlySet<string> = new Set(['kind', 'cause', 'plan']);

/** An event as the log shows it. Lines of `details` stand by themselves: reasons, stacks. */
export interface LogLine {
  readonly level: LogLevel;
  readonly event: TelemetryEvent['kind'];
  readonly fields: Readonly<Record<string, string | number | boolean>>;
  readonly details: readonly string[];
}

export type LogWriter = (line: LogLine) => void;

export function toLogLine(event: TelemetryEvent): LogLine {
  switch (event.kind) {
    case 'request-finished':
      return toRequestLine(event);
    case 'start-failed':
      return { level: 'error', event: event.kind, fields: {}, details: event.reasons };
    case 'key-set-failed':
      return toLine('warn', event, describeCause(event.cause));
    case 'background-failed':
    case 'writes-paused':
      return toLine('error', event, describeCause(event.cause));
    case 'worker-died':
    case 'engine-stalled':
    case 'manifest-quarantined':
      return toLine('error', event);
    case 'slow-query-analysed':
      return toLine('info', event, event.plan);
    case 'job-interrupted':
    case 'slow-query':
    case 'connections-refused':
    case 'requests-refused':
      return toLine('warn', event);
    case 'unknown-fields-ignored':
    case 'job-ended':
      return toLine('debug', event);
    case 'config-loaded':
    case 'listening':
    case 'draining':
    case 'worker-started':
    case 'worker-stopped':
    case 'recovery-done':
    case 'writes-resumed':
    case 'access-changed':
    case 'key-set-fetched':
    case 'maintenance-done':
      return toLine('info', event);
    default:
      return event satisfies never;
  }
}

/** A refusal is the caller's affair; only a failure of ours has its cause in the log. */
function toRequestLine(event: RequestFinished): LogLine {
  if (event.status < 500) return toLine('info', event);
  return toLine(event.status === 503 ? 'warn' : 'error', event, describeCause(event.cause));
}

function toLine(level: LogLevel, event: TelemetryEvent, details: readonly string[] = []): LogLine {
  const fields: Record<string, string | number | boolean> = {};
  for (const [key, value] of Object.entries(event)) {
    const field = NOT_FIELDS.has(key) ? undefined : toField(value);
    if (field !== undefined) fields[key] = field;
  }
  return { level, event: event.kind, fields, details };
}

function toField(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Math.round(value * 1000) / 1000;
  const text = Array.isArray(value) ? value.join(', ') : value;
  return typeof text === 'string' ? text.slice(0, FIELD_CHARACTERS_MAX) : undefined;
}

const CAUSES_MAX = 5;
const STACK_CHARACTERS_MAX = 8192;

/** Each error of the chain with its stack, the outermost first. Bounded: engine errors can carry whole plans. */
export function describeCause(cause: unknown): readonly string[] {
  const details: string[] = [];
  let current = cause;
  while (current !== undefined && current !== null && details.length < CAUSES_MAX) {
    details.push(describe(current));
    current = current instanceof Error ? current.cause : undefined;
  }
  return details;
}

function describe(cause: unknown): string {
  if (cause instanceof Error) {
    const message = `${cause.name}: ${cause.message}`;
    const stack = cause.stack ?? '';
    return cut(stack.includes(cause.message) ? stack : `${message}\n${stack}`);
  }
  return cut(typeof cause === 'string' ? cause : `a thrown ${typeof cause}`);
}

function cut(text: string): string {
  return text.length > STACK_CHARACTERS_MAX ? `${text.slice(0, STACK_CHARACTERS_MAX)}…` : text;
}
