import type { SqlLimits } from '../../model/limits.ts';
import { CostBudget } from './cost-budget.ts';
import type { TextOrigin } from './cost-budget.ts';
import type { ScopeKind, SqlScope } from './scope.ts';
import { ScopeStack } from './scope-stack.ts';
import { refuseAt } from './refusal.ts';
import type { SqlRefusal } from './refusal.ts';
import { isWord } from './tokenizer.ts';
import type { SqlToken } from './tokenizer.ts';
import * as Keywords from './keywords.ts';

/** What may come next. `value` and `operator` alternate; the others are inside a construct of several words. */
type Expectation = 'value' | 'operator' | 'member' | 'negated' | TypeExpectation | Continuation;
type TypeExpectation = 'type' | 'after-type' | 'cast-type' | 'after-cast-type';
type Continuation = 'is' | 'is-not' | 'is-distinct' | 'at' | 'at-time';

const TESTED: readonly [string, Expectation][] = ['NULL', 'TRUE', 'FALSE', 'UNKNOWN'].map((word) => [word, 'operator']);
const CONTINUATIONS: Readonly<Record<Continuation, ReadonlyMap<string, Expectation>>> = {
  is: new Map([...TESTED, ['NOT', 'is-not'], ['DISTINCT', 'is-distinct']]),
  'is-not': new Map([...TESTED, ['DISTINCT', 'is-distinct']]),
  'is-distinct': new Map([['FROM', 'value']]),
  at: new Map([['TIME', 'at-time']]),
  'at-time': new Map([['ZONE', 'value']]),
};

/**
 * Checks an expression token by token, without building a tree: values and operators must alternate, brackets must
 * match, and only forms that the engine evaluates are accepted. The engine parses more than it evaluates (`f(DISTINCT
 * x)`, `f(x) OVER (…)`, `CAST(x AS t FORMAT …)`): such text would not run as written.
 */
export class SqlParser {
  readonly #budget: CostBudget;
  readonly #scopes: ScopeStack;
  #expected: Expectation = 'value';
  #previous: SqlToken | undefined;
  /** The previous token is a name that may be called. */
  #isCallable = false;
  /** The previous token is the number of an interval, which a unit may follow. */
  #isInterval = false;

  constructor(limits: SqlLimits, origin: TextOrigin = 'usual') {
    this.#budget = new CostBudget(limits, origin);
    this.#scopes = new ScopeStack(this.#budget);
  }

  /** Whether plain literals of a list may come next. */
  get isAtItem(): boolean {
    return this.#expected === 'value' && this.#scope.isAtItem;
  }

  read(token: SqlToken): void {
    if (token.kind === 'items') return this.#readItems(token);
    const isInterval = this.#isInterval;
    this.#isInterval = false;
    if (token.kind === 'symbol') this.#readSymbol(token);
    else if (token.kind === 'word') this.#readWord(token, isInterval);
    else if (token.kind === 'quoted-name') this.#readName(token);
    else this.#readLiteral(token);
    this.#previous = token;
  }

  finish(offset: number): void {
    if (this.#previous === undefined) throw refuseAt(0, 'the text is empty', 'Give an expression.');
    if (this.#scope.kind === 'text') this.#checkComplete(offset);
    this.#scopes.finish();
  }

  get #scope(): SqlScope {
    return this.#scopes.inner;
  }

  /** Equivalent to reading each literal and its comma separately. */
  #readItems(token: SqlToken): void {
    this.#isCallable = false;
    this.#isInterval = false;
    this.#budget.spendItems(this.#scope, token);
    this.#scope.addItems(token);
    this.#previous = token;
  }

