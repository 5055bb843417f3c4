import type { SqlLimits } from '../../model/limits.ts';
import { SqlBrackets } from './scope-stack.ts';
import { SqlBudget } from './cost-budget.ts';
import type { FrameKind, SqlFrame } from './scope.ts';
import { refuseAt } from './refusal.ts';
import type { SqlRefusal } from './refusal.ts';
import type { SqlToken } from './tokenizer.ts';
import {
  INFIX_WORDS,
  INTERVAL_UNITS,
  LITERAL_TYPES,
  NEGATABLE_WORDS,
  REFUSED_OPERATOR_WORDS,
  REFUSED_VALUE_WORDS,
  TYPE_WORDS,
  VALUE_WORDS,
} from './keywords.ts';

/** What may come next. `value` and `operator` take turns; the others are inside a construct of several words. */
type Expectation =
  | 'value'
  | 'operator'
  | 'member'
  | 'type'
  | 'after-type'
  | 'cast-type'
  | 'after-cast-type'
  | 'is'
  | 'is-not'
  | 'is-distinct'
  | 'negated'
  | 'at'
  | 'at-time';

/**
 * Reads an expression token by token, without a tree: values and operators must take turns, brackets must match, and
 * only forms that the engine takes into account pass. The engine reads more than it heeds (`f(DISTINCT x)`, `f(x) OVER
 * (…)`, `CAST(x AS t FORMAT …)`): such text would run as something else than it says.
 */
export class SqlReader {
  readonly #budget: SqlBudget;
  readonly #brackets: SqlBrackets;
  #expected: Expectation = 'value';
  #previous: SqlToken | undefined;
  /** The previous token is a name that a call may follow. */
  #callable = false;
  /** The previous token ends an interval's number, so a unit may follow. */
  #interval = false;

  constructor(limits: SqlLimits) {
    this.#budget = new SqlBudget(limits);
    this.#brackets = new SqlBrackets(this.#budget);
  }

  read(token: SqlToken): void {
    const interval = this.#interval;
    this.#interval = false;
    if (token.kind === 'symbol') this.#readSymbol(token);
    else if (token.kind === 'word') this.#readWord(token, interval);
    else if (token.kind === 'quoted-name') this.#readName(token);
    else this.#readLiteral(token);
    this.#previous = token;
  }

  finish(offset: number): void {
    if (this.#previous === undefined) throw refuseAt(0, 'the text is empty', 'Give one expression.');
    if (this.#frame.kind === 'text') this.#checkComplete(offset);
    this.#brackets.finish();
  }

  get #frame(): SqlFrame {
    return this.#brackets.inner;
  }

  #readSymbol(token: SqlToken): void {
    const callable = this.#callable;
    this.#callable = false;
    switch (token.text) {
      case '(':
        return this.#openParenthesis(token, callable);
      case '[':
        return this.#openBracket(token, callable);
      case ')':
      case ']':
        return this.#close(token);
      case ',':
        return this.#readComma(token);
      case '.':
        return this.#readDot(token);
      default:
        return this.#readOperator(token);
    }
  }

