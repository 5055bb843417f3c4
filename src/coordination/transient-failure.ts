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
