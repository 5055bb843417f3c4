import type { GuardedSql } from '../../model/query.ts';
import { functionRule } from './functions.ts';
import type { FunctionRule } from './functions.ts';
import * as Keywords from './keywords.ts';
import { isSymbol, isWord, readTokens } from './tokenizer.ts';
import type { SqlToken } from './tokenizer.ts';
import { CAST, FIELD_MARK, NOTHING, SCALAR, applyRule, bytesWidth, columnFactor, columnWidth } from './width.ts';
import { greater, sum } from './width.ts';
import type { Argument, Width } from './width.ts';

/** The size of the largest value that an expression computes for a row, including intermediate ones. */
export interface Growth {
  /** At least 1: no value exceeds `factor` times the columns that the expression names, plus `bytes`. */
  readonly factor: number;
  /** What literals add to a value, after all functions. A literal that is only compared adds nothing. */
  readonly bytes: number;
  /** The largest value that does not depend on a row: the engine computes it once. */
  readonly constantBytes: number;
  /** Which call causes the largest growth of each kind, for messages. */
  readonly by: Readonly<Record<'factor' | 'bytes' | 'constantBytes', GrowingCall>>;
}

interface GrowingCall {
  readonly name: string;
  readonly offset: number;
}

/**
 * How many times larger a computed or intermediate value may be than the sum of the widths of the columns that the
 * expression names; at least 1. Literals are not included: see `measureGrowth`.
 */
export function estimateGrowth(sql: GuardedSql): number {
  return measureGrowth(readTokens(sql)).factor;
}

/** Like `estimateGrowth`, including what literals add, for the tokens of one complete expression. */
export function measureGrowth(tokens: Iterable<SqlToken>): Growth {
  return new GrowthMeter([...tokens]).measure();
}

/** Reads tokens that the parser accepted, so all brackets match. */
class GrowthMeter {
  readonly #tokens: readonly SqlToken[];
  readonly #outer: Frame[] = [];
  #frame = new Frame('group', { name: 'the expression', offset: 0 });
  readonly #by: Record<keyof Growth['by'], GrowingCall>;
  #factor = 1;
  readonly #most = { bytes: 0, constantBytes: 0 };

  constructor(tokens: readonly SqlToken[]) {
    this.#tokens = tokens;
    const { call } = this.#frame;
    this.#by = { factor: call, bytes: call, constantBytes: call };
  }

  measure(): Growth {
    for (let at = 0; at < this.#tokens.length; at += 1) at += this.#read(at);
    const value = this.#frame.finish();
    this.#record(value, this.#frame);
    // A constant is eventually copied into every row.
    this.#recordBytes('bytes', value.bytes, this.#by.constantBytes);
    return { factor: this.#factor, ...this.#most, by: this.#by };
  }

  /** Returns how many of the following tokens were consumed too. */
  #read(at: number): number {
    const token = this.#tokens[at];
    if (token === undefined) return 0;
    if (token.kind === 'symbol') this.#readSymbol(token, at);
    else if (token.kind === 'items') this.#frame.addItems(token);
    else if (token.kind === 'word' || token.kind === 'quoted-name') return this.#readName(token, at);
    else this.#frame.addLiteral(token);
    return 0;
  }

  #readSymbol(token: SqlToken, at: number): void {
    switch (token.text) {
      case '(':
      case '[':
        return this.#open(token, this.#tokens[at - 1]);
      case ')':
      case ']':
        return this.#close();
      case ',':
        return this.#frame.endArgument();
      case '::':
        return this.#frame.beginType();
      case '||':
        return this.#frame.join(token.start);
      default:
        return this.#frame.operate(!ARITHMETIC.has(token.text));
    }
  }

