import { createCounters } from './counters.ts';
import type { CounterSnapshot } from './counters.ts';
import type { TelemetryEvent } from './events.ts';
import { writeJsonLines } from './json-log.ts';
import { toLogLine } from './log-line.ts';
import type { LogLevel, LogStream, LogWriter } from './log-line.ts';
import { writeTextLines } from './text-log.ts';

export interface Telemetry {
  emit(event: TelemetryEvent): void;
  snapshot(): CounterSnapshot;
}

export interface TelemetryOptions {
  readonly level: LogLevel;
  /** `auto` is text on a terminal, else JSON. */
  readonly format: 'auto' | 'json' | 'text';
  readonly stream: LogStream;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const counters = createCounters();
  const write = createLogWriter(options);
  return {
    emit(event) {
      counters.count(event);
      write(toLogLine(event));
    },
    snapshot: () => counters.snapshot(),
  };
}

function createLogWriter(options: TelemetryOptions): LogWriter {
  const isText = options.format === 'text' || (options.format === 'auto' && options.stream.isTTY === true);
  return isText ? writeTextLines(options) : writeJsonLines(options);
}
