import { NEGATABLE } from '../keywords.ts';
import { isSymbol, isWord } from '../tokenizer.ts';
import type { SqlToken } from '../tokenizer.ts';

/*
 * Seen in @lancedb/lancedb 0.39.0: two conditions have other values when an index answers them.
 * - With an FM index, `contains(text, 'part')` is false where the text is null, and for a part that is empty or has a NUL.
 * - With an index of a boolean column, `flag IS TRUE` and `flag IS FALSE` are null where the flag is null.
 * Below AND and OR, false and null select the same rows; below NOT, comparisons and functions they do not.
 */
const AFFECTED = /\bcontains\b|\bis\s+(?:true|false)\b/i;

/** Rewrites these conditions in a form that no index answers, if its answer could select other rows. */
export function avoidWrongIndexAnswers(text: string, tokens: readonly SqlToken[]): string {
  if (!AFFECTED.test(text)) return text;
  const nesting = readNesting(tokens);
  const hasNot = tokens.some((_, at) => isPrefixNot(tokens, at));
  const replaced = new Map<number, string>();
  for (const [at, token] of tokens.entries()) {
    const last = isContains(token) ? nesting.closings.get(at + 1) : undefined;
    if (last !== undefined) {
      const isSafe = !hasNot && isPartOfCondition(tokens, nesting, at, last) && hasPlainPart(tokens, last);
      if (!isSafe) replaced.set(at, `nullif(${text.slice(token.start, token.end)}`).set(last, '), NULL)');
    } else if (isWord(tokens[at - 1], 'IS') && (isWord(token, 'TRUE') || isWord(token, 'FALSE'))) {
      // The test begins after NOT, AND, OR or a bracket, because no other operator binds more loosely.
      const isSafe = !hasNot && isPartOfCondition(tokens, nesting, undefined, at);
      if (!isSafe) replaced.set(at, `NOT ${token.text} IS NOT TRUE`);
    }
  }
  return replaceTokens(text, tokens, replaced);
}

interface Nesting {
  /** By token index: the index of the enclosing opening bracket. */
  readonly openings: readonly (number | undefined)[];
  /** By the index of an opening bracket: the index of its closing one. */
  readonly closings: ReadonlyMap<number, number>;
  /** The ANDs of BETWEENs. */
  readonly rangeAnds: ReadonlySet<number>;
}

function readNesting(tokens: readonly SqlToken[]): Nesting {
  const openings: (number | undefined)[] = [];
  const closings = new Map<number, number>();
  const rangeAnds = new Set<number>();
  const open: { readonly at: number | undefined; betweens: number }[] = [{ at: undefined, betweens: 0 }];
  for (const [at, token] of tokens.entries()) {
    if (isSymbol(token, ')') || isSymbol(token, ']')) closings.set(open.pop()?.at ?? 0, at);
    const inner = open.at(-1);
    openings.push(inner?.at);
    if (inner !== undefined && isWord(token, 'BETWEEN')) inner.betweens += 1;
    else if (inner !== undefined && inner.betweens > 0 && isWord(token, 'AND')) {
      inner.betweens -= 1;
      rangeAnds.add(at);
    }
    if (isSymbol(token, '(') || isSymbol(token, '[')) open.push({ at, betweens: 0 });
  }
  return { openings, closings, rangeAnds };
}

/** Whether only AND, OR and brackets join these tokens to the whole text. What precedes an IS is not checked. */
function isPartOfCondition(
  tokens: readonly SqlToken[],
  nesting: Nesting,
  first: number | undefined,
  last: number,
): boolean {
  const opening = nesting.openings[last];
  const joins = (at: number): boolean =>
    tokens[at] === undefined ||
    isWord(tokens[at], 'OR') ||
    (isWord(tokens[at], 'AND') && !nesting.rangeAnds.has(at)) ||
    (opening !== undefined &&
      isSymbol(tokens[opening], '(') &&
      (at === opening || at === nesting.closings.get(opening)));
  if (!joins(last + 1) || (first !== undefined && !joins(first - 1))) return false;
  return opening === undefined || isPartOfCondition(tokens, nesting, opening, nesting.closings.get(opening) ?? opening);
}

function isPrefixNot(tokens: readonly SqlToken[], at: number): boolean {
  const next = tokens[at + 1];
  const isInfix = next?.kind === 'word' && NEGATABLE.has(next.text.toUpperCase());
  return isWord(tokens[at], 'NOT') && !isWord(tokens[at - 1], 'IS') && !isInfix;
}

function isContains({ kind, text }: SqlToken): boolean {
  return (kind === 'word' || kind === 'quoted-name') && text.toLowerCase() === 'contains';
}

/** Whether the last argument is a single string literal that an FM index can find. */
function hasPlainPart(tokens: readonly SqlToken[], closing: number): boolean {
  const part = tokens[closing - 1];
  return (
    part?.kind === 'string' && part.text !== "''" && !part.text.includes('\0') && isSymbol(tokens[closing - 2], ',')
  );
}

function replaceTokens(text: string, tokens: readonly SqlToken[], replaced: ReadonlyMap<number, string>): string {
  let written = '';
  let end = 0;
  for (const [at, token] of tokens.entries()) {
    const replacement = replaced.get(at);
    if (replacement === undefined) continue;
    written += text.slice(end, token.start) + replacement;
    end = token.end;
  }
  return written + text.slice(end);
}
