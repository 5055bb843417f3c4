import { setTimeout as sleep } from 'node:timers/promises';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { sqliteCode } from './file-lock.ts';
import type { WriteGate } from './write-gate.ts';

/** Work that must be done before the first write. After a failure the whole step is repeated. */
export type RecoveryStep = () => Promise<void>;

interface RecoverySettings {
  readonly steps: readonly RecoveryStep[];
  readonly gate: WriteGate;
  readonly telemetry: Telemetry;
  /** Called once, when all steps are done. */
  readonly onDone: () => void;
  readonly retryMilliseconds?: { readonly first: number; readonly longest: number };
}

const RETRY_MILLISECONDS = { first: 500, longest: 30_000 };

/**
 * Runs the steps in order. If one fails for lack of space or because the catalog is locked, the server starts anyway:
 * writes are paused, and the recovery is retried until it succeeds. Any other failure of the first attempt is thrown.
 */
export async function recoverWrites(settings: RecoverySettings) {
  const { gate, telemetry, onDone, retryMilliseconds = RETRY_MILLISECONDS } = settings;
  const startedAt = performance.now();
  const closing = new AbortController();
  const { signal } = closing;
  const steps = [...settings.steps];

  /** Completed steps are not repeated. */
  const run = async (): Promise<void> => {
    for (let step = steps[0]; step !== undefined && !signal.aborted; step = steps[0]) {
      await step();
      steps.shift();
    }
    if (!signal.aborted) onDone();
  };
  const retry = async (failure: unknown): Promise<void> => {
    let cause = failure;
    for (let wait = retryMilliseconds.first; ; wait = Math.min(2 * wait, retryMilliseconds.longest)) {
      gate.close('earlier writes are recovered, which needs free disk space on the server');
      telemetry.emit({ kind: 'writes-paused', retryMilliseconds: wait, cause });
      await sleep(wait, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        await run();
        gate.open();
        telemetry.emit({ kind: 'writes-resumed', milliseconds: performance.now() - startedAt });
        return;
      } catch (error) {
        cause = error;
      }
    }
  };

  let retrying: Promise<void> | undefined;
  try {
    await run();
  } catch (error) {
    if (!isTransientFailure(error)) throw error;
    retrying = retry(error);
  }
  return {
    /** Waits for the running step. */
    async close(): Promise<void> {
      closing.abort();
      await retrying;
    },
  };
}

/** BUSY, IOERR, FULL. */
const SQLITE_CODES: ReadonlySet<number> = new Set([5, 10, 13]);
const ERRNO_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);
/** ENOSPC and EDQUOT in the engine's messages. */
const NO_SPACE_TEXT = /\(os error (?:28|122)\)/;
const CAUSES_MAX = 8;

/** Whether a write failed for lack of space, or because the catalog was locked: the same write may succeed later. */
export function isTransientFailure(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth += 1) {
    if (isTransient(cause)) return true;
    cause = cause.cause;
  }
  return false;
}

function isTransient(error: Error): boolean {
  const code = sqliteCode(error);
  if (code !== undefined) return SQLITE_CODES.has(code);
  if ('code' in error && typeof error.code === 'string' && ERRNO_CODES.has(error.code)) return true;
  return NO_SPACE_TEXT.test(error.message);
}
