import type { TelemetryEvent } from './events.ts';
import { writeJsonLines, writeTextLines } from './log/log-writers.ts';
import { toLogLine } from './log/log-line.ts';
import type { LogLevel, LogStream, LogWriter } from './log/log-line.ts';

export interface Telemetry {
  emit(event: TelemetryEvent): void;
}

export type EventReader = (event: TelemetryEvent) => void;

export interface TelemetryOptions {
  readonly level: LogLevel;
  /** `auto` is text on a terminal, else JSON. */
  readonly format: 'auto' | 'json' | 'text';
  readonly stream: LogStream;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Who reads the events beside the log. */
  readonly readers?: readonly EventReader[];
}

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { readers = [] } = options;
  const write = createLogWriter(options);
  return {
    emit(event) {
      for (const read of readers) read(event);
      write(toLogLine(event));
    },
  };
}

function createLogWriter(options: TelemetryOptions): LogWriter {
  const isText = options.format === 'text' || (options.format === 'auto' && options.stream.isTTY === true);
  return isText ? writeTextLines(options) : writeJsonLines(options);
}
