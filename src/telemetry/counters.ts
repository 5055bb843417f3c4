import type { TelemetryEvent } from './events.ts';

/** Counts since the process started, as plain rows. */
export interface CounterSnapshot {
  readonly requests: readonly RequestCount[];
  readonly unknownFieldsIgnored: readonly OperationCount[];
}

export interface RequestCount {
  /** Empty when no route matched. */
  readonly operation: string;
  readonly status: number;
  readonly count: number;
}

export interface OperationCount {
  readonly operation: string;
  readonly count: number;
}

export interface Counters {
  count(event: TelemetryEvent): void;
  snapshot(): CounterSnapshot;
}

/** Keyed by closed sets only (operations, statuses): what callers choose would let them fill the memory. */
export function createCounters(): Counters {
  const requests = new Map<string, RequestCount>();
  const unknownFields = new Map<string, OperationCount>();
  return {
    count(event) {
      if (event.kind === 'request-finished') {
        const { operation = '', status } = event;
        const key = `${operation} ${status}`;
        requests.set(key, { operation, status, count: (requests.get(key)?.count ?? 0) + 1 });
      } else if (event.kind === 'unknown-fields-ignored') {
        const { operation, names } = event;
        unknownFields.set(operation, { operation, count: (unknownFields.get(operation)?.count ?? 0) + names.length });
      }
    },
    snapshot: () => ({ requests: [...requests.values()], unknownFieldsIgnored: [...unknownFields.values()] }),
  };
}
