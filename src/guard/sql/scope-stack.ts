import { quoteForMessage } from '../../model/identifier.ts';
import { formatCount } from '../../model/value-text.ts';
import type { CostBudget } from './cost-budget.ts';
import { COUNT_MAX, functionRule } from './functions.ts';
import type { FunctionRule } from './functions.ts';
import { refuseAt } from './refusal.ts';
import { SqlScope } from './scope.ts';
import type { ScopeKind } from './scope.ts';
import type { SqlToken } from './tokenizer.ts';
import { hasWrongDecimal } from './checks/types.ts';

const IN_ORDER = 'Close every bracket in order.';

/** The brackets that are open at a token, from the whole text inward. */
export class ScopeStack {
  readonly #budget: CostBudget;
  readonly #outer: SqlScope[] = [];
  #inner = new SqlScope('text', 0, 0);

  constructor(budget: CostBudget) {
    this.#budget = budget;
  }

  get inner(): SqlScope {
    return this.#inner;
  }

  open(kind: ScopeKind, token: SqlToken, call?: { name: string; rule: FunctionRule }): void {
    const outer = this.#inner;
    this.#inner = new SqlScope(kind, token.start, outer.depthNow + 1, call);
    outer.addToken(token);
    outer.signs = 0;
    this.#outer.push(outer);
    this.#budget.checkDepth(this.#inner, token.start);
  }

  openCall(token: SqlToken, name: SqlToken): void {
    const rule = functionRule(name.text);
    checkCallable(name, rule, [...this.#outer, this.#inner]);
    this.#budget.refundName();
    this.#budget.spendCall(name.start);
    this.open('call', token, { name: name.text, rule });
  }

  checkCloser(token: SqlToken): void {
    const { kind } = this.#inner;
    const closer = kind === 'array' || kind === 'index' ? ']' : ')';
    if (kind === 'text' || closer !== token.text) {
      throw refuseAt(token.start, 'a closing bracket has no opening bracket', IN_ORDER);
    }
  }

  /** Returns the closed scope. */
  close(token: SqlToken): SqlScope {
    const closed = this.#inner;
    const outer = this.#outer.pop();
    if (outer === undefined) throw new Error('the scope of the text is never closed');
    if (!closed.isEmpty) this.#endItem(token);
    if (closed.kind === 'call') checkCall(closed, token.end);
    this.#budget.checkPlanning(closed, closed.start);
    outer.addChild(closed);
    this.#inner = outer;
    return closed;
  }

  checkComma(token: SqlToken): void {
    const { kind, rule } = this.#inner;
    if (kind === 'text') {
      throw refuseAt(token.start, 'there is text after the expression', 'Give a single expression.');
    }
    if (kind === 'group' || kind === 'index' || rule?.isCast === true) {
      throw refuseAt(
        token.start,
        'there is a comma outside a list',
        'Lists are allowed after IN, in [ ] and as function arguments.',
      );
    }
  }

  takeComma(token: SqlToken): void {
    this.#endItem(token);
    this.#budget.spendItem(this.#inner, token.start);
  }

  finish(): void {
    if (this.#inner.kind !== 'text') {
      throw refuseAt(this.#inner.start, 'an opening bracket is not closed', IN_ORDER);
    }
    this.#inner.endClause();
    this.#budget.checkPlanning(this.#inner, 0);
  }

  #endItem(token: SqlToken): void {
    checkArgument(this.#inner, token.start);
    this.#inner.endItem();
  }
}

function checkCallable(name: SqlToken, rule: FunctionRule, scopes: readonly SqlScope[]): void {
  const called = quoteForMessage(name.text);
  if (rule.refused !== undefined) {
    throw refuseAt(name.start, `the function ${called} ${rule.refused}`, rule.hint ?? 'Remove it.');
  }
  if (rule.multiplies === true && scopes.some((scope) => scope.rule?.multiplies === true)) {
    const reason = `the function ${called} is nested in another function that produces long values`;
    throw refuseAt(name.start, reason, 'Do not nest these functions.');
  }
}

/** Runs at the end of each argument, before it is counted. */
function checkArgument({ rule, itemsDone, onlyToken: literal, name }: SqlScope, offset: number): void {
  if (rule?.countArgument === itemsDone + 1) checkCount(literal, { name, offset, hint: rule.hint ?? '' });
  if (rule === undefined || ![rule.literalArgument].flat().includes(itemsDone + 1)) return;
  const { hint = '', literalNumberMax = Number.POSITIVE_INFINITY, literalOnce } = rule;
  if (literal?.kind !== 'string' || (rule.growth === 'replace' && itemsDone === 1 && literal.text === "''")) {
    throw refuseAt(offset, `an argument of ${quoteForMessage(name)} is not a string literal`, hint);
  }
  const numbers = literal.text.match(/\d+/g) ?? [];
  if (numbers.some((number) => Number(number) > literalNumberMax)) {
    throw refuseAt(literal.start, 'the type is too large', hint);
  }
  if (rule.growth === 'type' && hasWrongDecimal(literal.text)) {
    throw refuseAt(literal.start, 'the scale of the decimal type is not from 0 to its precision', hint);
  }
  if (literalOnce !== undefined && literal.text.split(literalOnce).length > 2) {
    throw refuseAt(literal.start, `the string contains ${literalOnce} more than once`, hint);
  }
}

/** If a row determined the count, a value could have any length. */
function checkCount(
  literal: SqlToken | undefined,
  { name, offset, hint }: { name: string; offset: number; hint: string },
): void {
  const called = quoteForMessage(name);
  if (literal?.kind !== 'number' || !/^\d+$/.test(literal.text)) {
    throw refuseAt(
      offset,
      `the count of ${called}, which determines the length of the value, is not a number literal`,
      hint,
    );
  }
  if (Number(literal.text) > COUNT_MAX) {
    throw refuseAt(literal.start, `the count of ${called} is larger than ${formatCount(COUNT_MAX)}`, hint);
  }
}

function checkCall({ rule, itemsDone, name, start }: SqlScope, end: number): void {
  if (rule === undefined) return;
  const { argumentsMin = 0, argumentsMax = Number.POSITIVE_INFINITY, charactersMax, hint = '' } = rule;
  const called = quoteForMessage(name);
  if (itemsDone < argumentsMin || itemsDone > argumentsMax) {
    const bound = argumentsMin === argumentsMax ? 'exactly' : 'at least';
    throw refuseAt(
      start,
      `the function ${called} needs ${bound} ${argumentsMin} argument${argumentsMin === 1 ? '' : 's'}`,
      hint,
    );
  }
  if (end - start > charactersMax) {
    const reason = `the arguments of ${called} have more than ${formatCount(charactersMax)} characters`;
    throw refuseAt(start, reason, 'Use shorter arguments.');
  }
}
