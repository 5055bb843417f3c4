import type { SqlBudget } from './cost-budget.ts';
import { SqlFrame } from './scope.ts';
import type { FrameKind } from './scope.ts';
import { functionRule } from './functions.ts';
import { refuseAt } from './refusal.ts';
import type { SqlToken } from './tokenizer.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { FunctionRule } from './functions.ts';

/** The brackets that are open at a token, from the whole text inward. */
export class SqlBrackets {
  readonly #budget: SqlBudget;
  readonly #outer: SqlFrame[] = [];
  #inner = new SqlFrame({ kind: 'text', start: 0, depth: 0 });

  constructor(budget: SqlBudget) {
    this.#budget = budget;
  }

  get inner(): SqlFrame {
    return this.#inner;
  }

  open(kind: FrameKind, token: SqlToken): void {
    this.#enter(new SqlFrame({ kind, start: token.start, depth: this.#inner.depthNow + 1 }), token);
  }

  openCall(token: SqlToken, name: SqlToken): void {
    const rule = functionRule(name.text);
    checkOpening(name, rule, [...this.#outer, this.#inner]);
    this.#budget.returnName();
    this.#budget.spendCall(name.start);
    const depth = this.#inner.depthNow + 1;
    this.#enter(new SqlFrame({ kind: 'call', start: token.start, depth, name: name.text, rule }), token);
  }

  checkCloser(token: SqlToken): void {
    const { kind } = this.#inner;
    const closer = kind === 'array' || kind === 'index' ? ']' : ')';
    if (kind === 'text' || closer !== token.text) {
      throw refuseAt(token.start, 'a bracket is closed that is not open', 'Close every bracket in order.');
    }
  }

  /** Gives the frame that was closed. */
  close(token: SqlToken): SqlFrame {
    const closed = this.#inner;
    const outer = this.#outer.pop();
    if (outer === undefined) throw new Error('the frame of the text is never closed');
    if (!closed.isEmpty) this.#endItem(token);
    if (closed.kind === 'call') checkCall(closed, token.end);
    this.#budget.checkPlanning(closed, closed.start);
    outer.addChild(closed.planningCost());
    this.#inner = outer;
    return closed;
  }

  checkComma(token: SqlToken): void {
    const { kind, rule } = this.#inner;
    if (kind === 'text') {
      throw refuseAt(token.start, 'the text goes on after the expression', 'Give one expression and nothing else.');
    }
    if (kind === 'group' || kind === 'index' || rule?.isCast === true) {
      throw refuseAt(token.start, 'a comma stands outside a list', 'A list stands after IN, in [ ] or in a function.');
    }
  }

  takeComma(token: SqlToken): void {
    this.#endItem(token);
    this.#budget.spendItem(this.#inner, token.start);
  }

  finish(): void {
    if (this.#inner.kind !== 'text') {
      throw refuseAt(this.#inner.start, 'a bracket is opened and not closed', 'Close every bracket in order.');
    }
    this.#inner.endSegment();
    this.#budget.checkPlanning(this.#inner, 0);
  }

  #enter(frame: SqlFrame, token: SqlToken): void {
    const outer = this.#inner;
    outer.addToken(token);
    outer.signs = 0;
    this.#outer.push(outer);
    this.#inner = frame;
    this.#budget.checkDepth(frame, token.start);
  }

  #endItem(token: SqlToken): void {
    checkArgument(this.#inner, token.start);
    this.#inner.endItem();
  }
}

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
