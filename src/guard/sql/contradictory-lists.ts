import { quoteForMessage } from '../../model/identifier.ts';
import { refuseAt } from './refusal.ts';
import { readTokens } from './tokenizer.ts';
import type { SqlToken } from './tokenizer.ts';

const TWO_LISTS = /\bin\b[^]*\bin\b/i;
const NO_CALLEES = new Set(['AND', 'OR', 'NOT', 'IN', 'BETWEEN', 'LIKE', 'ILIKE']);
const CASTS = new Set(['CAST', 'TRY_CAST']);

/**
 * Refuses two lists about one value that leave nothing over, such as `a NOT IN (1) OR a NOT IN (2)`. The engine's
 * optimizer writes "true" for these (or "false" for `a IN (1) AND a IN (2)`), also where the value is null: rows would be
 * found, changed or deleted that the condition does not select.
 */
export function refuseOpposedLists(text: string, isFilter: boolean): void {
  if (!TWO_LISTS.test(text)) return;
  const tokens = [...readTokens(text)];
  if (isFilter && !tellsNullFromFalse(tokens)) return;
  const lists = findLists(tokens);
  for (const [at, list] of lists.entries()) {
    const other = lists.slice(0, at).find((each) => isOpposed(each, list));
    if (other === undefined) continue;
    throw refuseAt(
      list.offset,
      `two lists for ${quoteForMessage(list.operand)} leave nothing over`,
      'Leave both out, and write IS NOT NULL or FALSE for what they mean together.',
    );
  }
}

/** A row is left out whether its filter is null or false, unless something in the filter tells the two apart. */
function tellsNullFromFalse(tokens: readonly SqlToken[]): boolean {
  return tokens.some((token, at) => {
    if (isSymbol(token, '(')) return !isJoint(tokens[at - 1], '(') && !isWord(tokens[at - 1], 'IN');
    if (isSymbol(token, ')')) return !isJoint(tokens[at + 1], ')');
    return isWord(token, 'NOT') || isWord(token, 'IS');
  });
}

function isJoint(token: SqlToken | undefined, parenthesis: string): boolean {
  return token === undefined || isSymbol(token, parenthesis) || isWord(token, 'AND') || isWord(token, 'OR');
}

/** Where a list stands in one of the brackets around it. */
interface Level {
  readonly bracket: number;
  /** Of brackets that only group: what is inside is joined with what is outside. */
  readonly isGroup: boolean;
  /** Number of the argument, and of the term between two ORs. */
  readonly part: number;
  readonly term: number;
  readonly isNegated: boolean;
}

interface List {
  readonly offset: number;
  /** What is looked for, without parentheses and casts. */
  readonly operand: string;
  readonly isNegated: boolean;
  readonly items: readonly string[];
  readonly levels: readonly Level[];
}

function findLists(tokens: readonly SqlToken[]): readonly List[] {
  const lists: List[] = [];
  let levels: readonly Level[] = [{ bracket: -1, isGroup: true, part: 0, term: 0, isNegated: false }];
  /** Where the value that is being read began, in each bracket. */
  let starts: readonly number[] = [0];
  for (const [at, token] of tokens.entries()) {
    const word = token.kind === 'word' ? token.text.toUpperCase() : '';
    if (isSymbol(token, '(') || isSymbol(token, '[')) {
      const isGroup = isSymbol(token, '(') && !isCallee(tokens[at - 1]);
      levels = [...levels, { bracket: at, isGroup, part: 0, term: 0, isNegated: false }];
      starts = [...starts, at + 1];
    } else if (isSymbol(token, ')') || isSymbol(token, ']')) {
      levels = levels.slice(0, -1);
      starts = starts.slice(0, -1);
    } else if (word === 'IN') {
      const isNegated = isWord(tokens[at - 1], 'NOT');
      const operand = nameOperand(tokens.slice(starts.at(-1), isNegated ? at - 1 : at));
      lists.push({ offset: token.start, operand, isNegated, items: readItems(tokens, at + 1), levels });
    } else {
      const level = levels.at(-1);
      const next = level && readJoint(level, token, word, tokens[at + 1]);
      if (next === undefined) continue;
      levels = [...levels.slice(0, -1), next];
      starts = [...starts.slice(0, -1), at + 1];
    }
  }
  return lists;
}

