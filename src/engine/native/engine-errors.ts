import { ServiceError } from '../../errors/service-error.ts';
import { blamesCaller, headOf, matchesRule, toRefusal } from './error-rule.ts';
import { ROW_ERROR_RULES } from './row-error-rules.ts';
import { TABLE_ERROR_RULES } from './table-error-rules.ts';

/** The first rule that matches decides. A test provokes each against the real engine; the exceptions say why not. */
export const ERROR_RULES = Object.entries({ ...TABLE_ERROR_RULES, ...ROW_ERROR_RULES }).map(([name, rule]) => ({
  name,
  ...rule,
}));

/** Awaits a call of the engine and turns its failure into an error that callers may read. */
export async function engineCall<Value>(call: () => Promise<Value>): Promise<Value> {
  try {
    return await call();
  } catch (error) {
    throw toServiceError(error);
  }
}

export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const rule = findErrorRule(error);
  if (rule !== undefined) return toRefusal(rule, error);
  if (blamesCaller(headOf(error))) {
    return new ServiceError('InvalidInput', 'The storage engine refused the request as not valid.', { cause: error });
  }
  return new ServiceError('Internal', 'The storage engine failed.', { cause: error });
}

export function findErrorRule(error: unknown): (typeof ERROR_RULES)[number] | undefined {
  const message = headOf(error);
  return ERROR_RULES.find((rule) => matchesRule(rule, message));
}

/** Another writer committed first; nothing of ours was committed, and the same write may succeed on the newer version. */
export function isRetryableConflict(error: unknown): boolean {
  if (!(error instanceof ServiceError) || error.kind !== 'ConcurrentModification') return false;
  return /Retryable commit conflict|Incompatible transaction|Concurrent modification/.test(headOf(error.cause));
}

/** A conflict commits nothing, so the same write may run again; each attempt must start from the newest version. */
export async function retryConflicts<Value>(attemptsMax: number, attempt: () => Promise<Value>): Promise<Value> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (attempts >= attemptsMax || !isRetryableConflict(error)) throw error;
    }
  }
}

const MALFORMED_BATCH = 'A record batch of the Arrow stream is malformed.';

/** For work that stores rows. Only the bytes of a batch make the engine panic there: a panic is a malformed batch. */
export async function storeRows<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    const isPanic = error instanceof ServiceError && headOf(error.cause).startsWith('Panic in async function');
    throw isPanic ? new ServiceError('InvalidInput', MALFORMED_BATCH, { cause: error }) : error;
  }
}

/** The commit was made, with fewer rows than were sent: a malformed batch can end the engine's reading without an error. */
export class RowsMissing extends ServiceError {
  readonly version: number;

  constructor({ stored, rows, version }: { readonly stored: number; readonly rows: number; readonly version: number }) {
    super('InvalidInput', MALFORMED_BATCH, { cause: new Error(`The engine stored ${stored} of ${rows} rows.`) });
    this.version = version;
  }
}
