import { quoteForMessage } from '../../../model/identifier.ts';
import { INTERVAL_UNITS, LITERAL_TYPES } from '../keywords.ts';
import { refuseAt } from '../refusal.ts';
import { isSymbol, isWord, splitItems } from '../tokenizer.ts';
import type { SqlToken } from '../tokenizer.ts';

const TWO_LISTS = /\b(?:in|or)\b[^]*\b(?:in|or)\b/i;
const NOT_CALLED = new Set(['AND', 'OR', 'NOT', 'IN', 'BETWEEN', 'LIKE', 'ILIKE']);
const CASTS = new Set(['CAST', 'TRY_CAST']);

/**
 * Refuses two lists for one value that contradict each other, such as `a IN (1) AND a IN (2)`, or that together are
 * always true, such as `a NOT IN (1) OR a NOT IN (2)`. The engine's optimizer replaces them with "false" and "true"
 * even if the value is null, and would select, change or delete rows that the condition does not match. It also merges
 * other lists into one and loses their nulls: `a IN (1) AND a NOT IN (2, NULL)` would become `a IN (1)`. `(a = 1 OR a =
 * 2)` counts as a list.
 */
export function refuseContradictoryLists(text: string, tokens: readonly SqlToken[], isFilter: boolean): void {
  if (!TWO_LISTS.test(text)) return;
  if (isFilter && !distinguishesNull(tokens)) return;
  const lists = findLists(tokens);
  for (const [at, list] of lists.entries()) {
    const merged = lists.slice(0, at).filter((other) => areMerged(other, list));
    const nullable = merged.some((other) => other.items().mayBeNull || list.items().mayBeNull);
    if (!nullable && !merged.some((other) => isContradiction(other, list))) continue;
    throw refuseAt(
      list.offset,
      `two lists for ${quoteForMessage(list.operand)} contradict each other or are always true together`,
      nullable
        ? 'Give lists of literals without NULL; a condition with NOT IN (..., NULL) is never true.'
        : 'Write FALSE or IS NOT NULL instead of the two lists.',
    );
  }
}

/** A filter drops a row for null as for false, unless a part of the filter distinguishes the two. */
function distinguishesNull(tokens: readonly SqlToken[]): boolean {
  return tokens.some((token, at) => {
    if (isSymbol(token, '(')) return !isConnective(tokens[at - 1], '(') && !isWord(tokens[at - 1], 'IN');
    if (isSymbol(token, ')')) return !isConnective(tokens[at + 1], ')');
    return isWord(token, 'NOT') || isWord(token, 'IS');
  });
}

function isConnective(token: SqlToken | undefined, parenthesis: string): boolean {
  return token === undefined || isSymbol(token, parenthesis) || isWord(token, 'AND') || isWord(token, 'OR');
}

/** The position inside one of the open brackets. */
interface Level {
  /** Index of the opening bracket. */
  readonly bracket: number;
  /** For parentheses that only group: their inside and outside are parts of one condition. */
  readonly isGroup: boolean;
  readonly argument: number;
  /** The number of the term between two ORs. */
  readonly term: number;
  readonly isNegated: boolean;
  /** Index of the first token of the current value. */
  readonly valueStart: number;
}

interface List {
  readonly offset: number;
  /** Without parentheses and casts. */
  readonly operand: string;
  readonly isNegated: boolean;
  /** Read only if another list has the same operand. */
  readonly items: () => Items;
  readonly levels: readonly Level[];
}

interface Items {
  readonly texts: ReadonlySet<string>;
  /** Some are not literals, or one is NULL. */
  readonly mayBeNull: boolean;
}

function findLists(tokens: readonly SqlToken[]): readonly List[] {
  const lists: List[] = [];
  const atStart = { argument: 0, term: 0, isNegated: false };
  const levels: Level[] = [];
  let level: Level = { ...atStart, bracket: -1, isGroup: true, valueStart: 0 };
  for (const [at, token] of tokens.entries()) {
    if (isSymbol(token, '(') || isSymbol(token, '[')) {
      levels.push(level);
      const isGroup = isSymbol(token, '(') && !isCalled(tokens[at - 1]);
      level = { ...atStart, bracket: at, isGroup, valueStart: at + 1 };
    } else if (isSymbol(token, ')') || isSymbol(token, ']')) {
      const list = level.isGroup ? readEqualities(tokens.slice(level.bracket + 1, at)) : undefined;
      level = levels.pop() ?? level;
      if (list !== undefined) lists.push({ ...list, isNegated: false, levels: [...levels, level] });
    } else if (isWord(token, 'IN')) {
      const isNegated = isWord(tokens[at - 1], 'NOT');
      const operand = nameOperand(tokens.slice(level.valueStart, isNegated ? at - 1 : at));
      let read: Items | undefined;
      const items = (): Items => (read ??= readItems(tokens, at + 1));
      lists.push({ offset: token.start, operand, isNegated, items, levels: [...levels, level] });
    } else {
      const change = changeAfter(token, tokens[at + 1], level);
      if (change !== undefined) level = { ...level, ...change, valueStart: at + 1 };
    }
  }
  return lists;
}

