import { quoteForMessage } from '../model/identifier.ts';
import type { SqlFrame } from './sql-frame.ts';
import type { FunctionRule } from './sql-functions.ts';
import { refuseAt } from './sql-refusal.ts';
import type { SqlToken } from './sql-tokens.ts';

/** Whether the function may be called at all, and inside these frames. */
export function checkOpening(name: SqlToken, rule: FunctionRule, frames: readonly SqlFrame[]): void {
  const called = quoteForMessage(name.text);
  if (rule.refused !== undefined) {
    throw refuseAt(name.start, `the function ${called} ${rule.refused}`, rule.hint ?? 'Leave it out.');
  }
  if (rule.multiplies === true && frames.some((frame) => frame.rule?.multiplies === true)) {
    throw refuseAt(
      name.start,
      `the function ${called} stands inside another that makes long values`,
      'Use one such function in an expression, not one inside the other.',
    );
  }
}

/** Called at the end of each argument, before it is counted. */
export function checkArgument(frame: SqlFrame, offset: number): void {
  const { rule } = frame;
  if (rule?.literalArgument !== frame.itemsDone + 1) return;
  const literal = frame.onlyToken;
  if (literal?.kind !== 'string') {
    throw refuseAt(offset, `an argument of ${quoteForMessage(frame.name)} is not a plain text`, rule.hint ?? '');
  }
  const numbers = literal.text.match(/\d+/g) ?? [];
  if (numbers.some((number) => Number(number) > (rule.literalNumberMax ?? Number.POSITIVE_INFINITY))) {
    throw refuseAt(literal.start, 'the type is too large', rule.hint ?? '');
  }
  if (rule.literalOnce !== undefined && literal.text.split(rule.literalOnce).length > 2) {
    throw refuseAt(literal.start, `the text holds ${rule.literalOnce} more than once`, rule.hint ?? '');
  }
}

export function checkCall(frame: SqlFrame, end: number): void {
  const { rule } = frame;
  if (rule === undefined) return;
  const called = quoteForMessage(frame.name);
  const { argumentsMin = 0, argumentsMax = Number.POSITIVE_INFINITY } = rule;
  if (frame.itemsDone < argumentsMin || frame.itemsDone > argumentsMax) {
    const bound = argumentsMin === argumentsMax ? 'exactly' : 'at least';
    throw refuseAt(frame.start, `the function ${called} takes ${bound} ${argumentsMin} arguments`, rule.hint ?? '');
  }
  if (end - frame.start > rule.charactersMax) {
    throw refuseAt(
      frame.start,
      `the arguments of ${called} have more than ${rule.charactersMax} characters`,
      'Give this function less text.',
    );
  }
}
