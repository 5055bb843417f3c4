import type { EventReader, TelemetryEvent } from './events.ts';
import { createLogWriter, levelOf, levelsUpTo, toLogLine } from './log/log-line.ts';
import type { LogLevel, LogWriterOptions } from './log/log-line.ts';
import { readOtelVariables } from './traces/otel-settings.ts';
import type { OpenTelemetryOptions } from './traces/otel-settings.ts';

export interface Telemetry {
  emit(event: TelemetryEvent): void;
}

export interface TelemetryOptions extends LogWriterOptions {
  readonly level: LogLevel;
  /** Consumers of the events, in addition to the log. */
  readonly readers?: readonly EventReader[];
}

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { readers = [] } = options;
  const write = createLogWriter(options);
  const logged = levelsUpTo(options.level);
  return {
    emit(event) {
      for (const read of readers) read(event);
      if (logged.has(levelOf(event))) write(toLogLine(event));
    },
  };
}

/** Configured by the OTEL_ variables; the SDK is loaded only if they name an endpoint. */
export async function openOpenTelemetry(options: OpenTelemetryOptions) {
  const settings = readOtelVariables(options.variables);
  if (settings === undefined) return undefined;
  const { createOpenTelemetry } = await import('./traces/open-telemetry.ts');
  return createOpenTelemetry(settings, options);
}

const REPORT_MILLISECONDS = 1000;

/** Counts frequent occurrences, and reports the sum at most once a second. */
export function sumEverySecond(report: (count: number) => void): { add(): void; stop(): void } {
  let count = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    add() {
      count += 1;
      timer ??= setTimeout(() => {
        const sum = count;
        count = 0;
        timer = undefined;
        report(sum);
      }, REPORT_MILLISECONDS).unref();
    },
    stop: () => clearTimeout(timer),
  };
}
