import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors/service-error.ts';
import { catalogUnavailable } from '../../model/refusals.ts';
import { referencedRowRemoved, catalogFailed, catalogFull } from '../errors.ts';

/**
 * Primary result codes (https://www.sqlite.org/rescode.html) of faults that are transient or that an administrator can
 * fix: PERM, BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, FULL, CANTOPEN, PROTOCOL, NOLFS, AUTH.
 */
const UNAVAILABLE_CODES: ReadonlySet<number> = new Set([3, 5, 6, 7, 8, 9, 10, 13, 14, 15, 22, 23]);
const BUSY = 5;
const FULL = 13;
const NO_SPACE_CODES: ReadonlySet<number> = new Set([10, 13, 14]);
const CONSTRAINT_FOREIGNKEY = 787;

/** Translates errors of SQLite for callers of the catalog. Other errors are returned as they are. */
export function translateSqliteError(error: unknown): unknown {
  const code = primaryCode(error);
  if (code === undefined) return error;
  if (error instanceof Error && 'rawCode' in error && error.rawCode === CONSTRAINT_FOREIGNKEY)
    return referencedRowRemoved(error);
  if (code === FULL) return catalogFull(error);
  return UNAVAILABLE_CODES.has(code) ? catalogUnavailable(error) : catalogFailed(error);
}

export function isBusy(error: unknown): boolean {
  return primaryCode(error) === BUSY;
}

/** A full disk shows as FULL, as IOERR, or as a file that cannot be created. Takes translated errors. */
export function mayLackSpace(error: unknown): boolean {
  const code = primaryCode(error instanceof ServiceError ? error.cause : error);
  return code !== undefined && NO_SPACE_CODES.has(code);
}

const PAUSE_MILLISECONDS_MAX = 25;

/** Retries while another connection holds the lock, without blocking the event loop. Translates errors. */
export async function retryWhileBusy<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
  let deadline: number | undefined;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      deadline ??= performance.now() + milliseconds;
      if (!isBusy(error) || performance.now() >= deadline) throw translateSqliteError(error);
    }
    // Random pauses, so that two processes do not keep colliding.
    await sleep(Math.min(attempt, PAUSE_MILLISECONDS_MAX) * (0.5 + Math.random()));
  }
}

/** The low byte; the bytes above it contain the extended code. */
function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('rawCode' in error) || typeof error.rawCode !== 'number') return undefined;
  return error.rawCode & 0xff;
}
