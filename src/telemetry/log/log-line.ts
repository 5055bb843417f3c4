import { escapeInvisible } from '../../model/identifier.ts';
import type { EventKind, TelemetryEvent } from '../events.ts';

const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** An event in log form. `details` are whole lines, such as reasons and stack traces. */
interface LogLine {
  readonly level: LogLevel;
  readonly event: EventKind;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
  readonly details: readonly string[];
}

/** All others are `info`. */
const LEVELS: Readonly<Partial<Record<EventKind, LogLevel>>> = {
  'start-failed': 'error',
  'background-failed': 'error',
  'writes-paused': 'error',
  'worker-died': 'error',
  'worker-stalled': 'error',
  'manifest-quarantined': 'error',
  'heartbeat-failed': 'error',
  'node-lapsed': 'warn',
  'table-taken-over': 'warn',
  'lease-lost': 'warn',
  'admin-key-revoked': 'warn',
  'key-set-failed': 'warn',
  'key-set-keys-skipped': 'warn',
  'job-interrupted': 'warn',
  'slow-query': 'warn',
  'connections-refused': 'warn',
  'requests-refused': 'warn',
  'unknown-fields-ignored': 'debug',
  'quota-exceeded': 'debug',
  'job-ended': 'debug',
  'webhook-attempted': 'debug',
  'webhook-disabled': 'warn',
  'embedding-fetched': 'debug',
  'embedding-failed': 'warn',
};

export function levelOf(event: TelemetryEvent): LogLevel {
  if (event.kind !== 'request-finished' || event.status < 500) return LEVELS[event.kind] ?? 'info';
  return event.status === 503 ? 'warn' : 'error';
}

/** The level and those above it. */
export function levelsUpTo(level: LogLevel): ReadonlySet<LogLevel> {
  return new Set(LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(level) + 1));
}

export function toLogLine(event: TelemetryEvent): LogLine {
  return { level: levelOf(event), event: event.kind, fields: fieldsOf(event), details: detailsOf(event) };
}

/** Shown as details, or not at all. */
const NOT_FIELDS: ReadonlySet<string> = new Set(['kind', 'cause', 'plan']);
/** Bounded, because some fields contain names that callers chose. */
const FIELD_CHARACTERS_MAX = 1024;

function fieldsOf(event: TelemetryEvent): LogLine['fields'] {
  const fields: Record<string, string | number | boolean> = {};
  if (event.kind === 'start-failed') return fields;
  for (const [key, value] of Object.entries(event)) {
    const field = NOT_FIELDS.has(key) ? undefined : toField(value);
    if (field !== undefined) fields[key] = field;
  }
  return fields;
}

function toField(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Math.round(value * 1000) / 1000;
  const text = Array.isArray(value) ? value.join(', ') : value;
  return typeof text === 'string' ? text.slice(0, FIELD_CHARACTERS_MAX) : undefined;
}

function detailsOf(event: TelemetryEvent): readonly string[] {
  switch (event.kind) {
    case 'start-failed':
      return event.reasons;
    case 'slow-query-analysed':
      return event.plan;
    case 'request-finished':
      // The cause of a refusal may contain what the caller sent.
      return event.status < 500 ? [] : describeCause(event.cause);
    default:
      return 'cause' in event ? describeCause(event.cause) : [];
  }
}

const CAUSES_MAX = 5;
const STACK_CHARACTERS_MAX = 8192;

/** The stack traces of a chain of errors, outermost first. Bounded, because engine errors can contain whole plans. */
function describeCause(cause: unknown): readonly string[] {
  const details: string[] = [];
  let current = cause;
  while (current !== undefined && current !== null && details.length < CAUSES_MAX) {
    const text = describe(current);
    details.push(text.length > STACK_CHARACTERS_MAX ? `${text.slice(0, STACK_CHARACTERS_MAX)}…` : text);
    current = current instanceof Error ? current.cause : undefined;
  }
  return details;
}

function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return typeof cause === 'string' ? cause : `a thrown ${typeof cause}`;
  const stack = cause.stack ?? '';
  return stack.includes(cause.message) ? stack : `${cause.name}: ${cause.message}\n${stack}`;
}

export interface LogWriterOptions {
  /** `auto` means text on a terminal, otherwise JSON. */
  readonly format: 'auto' | 'json' | 'text';
  readonly stream: LogStream;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export function createLogWriter({ format, stream, clock }: LogWriterOptions): (line: LogLine) => void {
  const isText = format === 'text' || (format === 'auto' && stream.isTTY === true);
  const formatLine = isText ? formatText : formatJson;
  return (line) => void stream.write(formatLine(line, new Date(clock()).toISOString()));
}

/** One JSON object per line: `level`, `time` in ISO 8601, `event`, then the fields of the event. */
function formatJson({ level, event, fields, details }: LogLine, time: string): string {
  const shown = details.length === 0 ? undefined : details;
  return `${JSON.stringify({ level, time, event, ...fields, details: shown })}\n`;
}

/** For people: `10:11:12.345 info  request finished  status=200 …`, details indented below. */
function formatText(line: LogLine, time: string): string {
  const fields = Object.entries(line.fields).map(([key, value]) => `${key}=${formatValue(String(value))}`);
  const head = [time.slice(11, 23), line.level.padEnd(5), line.event.replaceAll('-', ' ')].join(' ');
  const details = line.details.flatMap((detail) => detail.split('\n').map((each) => `    ${escapeInvisible(each)}\n`));
  return `${[head, ...fields].join('  ')}\n${details.join('')}`;
}

/** Quoted unless it is a single plain word, so that callers cannot forge lines or fields. */
function formatValue(value: string): string {
  return /^[\w.:/@{}$+~*-]+$/.test(value) ? value : escapeInvisible(JSON.stringify(value));
}