  #readName(token: SqlToken, at: number): number {
    const next = this.#tokens[at + 1];
    const word = token.kind === 'word' ? token.text.toUpperCase() : '';
    if (BOOLEAN_WORDS.has(word)) this.#frame.operate(true);
    else if (isCastWord(word, this.#frame)) this.#frame.beginType();
    else if (this.#frame.rule?.separators?.has(word) === true) this.#frame.endArgument();
    else if (Keywords.VALUES.has(word)) this.#frame.add(SCALAR);
    else if (!this.#frame.isType && !isSymbol(next, '(') && !opensArray(token, next) && !isTypeOf(word, next)) {
      return this.#readColumn(token, at);
    }
    return 0;
  }

  /** `p.x` and `p['x']` are the same field; what follows it is nested in it. */
  #readColumn(token: SqlToken, at: number): number {
    const [mark, field, end] = this.#tokens.slice(at + 1, at + 4);
    const column = token.text.toLowerCase();
    if (isSymbol(mark, '.') && field !== undefined) {
      this.#frame.add(columnWidth(`${column}${FIELD_MARK}${field.text.toLowerCase()}`));
      return 2 + this.#skipMembers(at + 3);
    }
    if (isSymbol(mark, '[') && field?.kind === 'string' && isSymbol(end, ']')) {
      this.#frame.add(columnWidth(`${column}${FIELD_MARK}${field.text.slice(1, -1).toLowerCase()}`));
      return 3 + this.#skipMembers(at + 4);
    }
    this.#frame.add(columnWidth(column));
    return 0;
  }

  #skipMembers(from: number): number {
    let count = 0;
    while (isSymbol(this.#tokens[from + count], '.')) count += 2;
    return count;
  }

  #open(token: SqlToken, before: SqlToken | undefined): void {
    this.#outer.push(this.#frame);
    this.#frame = openFrame(token, before, this.#frame);
  }

  #close(): void {
    const closed = this.#frame;
    let value = closed.finish();
    this.#frame = this.#outer.pop() ?? closed;
    if (closed.differsByRow) value = sum(value, columnWidth(`${closed.call.name}()`));
    if (closed.kind === 'in-list' || closed.kind === 'index' || closed.kind === 'type') return;
    this.#record(value, closed);
    this.#frame.add(value);
  }

  #record(value: Width, { concatenation, call }: Frame): void {
    const by = concatenation === undefined ? call : { name: '||', offset: concatenation };
    const factor = columnFactor(value);
    if (factor > this.#factor) [this.#factor, this.#by.factor] = [factor, by];
    this.#recordBytes(value.columns.size === 0 ? 'constantBytes' : 'bytes', value.bytes, by);
  }

  /** A function that adds little to its argument is not named in messages. */
  #recordBytes(kind: 'bytes' | 'constantBytes', bytes: number, by: GrowingCall): void {
    if (bytes > 2 * this.#most[kind]) this.#by[kind] = by;
    this.#most[kind] = Math.max(this.#most[kind], bytes);
  }
}

type FrameKind = 'group' | 'call' | 'array' | 'in-list' | 'index' | 'type';

const ARITHMETIC: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%', '&', '|', '^']);
const BOOLEAN_WORDS: ReadonlySet<string> = new Set([...Keywords.INFIX, 'NOT', 'IS', 'AT']);
/** The first arguments of a call whose text matters, such as a count or a pattern. */
const ARGUMENTS_KEPT = 3;

/** One pair of brackets: the sums of its arguments and of the current argument's operands. */
class Frame {
  readonly kind: FrameKind;
  readonly call: GrowingCall;
  readonly rule: FunctionRule | undefined;
  /** Inside the name of a type, which is not a column. */
  isType = false;
  /** The offset of the last `||`. */
  concatenation: number | undefined;
  #total = NOTHING;
  #greatest = NOTHING;
  #count = 0;
  readonly #arguments: Argument[] = [];
  #operand = NOTHING;
  #isJoined = false;
  #item = NOTHING;
  #isComputed = false;
  #literal: SqlToken | undefined;

  constructor(kind: FrameKind, call: GrowingCall, rule?: FunctionRule) {
    this.kind = kind;
    this.call = call;
    this.rule = rule;
  }

  /** Computed for each row, although it names no column. */
  get differsByRow(): boolean {
    return this.rule?.differsByRow === true;
  }

  add(width: Width): void {
    this.#literal = undefined;
    this.#operand = sum(this.#operand, width);
  }