/** Equalities of one value with literals, joined by OR. */
function readEqualities(tokens: readonly SqlToken[]): Pick<List, 'offset' | 'operand' | 'items'> | undefined {
  const [first] = tokens;
  if (first === undefined || !tokens.some((token) => isWord(token, 'OR'))) return undefined;
  const texts = new Set<string>();
  const operands = new Set<string>();
  let sides: [SqlToken[], ...SqlToken[][]] = [[]];
  for (const token of [...tokens, undefined]) {
    if (token !== undefined && (isSymbol(token, '=') || isSymbol(token, '=='))) sides.push([]);
    else if (token !== undefined && !isWord(token, 'OR')) sides.at(-1)?.push(token);
    else {
      const literal = sides.find((side) => side.length > 0 && side.every(isLiteralPart));
      const operand = sides.find((side) => side !== literal && side.every(isNamePart));
      if (sides.length !== 2 || literal === undefined || operand === undefined) return undefined;
      texts.add(literal.map(({ text }) => text).join(' '));
      operands.add(nameOperand(operand));
      sides = [[]];
    }
  }
  const [operand = ''] = operands;
  return operands.size === 1 ? { offset: first.start, operand, items: () => ({ texts, mayBeNull: false }) } : undefined;
}

function isLiteralPart({ kind, text }: SqlToken): boolean {
  return kind === 'string' || kind === 'number' || kind === 'hex' || text === '-';
}

function isNamePart({ kind, text }: SqlToken): boolean {
  return kind === 'quoted-name' || kind === 'word' || text === '.';
}

/** How a token that ends a value changes the position; `undefined` for all others. */
function changeAfter(token: SqlToken, next: SqlToken | undefined, level: Level): Partial<Level> | undefined {
  if (isSymbol(token, ',')) return { argument: level.argument + 1, isNegated: false };
  if (isWord(token, 'AND')) return { isNegated: false };
  if (isWord(token, 'OR')) return { term: level.term + 1, isNegated: false };
  return isWord(token, 'NOT') && !isWord(next, 'IN') ? { isNegated: !level.isNegated } : undefined;
}

function isCalled(token: SqlToken | undefined): boolean {
  return token?.kind === 'quoted-name' || (token?.kind === 'word' && !NOT_CALLED.has(token.text.toUpperCase()));
}

function nameOperand(tokens: readonly SqlToken[]): string {
  const isPartOfCast = (token: SqlToken, at: number): boolean =>
    ['(', ')', '::'].some((symbol) => isSymbol(token, symbol)) ||
    isSymbol(tokens[at - 1], '::') ||
    isWord(token, 'AS') ||
    isWord(tokens[at - 1], 'AS') ||
    (token.kind === 'word' && CASTS.has(token.text.toUpperCase()));
  return tokens
    .filter((token, at) => !isPartOfCast(token, at))
    .map(({ kind, text }) => (kind === 'word' || kind === 'quoted-name' ? text.toLowerCase() : text))
    .join(' ');
}

function readItems(tokens: readonly SqlToken[], opening: number): Items {
  const items = new Set<string>();
  let mayBeNull = false;
  let item = '';
  let depth = 0;
  for (let at = opening; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token === undefined) break;
    if (isSymbol(token, '(')) depth += 1;
    if (isSymbol(token, ')')) depth -= 1;
    if (depth === 0) break;
    if (token.kind === 'items' && depth === 1) {
      for (const literal of splitItems(token)) items.add(literal.startsWith('-') ? `- ${literal.slice(1)}` : literal);
    } else if (depth === 1 && isSymbol(token, ',')) {
      items.add(item);
      item = '';
    } else if (depth > 1 || !isSymbol(token, '(')) {
      item += item === '' ? token.text : ` ${token.text}`;
      mayBeNull ||=
        token.kind === 'quoted-name' || (token.kind === 'word' && !LITERAL_WORDS.has(token.text.toUpperCase()));
    }
  }
  return { texts: items.add(item), mayBeNull };
}

/** Words of literals that are not null. */
const LITERAL_WORDS: ReadonlySet<string> = new Set([...LITERAL_TYPES, ...INTERVAL_UNITS, 'TRUE', 'FALSE']);

/** Whether the optimizer merges them: joined by AND if not both are negated, or by OR if both are. */
function areMerged(one: List, other: List): boolean {
  if (one.operand !== other.operand) return false;
  const depth = commonDepth(one.levels, other.levels);
  const [first, second] = [one.levels[depth], other.levels[depth]];
  const isJoined = [one, other].every(({ levels }) => levels.slice(depth + 1).every(({ isGroup }) => isGroup));
  if (first?.argument !== second?.argument || !isJoined) return false;
  const isSameTerm = first?.term === second?.term;
  return isSameTerm !== (isNegatedFrom(one, depth) && isNegatedFrom(other, depth));
}

/** For lists that are merged. */
function isContradiction(one: List, other: List): boolean {
  const depth = commonDepth(one.levels, other.levels);
  const [isFirstNot, isSecondNot] = [isNegatedFrom(one, depth), isNegatedFrom(other, depth)];
  if (isFirstNot === isSecondNot) return !overlap(one.items().texts, other.items().texts);
  const [kept, taken] = isFirstNot ? [other, one] : [one, other];
  return includesAll(taken.items().texts, kept.items().texts);
}

function includesAll(items: ReadonlySet<string>, searched: ReadonlySet<string>): boolean {
  for (const item of searched) if (!items.has(item)) return false;
  return true;
}

function overlap(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  for (const item of one) if (other.has(item)) return true;
  return false;
}

/** The depth of the innermost bracket that contains both. */
function commonDepth(one: readonly Level[], other: readonly Level[]): number {
  const parting = one.findIndex(({ bracket }, depth) => bracket !== other[depth]?.bracket);
  return (parting === -1 ? one.length : parting) - 1;
}

function isNegatedFrom({ levels, isNegated }: List, depth: number): boolean {
  return levels.slice(depth).filter((level) => level.isNegated).length % 2 === (isNegated ? 0 : 1);
}
