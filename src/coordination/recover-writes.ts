import { setTimeout as sleep } from 'node:timers/promises';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { WriteGate } from './write-gate.ts';

/** A part of what must be done before the first write. It is repeated as a whole when it fails. */
export type RecoveryStep = () => Promise<void>;

export interface RecoverySettings {
  readonly steps: readonly RecoveryStep[];
  readonly gate: WriteGate;
  readonly telemetry: Telemetry;
  /** Called once, when all steps are done. */
  readonly onDone: () => void;
  readonly retryMilliseconds?: RetryWait;
}

interface RetryWait {
  readonly first: number;
  readonly longest: number;
}

const RETRY_WAIT: RetryWait = { first: 500, longest: 30_000 };

/** How the recovery goes on in the background. */
export interface WriteRecovery {
  /** Waits for the step that is running. */
  close(): Promise<void>;
}

/**
 * Runs the steps one after the other. When one fails for want of space, or because the catalog is locked, the server
 * starts all the same: writes are paused, and the recovery is tried again until it succeeds. Any other failure of the
 * first attempt is thrown.
 */
export async function recoverWrites(settings: RecoverySettings): Promise<WriteRecovery> {
  const recovery = new Recovery(settings);
  try {
    await recovery.run();
  } catch (error) {
    if (!isTransientFailure(error)) throw error;
    recovery.retryAfter(error);
  }
  return recovery;
}

class Recovery implements WriteRecovery {
  readonly #settings: RecoverySettings;
  readonly #closed = new AbortController();
  readonly #wait: RetryWait;
  readonly #startedAt = performance.now();
  #left: readonly RecoveryStep[];
  #retrying: Promise<void> | undefined;
  #retryMilliseconds: number;

  constructor(settings: RecoverySettings) {
    this.#settings = settings;
    this.#left = settings.steps;
    this.#wait = settings.retryMilliseconds ?? RETRY_WAIT;
    this.#retryMilliseconds = this.#wait.first;
  }

  /** What is done is not repeated. */
  async run(): Promise<void> {
    for (let step = this.#left[0]; step !== undefined && !this.#isClosed; step = this.#left[0]) {
      await step();
      this.#left = this.#left.slice(1);
    }
    if (!this.#isClosed) this.#settings.onDone();
  }

  retryAfter(error: unknown): void {
    this.#pause(error);
    this.#retrying = this.#retry();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#retrying;
  }

  get #isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  async #retry(): Promise<void> {
    const { gate, telemetry } = this.#settings;
    while (await this.#isDue()) {
      try {
        await this.run();
        gate.open();
        telemetry.emit({ kind: 'writes-resumed', milliseconds: performance.now() - this.#startedAt });
        return;
      } catch (error) {
        this.#retryMilliseconds = Math.min(2 * this.#retryMilliseconds, this.#wait.longest);
        this.#pause(error);
      }
    }
  }

  #pause(cause: unknown): void {
    const { gate, telemetry } = this.#settings;
    gate.close('earlier writes are recovered, which needs space on the disk of the server');
    telemetry.emit({ kind: 'writes-paused', retryMilliseconds: this.#retryMilliseconds, cause });
  }

  async #isDue(): Promise<boolean> {
    const { signal } = this.#closed;
    await sleep(this.#retryMilliseconds, undefined, { signal }).catch(() => {});
    return !signal.aborted;
  }
}

/** Primary result codes of SQLite: BUSY, IOERR, FULL. https://www.sqlite.org/rescode.html */
const SQLITE_CODES: ReadonlySet<number> = new Set([5, 10, 13]);
const ERRNO_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);
/** ENOSPC and EDQUOT, as the engine writes them into its messages. */
const NO_SPACE_TEXT = /\(os error (?:28|122)\)/;
const CAUSES_MAX = 8;

/** Whether a write failed for want of space, or because the catalog was locked: it may succeed later, unchanged. */
export function isTransientFailure(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth += 1) {
    if (isTransient(cause)) return true;
    cause = cause.cause;
  }
  return false;
}

function isTransient(error: Error): boolean {
  if ('rawCode' in error && typeof error.rawCode === 'number') return SQLITE_CODES.has(error.rawCode & 0xff);
  if ('code' in error && typeof error.code === 'string' && ERRNO_CODES.has(error.code)) return true;
  return NO_SPACE_TEXT.test(error.message);
}