  addLiteral(token: SqlToken): void {
    // The items of a list are only compared; there may be hundreds of thousands.
    if (this.kind === 'in-list' && !this.#isJoined) return;
    const isText = token.kind !== 'number';
    this.add(isText ? bytesWidth(Buffer.byteLength(token.text) + SCALAR.bytes) : SCALAR);
    this.#literal = token;
  }

  addItems({ text, count = 0 }: SqlToken): void {
    this.#count += count;
    this.#total = sum(this.#total, bytesWidth(Buffer.byteLength(text) + count * SCALAR.bytes));
  }

  beginType(): void {
    this.isType = true;
    this.#operand = sum(this.#operand, CAST);
  }

  join(offset: number): void {
    this.isType = false;
    this.#isJoined = true;
    this.concatenation = offset;
  }

  /** After arithmetic the value is a number, unless it is also concatenated; a comparison begins a new value. */
  operate(isBoolean: boolean): void {
    this.isType = false;
    this.#isComputed = true;
    if (isBoolean) this.#endOperand();
  }

  endArgument(): void {
    if (this.kind === 'in-list') return void this.#endItem();
    const literal = this.#literal;
    const width = this.#endItem();
    this.#count += 1;
    this.#total = sum(this.#total, width);
    if (this.rule?.growth === 'greatest') this.#greatest = greater(this.#greatest, width);
    if (this.#arguments.length < ARGUMENTS_KEPT) this.#arguments.push({ width, literal });
  }

  finish(): Width {
    this.endArgument();
    if (this.kind === 'array') return sum(this.#total, bytesWidth(this.#count * SCALAR.bytes));
    if (this.rule === undefined) return this.#total;
    const total = this.rule.growth === 'greatest' ? this.#greatest : this.#total;
    return sum(applyRule(this.rule, { total, count: this.#count, given: this.#arguments }), CAST);
  }

  /** A value that is only compared, or used in a calculation, was counted where it was created. */
  #endOperand(): void {
    if (this.#isJoined || !this.#isComputed) this.#item = greater(this.#item, this.#operand);
    this.#operand = NOTHING;
    this.#isJoined = false;
  }

  #endItem(): Width {
    this.#endOperand();
    const item = this.#isComputed ? greater(this.#item, SCALAR) : this.#item;
    this.#item = NOTHING;
    this.#isComputed = false;
    this.#literal = undefined;
    this.isType = false;
    return item;
  }
}

function openFrame(token: SqlToken, before: SqlToken | undefined, outer: Frame): Frame {
  const call = { name: before?.text ?? '', offset: before?.start ?? 0 };
  if (token.text === '[') return new Frame(isValueEnd(before) ? 'index' : 'array', { ...call, name: '[ ]' });
  if (isWord(before, 'IN')) return new Frame('in-list', call);
  if (outer.isType) return new Frame('type', call);
  const isName = before?.kind === 'quoted-name' || (before?.kind === 'word' && !BOOLEAN_WORDS.has(upper(before)));
  return isName ? new Frame('call', call, functionRule(before.text)) : new Frame('group', call);
}

function isValueEnd(token: SqlToken | undefined): boolean {
  if (token === undefined || isWord(token, 'ARRAY')) return false;
  if (token.kind === 'symbol') return token.text === ')' || token.text === ']';
  return token.kind !== 'word' || !BOOLEAN_WORDS.has(upper(token));
}

function opensArray(token: SqlToken, next: SqlToken | undefined): boolean {
  return isWord(token, 'ARRAY') && isSymbol(next, '[');
}

/** `DATE '2024-01-31'` and the unit of an interval. */
function isTypeOf(word: string, next: SqlToken | undefined): boolean {
  return Keywords.LITERAL_TYPES.has(word) && (next?.kind === 'string' || next?.kind === 'number');
}

function isCastWord(word: string, { rule }: Frame): boolean {
  return word === 'AS' && rule?.isCast === true;
}

function upper({ text }: SqlToken): string {
  return text.toUpperCase();
}
