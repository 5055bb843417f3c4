import { ServiceError } from '../errors/service-error.ts';

const RETRY_AFTER_SECONDS = 5;

/** Every write passes this gate. While it is closed, reads continue and writes are refused. */
export class WriteGate {
  readonly #requireRoot: (root: string) => void;
  readonly #requireLock: () => void;
  #reason: string | undefined;

  /** The arguments throw unless only this server may write below the root, or to its data folder. */
  constructor(requireRoot: (root: string) => void, requireLock: () => void = () => {}) {
    this.#requireRoot = requireRoot;
    this.#requireLock = requireLock;
  }

  /** `reason` completes the sentence "Writes are paused until …". */
  close(reason: string): void {
    this.#reason = reason;
  }

  open(): void {
    this.#reason = undefined;
  }

  /** Separate, for keys and grants, which can be changed while the gate is closed. */
  requireLock(): void {
    this.#requireLock();
  }

  /** `root` is that of the database to be written. */
  requireOpen(root: string | undefined): void {
    if (this.#reason !== undefined) throw paused(`Writes are paused until ${this.#reason}.`);
    if (root === undefined) return;
    try {
      this.#requireRoot(root);
    } catch (cause) {
      throw paused(
        'Writes to this database are paused: its storage is in use by another server, was replaced, or is not writable.',
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
