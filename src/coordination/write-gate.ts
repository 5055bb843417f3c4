import { ServiceError } from '../errors/service-error.ts';

const RETRY_AFTER_SECONDS = 5;

/** Every write passes it. While it is closed, reads go on and writes are refused. */
export class WriteGate {
  readonly #requireRoot: (root: string) => void;
  #reason: string | undefined;

  /** `requireRoot` throws unless this server alone may write below the root. */
  constructor(requireRoot: (root: string) => void) {
    this.#requireRoot = requireRoot;
  }

  /** `reason` completes the sentence "Writes are paused until …". */
  close(reason: string): void {
    this.#reason = reason;
  }

  open(): void {
    this.#reason = undefined;
  }

  /** `root` is that of the database to be written. */
  requireOpen(root: string | undefined): void {
    if (this.#reason !== undefined) throw paused(`Writes are paused until ${this.#reason}.`);
    if (root === undefined) return;
    try {
      this.#requireRoot(root);
    } catch (cause) {
      throw paused(
        'Writes to this database are paused: its storage is in use by another server or not writable.',
        cause,
      );
    }
  }
}

function paused(message: string, cause?: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', message, {
    hint: 'Reads are not affected.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });
}
