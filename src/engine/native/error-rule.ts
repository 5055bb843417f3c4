import { ServiceError } from '../../errors/service-error.ts';
import type { ErrorName } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';

/**
 * One failure of the engine, known only by its message. `$1` in our message is what the pattern captured, `{1}` the same
 * in quotes: names and types, never paths or values of rows. Groups that took no part in the match do not count.
 */
export interface ErrorRule {
  /**
   * The caller when absent. A failure of the service must be recognised by the beginning of its message, up to the first
   * quote, because quoted text may be a caller's.
   */
  readonly blames?: 'service';
  readonly pattern: RegExp;
  readonly kind: ErrorName;
  readonly message: string;
  /** Left out when it names a capture that is missing. */
  readonly hint?: string;
  readonly retryAfterSeconds?: number;
}

/** By name, in the order in which they are tried. */
export type ErrorRules = Readonly<Record<string, ErrorRule>>;

/** What follows `Caused by` repeats the message in other words, with more of the caller's text in it. */
export function headOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split(/ {2}Caused by/, 1)[0] ?? '';
}

/**
 * Messages quote the caller's SQL. When the engine itself blames the input, no rule that blames the service may match: a
 * caller cannot dress a bad request up as an outage.
 */
export function matchesRule(rule: ErrorRule, message: string): boolean {
  return (rule.blames === undefined || !blamesCaller(message)) && rule.pattern.test(message);
}

export function blamesCaller(message: string): boolean {
  return /^(?:Failed to [^:]+: (?:GenericFailure, )?)?(?:lance error: )?(?:Invalid user input: |Invalid input, )/.test(
    message,
  );
}

export function toRefusal(
  { pattern, kind, message, hint, retryAfterSeconds }: ErrorRule,
  cause: unknown,
): ServiceError {
  const [, ...groups] = pattern.exec(headOf(cause)) ?? [];
  const captured = groups.filter((group) => group !== undefined);
  const filledHint = hint === undefined ? undefined : fill(hint, captured);
  return new ServiceError(kind, fill(message, captured) ?? message, {
    cause,
    ...(filledHint === undefined ? {} : { hint: filledHint }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

/** `undefined` when a capture is missing. */
function fill(template: string, captured: readonly string[]): string | undefined {
  let isWhole = true;
  const text = template.replace(/\{(\d)\}|\$(\d)/g, (_, quoted?: string, plain?: string) => {
    const part = captured[Number(quoted ?? plain) - 1];
    isWhole &&= part !== undefined;
    return quoted === undefined ? (part ?? '') : quoteForMessage(part ?? '');
  });
  return isWhole ? text : undefined;
}