  #openParenthesis(token: SqlToken, callable: boolean): void {
    const before = this.#previous;
    if (this.#expected === 'value') return this.#open(isWord(before, 'IN') ? 'in-list' : 'group', token);
    if (before?.kind === 'word' && this.#expected === 'after-type') return this.#open('type', token);
    if (before?.kind === 'word' && this.#expected === 'after-cast-type') return this.#open('cast-type', token);
    if (this.#expected !== 'operator' || !callable || before === undefined) throw this.#unexpected(token);
    this.#brackets.openCall(token, before);
    return this.#expect('value');
  }

  #openBracket(token: SqlToken, callable: boolean): void {
    if (this.#expected === 'value') return this.#open('array', token);
    if (this.#expected !== 'operator') throw this.#unexpected(token);
    if (callable && isWord(this.#previous, 'ARRAY')) {
      this.#budget.returnName();
      return this.#open('array', token);
    }
    this.#budget.spendCall(token.start);
    return this.#open('index', token);
  }

  #open(kind: FrameKind, token: SqlToken): void {
    if (this.#frame.signs > 0) this.#spendOperators(this.#frame.signs, token);
    this.#brackets.open(kind, token);
    this.#expected = 'value';
  }

  #close(token: SqlToken): void {
    this.#brackets.checkCloser(token);
    const isCallOfNothing = this.#frame.kind === 'call' && this.#frame.isEmpty;
    if (!isCallOfNothing) this.#checkComplete(token.start);
    const { kind } = this.#brackets.close(token);
    this.#expected = kind === 'type' || kind === 'cast-type' ? `after-${kind}` : 'operator';
  }

  #readComma(token: SqlToken): void {
    this.#brackets.checkComma(token);
    this.#checkComplete(token.start);
    this.#brackets.takeComma(token);
    this.#expected = 'value';
  }

  #readDot(token: SqlToken): void {
    const before = this.#previous;
    const afterLiteral = before?.kind === 'number' || before?.kind === 'string' || before?.kind === 'hex';
    if (this.#expected !== 'operator' || afterLiteral) throw this.#unexpected(token);
    this.#frame.addToken(token);
    this.#expected = 'member';
  }

  #readOperator(token: SqlToken): void {
    this.#frame.addToken(token);
    if (this.#expected === 'value' && (token.text === '-' || token.text === '+')) {
      this.#frame.signs += 1;
      return this.#budget.checkDepth(this.#frame, token.start);
    }
    if (this.#expected !== 'operator' && this.#expected !== 'after-type') throw this.#unexpected(token);
    this.#spendOperators(1, token);
    this.#expected = token.text === '::' ? 'type' : 'value';
  }

  #readLiteral(token: SqlToken): void {
    this.#callable = false;
    if (this.#expected === 'value') {
      const isSigned = token.kind === 'number' && this.#previous?.end === token.start;
      this.#settleSigns(token, isSigned ? 1 : 0);
      return this.#endValue(token);
    }
    const type = this.#previous?.kind === 'word' ? this.#previous.text.toUpperCase() : '';
    const isInterval = type === 'INTERVAL';
    const fits = token.kind === 'string' || (isInterval && token.kind === 'number');
    if (this.#expected !== 'operator' || !LITERAL_TYPES.has(type) || !fits) throw this.#unexpected(token);
    this.#budget.returnName();
    this.#interval = isInterval;
    return this.#endValue(token);
  }

  #readName(token: SqlToken): void {
    if (this.#expected !== 'value' && this.#expected !== 'member') throw this.#unexpected(token);
    this.#budget.spendName(token.start);
    this.#settleSigns(token, 0);
    this.#endValue(token);
    this.#callable = true;
  }

  #readWord(token: SqlToken, interval: boolean): void {
    const word = token.text.toUpperCase();
    this.#callable = false;
    if (this.#expected === 'member') return this.#readName(token);
    if (this.#expected === 'value') return this.#readValueWord(token, word);
    this.#frame.addToken(token);
    switch (this.#expected) {
      case 'operator':
        if (interval && INTERVAL_UNITS.has(word)) return undefined;
        return this.#readOperatorWord(token, word);
      case 'type':
      case 'cast-type':
        return this.#expect(`after-${this.#expected}`);
      case 'after-type':
        return TYPE_WORDS.has(word) ? undefined : this.#readOperatorWord(token, word);
      case 'after-cast-type':
        if (TYPE_WORDS.has(word)) return undefined;
        throw this.#unexpected(token);
      case 'negated':
        if (NEGATABLE_WORDS.has(word)) return this.#readInfixWord(token, word);
        throw this.#unexpected(token);
      case 'is':
      case 'is-not':
      case 'is-distinct':
        return this.#readTestWord(token, word);
      case 'at':
        if (word === 'TIME') return this.#expect('at-time');
        throw this.#unexpected(token);
      case 'at-time':
        if (word === 'ZONE') return this.#expect('value');
        throw this.#unexpected(token);
    }
  }

  #readValueWord(token: SqlToken, word: string): void {
    const refusal = REFUSED_VALUE_WORDS.get(word);
    if (refusal !== undefined) throw refuseAt(token.start, refusal.reason, refusal.hint);
    if (INFIX_WORDS.has(word) || word === 'IS') throw this.#unexpected(token);
    if (word === 'NOT') {
      this.#frame.addToken(token);
      this.#frame.negations += 1;
      this.#spendOperators(1, token);
      return this.#budget.checkDepth(this.#frame, token.start);
    }
    if (this.#frame.isEmpty && this.#frame.rule?.leadingWords?.has(word) === true) return this.#frame.addToken(token);
    if (!VALUE_WORDS.has(word)) return this.#readName(token);
    this.#settleSigns(token, 0);
    return this.#endValue(token);
  }

  #readOperatorWord(token: SqlToken, word: string): void {
    if (INFIX_WORDS.has(word)) return this.#readInfixWord(token, word);
    if (word === 'NOT') return this.#expect('negated');
    if (word === 'IS' || word === 'AT') {
      this.#spendOperators(1, token);
      return this.#expect(word === 'IS' ? 'is' : 'at');
    }
    if (word === 'AS' && this.#frame.rule?.isCast === true) return this.#expect('cast-type');
    if (this.#frame.rule?.separators?.has(word) !== true) throw this.#unexpected(token);
    this.#frame.endSegment();
    return this.#expect('value');
  }

  #readInfixWord(token: SqlToken, word: string): void {
    const frame = this.#frame;
    this.#expected = 'value';
    if (word === 'AND' && frame.openBetweens > 0) {
      frame.openBetweens -= 1;
      return;
    }
    this.#spendOperators(1, token);
    if (word === 'BETWEEN') frame.addBetween();
    if (word === 'OR' && frame.openBetweens > 0) throw this.#unexpected(token);
    if (word === 'AND' || word === 'OR') frame.endSegment();
  }

  #readTestWord(token: SqlToken, word: string): void {
    if (this.#expected === 'is-distinct') {
      if (word === 'FROM') return this.#expect('value');
      throw this.#unexpected(token);
    }
    if (word === 'NOT' && this.#expected === 'is') return this.#expect('is-not');
    if (word === 'DISTINCT') return this.#expect('is-distinct');
    if (VALUE_WORDS.has(word) || word === 'UNKNOWN') return this.#expect('operator');
    throw this.#unexpected(token);
  }

  #spendOperators(count: number, token: SqlToken): void {
    this.#frame.addParts(count);
    this.#budget.spendOperators(count, token.start);
  }

  #expect(expected: Expectation): void {
    this.#expected = expected;
  }

  #endValue(token: SqlToken): void {
    this.#frame.addToken(token);
    this.#expected = 'operator';
  }

  /** A sign that belongs to a number costs nothing: lists of negative numbers are as long as others. */
  #settleSigns(token: SqlToken, free: number): void {
    const { signs } = this.#frame;
    this.#frame.signs = 0;
    if (signs > free) this.#spendOperators(signs - free, token);
  }

