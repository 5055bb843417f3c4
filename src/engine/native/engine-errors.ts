import { ServiceError } from '../../errors/service-error.ts';
import type { ErrorRule } from './error-rule.ts';
import { ERROR_RULES } from './error-rules.ts';

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

/** The rule that decides, if there is one for this failure. */
export function findErrorRule(error: unknown): ErrorRule | undefined {
  const message = headOf(error);
  return ERROR_RULES.find((rule) => isOpenTo(rule, message) && rule.pattern.test(message));
}

/** Another writer was faster; nothing of ours was committed, and the same write may succeed on the newer version. */
export function isRetryableConflict(error: unknown): boolean {
  if (!(error instanceof ServiceError) || error.kind !== 'ConcurrentModification') return false;
  return /Retryable commit conflict|Incompatible transaction|Concurrent modification/.test(headOf(error.cause));
}

/** A panic inside the engine, which tells nothing but that it happened. */
export function isPanic(error: unknown): boolean {
  return error instanceof ServiceError && headOf(error.cause).startsWith('Panic in async function');
}

/** What follows `Caused by` says the same again in other words, with more of the caller's text in it. */
function headOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split(/ {2}Caused by/, 1)[0] ?? '';
}

/**
 * Messages quote the caller's SQL. Where the engine itself says that the input is to blame, no rule that blames the
 * service may match, so nobody can dress a bad request up as an outage.
 */
function isOpenTo(rule: ErrorRule, message: string): boolean {
  return rule.blames === 'caller' || !blamesCaller(message);
}

function blamesCaller(message: string): boolean {
  return /^(?:Failed to [^:]+: (?:GenericFailure, )?)?(?:lance error: )?(?:Invalid user input: |Invalid input, )/.test(
    message,
  );
}

function toRefusal(rule: ErrorRule, cause: unknown): ServiceError {
  const [, ...found] = rule.pattern.exec(headOf(cause)) ?? [];
  const captured = found.map((part) => part ?? '');
  const hint = typeof rule.hint === 'function' ? rule.hint(...captured) : rule.hint;
  return new ServiceError(rule.kind, rule.sentence(...captured), {
    cause,
    ...(hint === undefined ? {} : { hint }),
    ...(rule.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: rule.retryAfterSeconds }),
  });
}
