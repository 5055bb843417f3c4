import { pino } from 'pino';
import type { LogLevel, LogStream, LogWriter } from './log-line.ts';

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