  #checkComplete(offset: number): void {
    const isCast = this.#frame.rule?.isCast === true;
    const complete = isCast
      ? this.#expected === 'after-cast-type'
      : this.#expected === 'operator' || this.#expected === 'after-type';
    if (!complete || this.#frame.openBetweens > 0) {
      throw refuseAt(offset, 'the expression is not complete', this.#completionHint(isCast));
    }
  }

  #completionHint(isCast: boolean): string {
    if (isCast) return 'Write CAST(value AS type).';
    if (this.#frame.openBetweens > 0) return 'Write value BETWEEN low AND high.';
    if (this.#frame.kind === 'array' && this.#frame.isEmpty) return 'Write make_array() for an empty list.';
    return 'A value is missing here.';
  }

  #unexpected(token: SqlToken): SqlRefusal {
    if (this.#expected === 'value') {
      return refuseAt(token.start, 'a value is expected', 'Every operator needs a value on both sides.');
    }
    const refusal = token.kind === 'word' ? REFUSED_OPERATOR_WORDS.get(token.text.toUpperCase()) : undefined;
    if (refusal !== undefined) return refuseAt(token.start, refusal.reason, refusal.hint);
    if (this.#expected === 'operator') {
      return refuseAt(token.start, 'the text goes on after a value', 'Join two values with an operator such as AND.');
    }
    return refuseAt(token.start, 'this cannot stand here', 'Give one expression and nothing else.');
  }
}

function isWord(token: SqlToken | undefined, word: string): boolean {
  return token?.kind === 'word' && token.text.toUpperCase() === word;
}
