import type { LogLine, LogStream } from './log-line.ts';

/** `auto` is text on a terminal, else JSON. */
export type LogFormat = 'auto' | 'json' | 'text';

export interface LogWriterOptions {
  readonly format: LogFormat;
  readonly stream: LogStream;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export function createLogWriter({ format, stream, clock }: LogWriterOptions): (line: LogLine) => void {
  const isText = format === 'text' || (format === 'auto' && stream.isTTY === true);
  const formatLine = isText ? formatText : formatJson;
  return (line) => void stream.write(formatLine(line, new Date(clock()).toISOString()));
}

/** One JSON object a line: `level`, `time` in ISO 8601, `event`, then the fields of the event. */
function formatJson({ level, event, fields, details }: LogLine, time: string): string {
  const shown = details.length === 0 ? undefined : details;
  return `${JSON.stringify({ level, time, event, ...fields, details: shown })}\n`;
}

/** For people: `10:11:12.345 info  request finished  status=200 …`, details indented below. */
function formatText(line: LogLine, time: string): string {
  const fields = Object.entries(line.fields).map(([key, value]) => `${key}=${formatValue(String(value))}`);
  const head = [time.slice(11, 23), line.level.padEnd(5), line.event.replaceAll('-', ' ')].join(' ');
  const details = line.details.flatMap((detail) => detail.split('\n').map((each) => `    ${escape(each)}\n`));
  return `${[head, ...fields].join('  ')}\n${details.join('')}`;
}

/** Quoted unless it is one plain word: a caller must not be able to forge lines or fields. */
function formatValue(value: string): string {
  return /^[\w.:/@{}$+~*-]+$/.test(value) ? value : escape(JSON.stringify(value));
}

/** Control and invisible characters could move a terminal's cursor or hide text. */
function escape(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    const point = character.codePointAt(0) ?? 0;
    return `\\u{${point.toString(16)}}`;
  });
}
