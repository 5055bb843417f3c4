import { UNKNOWN_OPERATOR, refuseAt } from './refusal.ts';
import type { Fault, SqlRefusal } from './refusal.ts';

/** `text` is the word, the name without its quotes, the symbol, or the literal or the items as written. */
export interface SqlToken {
  readonly kind: 'word' | 'quoted-name' | 'number' | 'string' | 'hex' | 'symbol' | 'items';
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** For `items`. */
  readonly count?: number;
}

const OPERATOR_SYMBOLS: ReadonlySet<string> = new Set('+ - * / % = == != <> < > <= >= || :: & | ^'.split(' '));

const PUNCTUATION = new Set(['(', ')', '[', ']', ',']);
const SPACE = /[ \t\r\n]+/y;
const WORD = /[\p{Alphabetic}_][\p{Alphabetic}0-9_]*/uy;
const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const ASCII_WORD = /^[A-Za-z0-9_]+$/;
const WORD_PART = /[\p{Alphabetic}0-9_$@#]/uy;
const SYMBOL_RUN = /[-+*/%=<>!|&^~:;?$@#\\{}]+/y;
const HEX_BYTES = /^[xX]'(?:[0-9a-fA-F]{2})*'$/;

/**
 * Splits a text where the engine's own tokenizer would. Wherever the two could disagree on the end of a literal, a
 * comment or a name, the text is refused, so nothing can hide inside an apparent literal.
 */
export function* readTokens(text: string): Generator<SqlToken, void> {
  let offset = skipSpace(text, 0);
  while (offset < text.length) {
    const token = readToken(text, offset);
    yield token;
    offset = skipSpace(text, token.end);
  }
}

/** Reads tokens one by one, for a reader that knows where the items of a list may occur. */
export class TokenReader {
  readonly #text: string;
  #offset: number;

  constructor(text: string) {
    this.#text = text;
    this.#offset = skipSpace(text, 0);
  }

  /** With `atItem`, plain literals that are each followed by a comma become one token: a list may have 200,000. */
  next(atItem: boolean): SqlToken | undefined {
    if (this.#offset >= this.#text.length) return undefined;
    const items = atItem ? readItems(this.#text, this.#offset) : undefined;
    const token = items ?? readToken(this.#text, this.#offset);
    this.#offset = skipSpace(this.#text, token.end);
    return token;
  }
}

/** The texts of the literals in a token of `items`. */
export function* splitItems({ text }: SqlToken): Generator<string, void> {
  let start = 0;
  ITEM.lastIndex = 0;
  while (ITEM.test(text)) {
    const end = ITEM.lastIndex;
    yield text.slice(start, text.lastIndexOf(',', end)).trimEnd();
    start = end;
    ITEM.lastIndex = end;
  }
}

export function isWord(token: SqlToken | undefined, word: string): boolean {
  return token?.kind === 'word' && token.text.toUpperCase() === word;
}

export function isSymbol(token: SqlToken | undefined, symbol: string): boolean {
  return token?.kind === 'symbol' && token.text === symbol;
}

/** A number, or a text without quotes in it, and its comma. */
const ITEM = /(?:-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|'[^']*')[ \t\r\n]*,[ \t\r\n]*/y;

function readItems(text: string, start: number): SqlToken | undefined {
  let count = 0;
  let end = start;
  ITEM.lastIndex = start;
  while (ITEM.test(text)) {
    count += 1;
    end = ITEM.lastIndex;
  }
  return count === 0 ? undefined : { kind: 'items', text: text.slice(start, end), start, end, count };
}

function readToken(text: string, start: number): SqlToken {
  const character = text.charAt(start);
  if (character === "'") return quoted('string', text, start);
  if (character === '`') return quoted('quoted-name', text, start);
  if (PUNCTUATION.has(character)) return { kind: 'symbol', text: character, start, end: start + 1 };
  const number = matchAt(NUMBER, text, start);
  if (number !== undefined) return readNumber(text, start, number);
  const word = matchAt(WORD, text, start);
  if (word !== undefined) return readWord(text, start, word);
  if (character === '.') return { kind: 'symbol', text: character, start, end: start + 1 };
  const run = matchAt(SYMBOL_RUN, text, start);
  if (run !== undefined) return readSymbol(text, start, run);
  throw refusedCharacter(character, start);
}

/** A doubled quote is an escaped one; here, a backslash has no special meaning for the engine. */
function quoted(kind: 'string' | 'quoted-name', text: string, start: number): SqlToken {
  const quote = text.charAt(start);
  let close = text.indexOf(quote, start + 1);
  while (close !== -1 && text[close + 1] === quote) close = text.indexOf(quote, close + 2);
  if (close === -1) {
    throw refuseAt(start, 'a quote is not closed', `Close it with ${quote}, and double every ${quote} inside.`);
  }
  const end = close + 1;
  if (kind === 'string') return { kind, text: text.slice(start, end), start, end };
  return { kind, text: text.slice(start + 1, close).replaceAll('``', '`'), start, end };
}

function readNumber(text: string, start: number, number: string): SqlToken {
  const end = start + number.length;
  if (matchAt(WORD_PART, text, end) !== undefined) {
    throw refuseAt(
      start,
      'a number is followed directly by a name',
      'Write numbers as 12, 1.5 or 1e6, and a space before a name.',
    );
  }
  return { kind: 'number', text: number, start, end };
}

function readWord(text: string, start: number, word: string): SqlToken {
  const end = start + word.length;
  if (text[end] === "'") return readPrefixedLiteral(text, start, word);
  const follower = text.charAt(end);
  if (follower === '$' || follower === '@' || follower === '#') {
    throw refuseAt(start, `a name contains ${follower}`, 'Write such a name in backticks.');
  }
  // Letters such as ſ become ASCII in upper case, so the engine could read the word as a keyword.
  if (!ASCII_WORD.test(word) && ASCII_WORD.test(word.toUpperCase())) {
    throw refuseAt(start, 'a name looks like a word of SQL', 'Write such a name in backticks.');
  }
  return { kind: 'word', text: word, start, end };
}

/**
 * Only in `X'…'` does the engine treat a backslash as an escape, and invalid digits as NULL, so only whole bytes are
 * accepted.
 */
function readPrefixedLiteral(text: string, start: number, word: string): SqlToken {
  if (word !== 'x' && word !== 'X') {
    const hint = "Only X'…' may have a prefix; put a space between a word and a string.";
    throw refuseAt(start, `the string literal has the prefix ${word}`, hint);
  }
  const { end } = quoted('string', text, start + 1);
  const literal = text.slice(start, end);
  if (!HEX_BYTES.test(literal)) {
    throw refuseAt(
      start,
      "the literal X'…' does not consist of whole bytes",
      'Give two hexadecimal digits for each byte.',
    );
  }
  return { kind: 'hex', text: literal, start, end };
}

function readSymbol(text: string, start: number, run: string): SqlToken {
  const symbol = OPERATOR_SYMBOLS.has(run) ? run : symbolBeforeSign(run, start);
  if (symbol === '&' && text[start + 1] === "'" && /[uU]/.test(text.charAt(start - 1))) {
    const hint = 'Write the characters themselves between the quotes.';
    throw refuseAt(start - 1, 'the string literal has the prefix U&', hint);
  }
  return { kind: 'symbol', text: symbol, start, end: start + symbol.length };
}

/** The operator in a run such as `<=-`, which ends with a sign. */
function symbolBeforeSign(run: string, start: number): string {
  const comment = /--|\/\*/.exec(run);
  if (comment !== null) throw refuseAt(start + comment.index, 'comments are not accepted', 'Remove the comment.');
  const symbol = /[-+]$/.test(run) ? run.slice(0, -1) : run;
  if (!OPERATOR_SYMBOLS.has(symbol)) throw refusedSymbol(run, start);
  return symbol;
}

const PLACEHOLDER: Fault = ['placeholders are not accepted', 'Write the value itself, strings in single quotes.'];
const SINGLE_COLON: Fault = [
  'a single colon is not allowed outside quotes',
  'Write the value instead of a placeholder, and array_slice(list, from, to) for a slice.',
];
const DOUBLE_QUOTE: Fault = [
  'double quotes are not accepted, because the engine reads them as a string, not as a name',
  'Write fields in backticks and strings in single quotes.',
];
const OTHER_CHARACTER: Fault = [
  'the character is not allowed outside quotes',
  'Use plain spaces, single quotes around strings, and backticks around unusual names.',
];
const REFUSED_CHARACTERS: ReadonlyMap<string | undefined, Fault> = new Map<string | undefined, Fault>([
  [';', ['a semicolon ends a statement', 'Give a single expression.']],
  ['?', PLACEHOLDER],
  ['$', PLACEHOLDER],
  ['@', PLACEHOLDER],
  [':', SINGLE_COLON],
  ['"', DOUBLE_QUOTE],
  ['!', [UNKNOWN_OPERATOR, 'Write NOT to negate, and != for "is not equal".']],
  ['~', [UNKNOWN_OPERATOR, 'Write regexp_like(text, pattern) to match.']],
  [undefined, [UNKNOWN_OPERATOR, `The operators are ${[...OPERATOR_SYMBOLS].join(' ')} AND OR NOT.`]],
]);

function refusedSymbol(run: string, start: number): SqlRefusal {
  const mark = /[;?$:@#{}\\!~]/.exec(run);
  return refusedCharacter(mark?.[0], start + (mark?.index ?? 0));
}

function refusedCharacter(character: string | undefined, offset: number): SqlRefusal {
  return refuseAt(offset, ...(REFUSED_CHARACTERS.get(character) ?? OTHER_CHARACTER));
}

function skipSpace(text: string, offset: number): number {
  if (text.charCodeAt(offset) > 32) return offset;
  return offset + (matchAt(SPACE, text, offset)?.length ?? 0);
}

/** With a sticky pattern, the rest of the text is neither searched nor copied. */
function matchAt(pattern: RegExp, text: string, offset: number): string | undefined {
  pattern.lastIndex = offset;
  return pattern.test(text) ? text.slice(offset, pattern.lastIndex) : undefined;
}
