import type { Config } from '../config/config.ts';
import type { AppReady } from '../app.ts';
import type { TelemetryEvent } from '../telemetry/events.ts';

export type ToWorker =
  /** `workerRestarts`: how many workers were replaced before this one. */
  | { readonly kind: 'start'; readonly config: Config; readonly workerRestarts: number }
  /** The socket itself is sent with the message. */
  | { readonly kind: 'socket'; readonly id: number }
  | { readonly kind: 'drain' };

export type FromWorker =
  | { readonly kind: 'ready'; readonly ready: AppReady }
  /** For the log. */
  | { readonly kind: 'event'; readonly event: TelemetryEvent }
  | { readonly kind: 'taken'; readonly id: number }
  | { readonly kind: 'alive' };

/** The exit code of a start that would fail again. */
export const EXIT_START_FAILED = 2;
