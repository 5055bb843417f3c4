import type { Context } from '@opentelemetry/api';
import type { LoggerProvider } from '@opentelemetry/sdk-logs';
import type { TelemetryEvent } from './events.ts';
import { LOG_LEVELS, toLogLine } from './log-line.ts';
import type { LogLevel } from './log-line.ts';

/** Of the OpenTelemetry data model. */
const SEVERITIES = { error: 17, warn: 13, info: 9, debug: 5 } as const;

/** The lines of the log as records of OpenTelemetry. */
export class LogRecords {
  readonly #logger: ReturnType<LoggerProvider['getLogger']>;
  readonly #sent: ReadonlySet<LogLevel>;

  constructor(logger: ReturnType<LoggerProvider['getLogger']>, level: LogLevel) {
    this.#logger = logger;
    this.#sent = new Set(LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(level) + 1));
  }

  add(event: TelemetryEvent, context: Context | undefined): void {
    const { level, event: name, fields, details } = toLogLine(event);
    if (!this.#sent.has(level)) return;
    this.#logger.emit({
      severityNumber: SEVERITIES[level],
      severityText: level,
      eventName: name,
      body: [name, ...details].join('\n'),
      attributes: { ...fields },
      ...(context === undefined ? {} : { context }),
    });
  }
}