/** Where the text stands after a word that ends a value; `undefined` after all others. */
function readJoint(level: Level, token: SqlToken, word: string, next: SqlToken | undefined): Level | undefined {
  if (isSymbol(token, ',')) return { ...level, part: level.part + 1, isNegated: false };
  if (word === 'AND') return { ...level, isNegated: false };
  if (word === 'OR') return { ...level, term: level.term + 1, isNegated: false };
  return word === 'NOT' && !isWord(next, 'IN') ? { ...level, isNegated: !level.isNegated } : undefined;
}

function isCallee(token: SqlToken | undefined): boolean {
  if (token?.kind === 'quoted-name') return true;
  return token?.kind === 'word' && !NO_CALLEES.has(token.text.toUpperCase());
}

function nameOperand(tokens: readonly SqlToken[]): string {
  const isOfCast = (token: SqlToken, at: number): boolean =>
    isSymbol(token, '(') ||
    isSymbol(token, ')') ||
    isSymbol(token, '::') ||
    isSymbol(tokens[at - 1], '::') ||
    isWord(token, 'AS') ||
    isWord(tokens[at - 1], 'AS') ||
    (token.kind === 'word' && CASTS.has(token.text.toUpperCase()));
  const kept = tokens.filter((token, at) => !isOfCast(token, at));
  return kept
    .map(({ kind, text }) => (kind === 'word' || kind === 'quoted-name' ? text.toLowerCase() : text))
    .join(' ');
}

/** The texts between the commas. */
function readItems(tokens: readonly SqlToken[], opening: number): readonly string[] {
  const items: string[] = [''];
  let depth = 0;
  for (const token of tokens.slice(opening)) {
    if (isSymbol(token, '(')) depth += 1;
    if (isSymbol(token, ')')) depth -= 1;
    if (depth === 0) return items;
    if (depth === 1 && isSymbol(token, ',')) items.push('');
    else if (depth > 1 || !isSymbol(token, '(')) items.push(`${items.pop() ?? ''}${token.text} `);
  }
  return items;
}

/** Joined by AND, where not both are negated; or by OR, where both are. */
function isOpposed(one: List, other: List): boolean {
  if (one.operand !== other.operand) return false;
  const depth = commonDepth(one.levels, other.levels);
  const [first, second] = [one.levels[depth], other.levels[depth]];
  const isJoined = [one, other].every(({ levels }) => levels.slice(depth + 1).every(({ isGroup }) => isGroup));
  if (first?.part !== second?.part || !isJoined) return false;
  const [isFirstNot, isSecondNot] = [isNegatedFrom(one, depth), isNegatedFrom(other, depth)];
  if (isFirstNot !== isSecondNot) {
    const [kept, taken] = isFirstNot ? [other, one] : [one, other];
    return first?.term === second?.term && kept.items.every((item) => taken.items.includes(item));
  }
  const isHarmful = first?.term === second?.term ? !isFirstNot : isFirstNot;
  return isHarmful && !one.items.some((item) => other.items.includes(item));
}

/** Of the innermost bracket that both stand in. */
function commonDepth(one: readonly Level[], other: readonly Level[]): number {
  const parting = one.findIndex(({ bracket }, depth) => bracket !== other[depth]?.bracket);
  return (parting === -1 ? one.length : parting) - 1;
}

function isNegatedFrom({ levels, isNegated }: List, depth: number): boolean {
  return levels.slice(depth).filter((level) => level.isNegated).length % 2 === (isNegated ? 0 : 1);
}

function isWord(token: SqlToken | undefined, word: string): boolean {
  return token?.kind === 'word' && token.text.toUpperCase() === word;
}

function isSymbol(token: SqlToken | undefined, symbol: string): boolean {
  return token?.kind === 'symbol' && token.text === symbol;
}
