import { pino } from 'pino';
import type { LogLevel, LogStream, LogWriter, LogLine } from './log-line.ts';
import { LOG_LEVELS } from './log-line.ts';

export interface LogOptions {
  readonly level: LogLevel;
  readonly stream: LogStream;
  readonly clock: () => number;
}

/** One JSON object a line: `level` as a word, `time` in ISO 8601, `event`, then the fields of the event. */
export function writeJsonLines({ level, stream, clock }: LogOptions): LogWriter {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (text) => void stream.write(text) },
  );
  return (line) => {
    const details = line.details.length === 0 ? {} : { details: line.details };
    logger[line.level]({ event: line.event, ...line.fields, ...details });
  };
}

/** Lines for people: `10:11:12.345 info  request finished  status=200 …`, details indented below. */
export function writeTextLines({ level, stream, clock }: LogOptions): LogWriter {
  const shown = LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(level) + 1);
  return (line) => {
    if (shown.includes(line.level)) stream.write(formatLine(line, new Date(clock())));
  };
}

function formatLine(line: LogLine, time: Date): string {
  const fields = Object.entries(line.fields).map(([key, value]) => `${key}=${formatValue(String(value))}`);
  const head = [time.toISOString().slice(11, 23), line.level.padEnd(5), line.event.replaceAll('-', ' ')].join(' ');
  const details = line.details.flatMap((detail) => detail.split('\n').map((each) => `    ${escape(each)}\n`));
  return `${[head, ...fields].join('  ')}\n${details.join('')}`;
}

/** Quoted unless it is one plain word: a caller must not be able to write a line or a field of its own. */
function formatValue(value: string): string {
  return /^[\w.:/@{}$+~*-]+$/.test(value) ? value : escape(JSON.stringify(value));
}

/** Control and invisible characters would move a terminal's cursor or hide text. */
function escape(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    const point = character.codePointAt(0) ?? 0;
    return `\\u{${point.toString(16)}}`;
  });
}