  #readSymbol(token: SqlToken): void {
    const isCallable = this.#isCallable;
    this.#isCallable = false;
    switch (token.text) {
      case '(':
        return this.#openParenthesis(token, isCallable);
      case '[':
        return this.#openBracket(token, isCallable);
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

  #openParenthesis(token: SqlToken, isCallable: boolean): void {
    const before = this.#previous;
    if (this.#expected === 'value') return this.#open(isWord(before, 'IN') ? 'in-list' : 'group', token);
    if (before?.kind === 'word' && this.#expected === 'after-type') return this.#open('type', token);
    if (before?.kind === 'word' && this.#expected === 'after-cast-type') return this.#open('cast-type', token);
    if (this.#expected !== 'operator' || !isCallable || before === undefined) throw this.#unexpected(token);
    this.#scopes.openCall(token, before);
    return this.#expect('value');
  }

  #openBracket(token: SqlToken, isCallable: boolean): void {
    if (this.#expected === 'value') return this.#open('array', token);
    if (this.#expected !== 'operator') throw this.#unexpected(token);
    if (isCallable && isWord(this.#previous, 'ARRAY')) {
      this.#budget.refundName();
      return this.#open('array', token);
    }
    this.#budget.spendCall(token.start);
    return this.#open('index', token);
  }

  #open(kind: ScopeKind, token: SqlToken): void {
    if (this.#scope.signs > 0) this.#spendOperators(this.#scope.signs, token);
    this.#scopes.open(kind, token);
    this.#expected = 'value';
  }

  #close(token: SqlToken): void {
    this.#scopes.checkCloser(token);
    const hasNoArguments = this.#scope.kind === 'call' && this.#scope.isEmpty;
    if (!hasNoArguments) this.#checkComplete(token.start);
    const { kind } = this.#scopes.close(token);
    this.#expected = kind === 'type' || kind === 'cast-type' ? `after-${kind}` : 'operator';
  }

  #readComma(token: SqlToken): void {
    this.#scopes.checkComma(token);
    this.#checkComplete(token.start);
    this.#scopes.takeComma(token);
    this.#expected = 'value';
  }

  #readDot(token: SqlToken): void {
    const before = this.#previous;
    const afterLiteral = before?.kind === 'number' || before?.kind === 'string' || before?.kind === 'hex';
    if (this.#expected !== 'operator' || afterLiteral) throw this.#unexpected(token);
    this.#scope.addToken(token);
    this.#expected = 'member';
  }

  #readOperator(token: SqlToken): void {
    this.#scope.addToken(token);
    if (this.#expected === 'value' && (token.text === '-' || token.text === '+')) {
      this.#scope.signs += 1;
      return this.#budget.checkDepth(this.#scope, token.start);
    }
    if (this.#expected !== 'operator' && this.#expected !== 'after-type') throw this.#unexpected(token);
    this.#spendOperators(1, token);
    this.#expected = token.text === '::' ? 'type' : 'value';
  }

  #readLiteral(token: SqlToken): void {
    this.#isCallable = false;
    if (this.#expected === 'value') {
      const isSigned = token.kind === 'number' && this.#previous?.end === token.start;
      this.#settleSigns(token, isSigned ? 1 : 0);
      return this.#endValue(token);
    }
    const type = this.#previous?.kind === 'word' ? this.#previous.text.toUpperCase() : '';
    const isInterval = type === 'INTERVAL';
    const fits = token.kind === 'string' || (isInterval && token.kind === 'number');
    if (this.#expected !== 'operator' || !Keywords.LITERAL_TYPES.has(type) || !fits) throw this.#unexpected(token);
    this.#budget.refundName();
    this.#isInterval = isInterval;
    return this.#endValue(token);
  }

  #readName(token: SqlToken): void {
    if (this.#expected !== 'value' && this.#expected !== 'member') throw this.#unexpected(token);
    this.#budget.spendName(token.start);
    this.#settleSigns(token, 0);
    this.#endValue(token);
    this.#isCallable = true;
  }

  #readWord(token: SqlToken, isInterval: boolean): void {
    const word = token.text.toUpperCase();
    this.#isCallable = false;
    if (this.#expected === 'member') return this.#readName(token);
    if (this.#expected === 'value') return this.#readValueWord(token, word);
    this.#scope.addToken(token);
    switch (this.#expected) {
      case 'operator':
        if (isInterval && Keywords.INTERVAL_UNITS.has(word)) return undefined;
        return this.#readOperatorWord(token, word);
      case 'type':
      case 'cast-type':
        return this.#expect(`after-${this.#expected}`);
      case 'after-type':
        return Keywords.TYPE_WORDS.has(word) ? undefined : this.#readOperatorWord(token, word);
      case 'after-cast-type':
        if (Keywords.TYPE_WORDS.has(word)) return undefined;
        throw this.#unexpected(token);
      case 'negated':
        if (Keywords.NEGATABLE.has(word)) return this.#readInfixWord(token, word);
        throw this.#unexpected(token);
      default: {
        const next = CONTINUATIONS[this.#expected].get(word);
        if (next === undefined) throw this.#unexpected(token);
        return this.#expect(next);
      }
    }
  }

  #readValueWord(token: SqlToken, word: string): void {
    const refusal = Keywords.REFUSED_VALUES.get(word);
    if (refusal !== undefined) throw refuseAt(token.start, ...refusal);
    if (Keywords.INFIX.has(word) || word === 'IS') throw this.#unexpected(token);
    if (word === 'NOT') {
      this.#scope.addToken(token);
      this.#scope.negations += 1;
      this.#spendOperators(1, token);
      return this.#budget.checkDepth(this.#scope, token.start);
    }
    if (this.#scope.isEmpty && this.#scope.rule?.leadingWords?.has(word) === true) return this.#scope.addToken(token);
    if (!Keywords.VALUES.has(word)) return this.#readName(token);
    this.#settleSigns(token, 0);
    return this.#endValue(token);
  }

  #readOperatorWord(token: SqlToken, word: string): void {
    if (Keywords.INFIX.has(word)) return this.#readInfixWord(token, word);
    if (word === 'NOT') return this.#expect('negated');
    if (word === 'IS' || word === 'AT') {
      this.#spendOperators(1, token);
      return this.#expect(word === 'IS' ? 'is' : 'at');
    }
    if (word === 'AS' && this.#scope.rule?.isCast === true) return this.#expect('cast-type');
    if (this.#scope.rule?.separators?.has(word) !== true) throw this.#unexpected(token);
    this.#scope.endClause();
    return this.#expect('value');
  }

  #readInfixWord(token: SqlToken, word: string): void {
    const scope = this.#scope;
    this.#expected = 'value';
    if (word === 'AND' && scope.openBetweens > 0) {
      scope.openBetweens -= 1;
      return;
    }
    this.#spendOperators(1, token);
    if (word === 'BETWEEN') scope.addBetween();
    if (word === 'OR' && scope.openBetweens > 0) throw this.#unexpected(token);
    if (word === 'AND' || word === 'OR') scope.endClause();
  }

  #spendOperators(count: number, token: SqlToken): void {
    this.#scope.addParts(count);
    this.#budget.spendOperators(count, token.start);
  }

  #expect(expected: Expectation): void {
    this.#expected = expected;
  }

  #endValue(token: SqlToken): void {
    this.#scope.addToken(token);
    this.#expected = 'operator';
  }

  /** The sign of a number is not counted: lists of negative numbers may be as long as others. */
  #settleSigns(token: SqlToken, free: number): void {
    const { signs } = this.#scope;
    this.#scope.signs = 0;
    if (signs > free) this.#spendOperators(signs - free, token);
  }

  #checkComplete(offset: number): void {
    const isCast = this.#scope.rule?.isCast === true;
    const complete = isCast
      ? this.#expected === 'after-cast-type'
      : this.#expected === 'operator' || this.#expected === 'after-type';
    if (!complete || this.#scope.openBetweens > 0) {
      throw refuseAt(offset, 'the expression is not complete', this.#completionHint(isCast));
    }
  }

  #completionHint(isCast: boolean): string {
    if (isCast) return 'Write CAST(value AS type).';
    if (this.#scope.openBetweens > 0) return 'Write value BETWEEN low AND high.';
    if (this.#scope.kind === 'array' && this.#scope.isEmpty) return 'Write make_array() for an empty list.';
    return 'A value is missing here.';
  }

  #unexpected(token: SqlToken): SqlRefusal {
    if (this.#expected === 'value') {
      return refuseAt(token.start, 'expected a value', 'Every operator needs a value on both sides.');
    }
    const refusal = token.kind === 'word' ? Keywords.REFUSED_OPERATORS.get(token.text.toUpperCase()) : undefined;
    if (refusal !== undefined) return refuseAt(token.start, ...refusal);
    if (this.#expected === 'operator') {
      return refuseAt(token.start, 'expected an operator', 'Join two values with an operator such as AND.');
    }
    return refuseAt(token.start, 'this is not allowed here', 'Give a single expression.');
  }
}
