import { mayBeVolatile } from '../functions.ts';
import { refuseAt } from '../refusal.ts';
import type { SqlRefusal } from '../refusal.ts';
import { TokenReader, isSymbol } from '../tokenizer.ts';
import type { SqlToken } from '../tokenizer.ts';

/** A text for the engine that replaces the caller's. */
export interface RewrittenSql {
  readonly text: string;
  /** Maps an offset in this text to the caller's text. */
  toOriginal(offset: number): number;
}

/** A part of the rewritten text: a copy of the original from that offset, or a replacement for the word there. */
interface Piece {
  readonly text: string;
  readonly offset: number;
  readonly isCopy: boolean;
}

type Clause = readonly Piece[];

const CASE_WORD = /\bcase\b/i;

/** Rewrites CASE, which the engine does not support. `undefined` if there is none. */
export function rewriteCase(
  text: string,
  charactersMax: number,
  write: (found: FoundCase) => Clause,
): RewrittenSql | undefined {
  if (!CASE_WORD.test(text)) return undefined;
  const pieces = new CaseRewriter(text, charactersMax, write).rewrite();
  return { text: pieces.map((piece) => piece.text).join(''), toOriginal: (offset) => findOffset(pieces, offset) };
}

function findOffset(pieces: Clause, offset: number): number {
  let end = 0;
  for (const piece of pieces) {
    const start = end;
    end += piece.text.length;
    if (offset < end) return piece.isCopy ? piece.offset + offset - start : piece.offset;
  }
  const last = pieces.at(-1);
  return last === undefined ? 0 : last.offset + (last.isCopy ? last.text.length : 0);
}

const WORDS: ReadonlySet<string> = new Set(['WHEN', 'THEN', 'ELSE', 'END']);
const OPENING: ReadonlySet<string> = new Set(['(', '[']);
const CLOSING: ReadonlySet<string> = new Set([')', ']']);

/** A CASE whose clauses contain no other CASE any more. */
export interface FoundCase {
  readonly start: number;
  readonly operand: Clause | undefined;
  readonly whens: readonly When[];
  readonly otherwise: Clause | undefined;
}

interface When {
  readonly condition: Clause;
  readonly value: Clause;
  readonly offset: number;
}

/** A CASE that has not ended yet. */
class OpenCase implements FoundCase {
  readonly start: number;
  /** The current clause. */
  pieces: Piece[] = [];
  /** Open brackets in the current clause. */
  brackets = 0;
  operand: Clause | undefined;
  readonly whens: When[] = [];
  otherwise: Clause | undefined;
  /** The word that began the current clause. */
  word = 'CASE';
  wordOffset: number;

  constructor(start: number) {
    this.start = start;
    this.wordOffset = start;
  }
}

class CaseRewriter {
  readonly #text: string;
  readonly #charactersMax: number;
  readonly #write: (found: FoundCase) => Clause;
  readonly #pieces: Piece[] = [];
  readonly #open: OpenCase[] = [];
  #end = 0;
  #previous: SqlToken | undefined;

  constructor(text: string, charactersMax: number, write: (found: FoundCase) => Clause) {
    this.#text = text;
    this.#charactersMax = charactersMax;
    this.#write = write;
  }

  rewrite(): Clause {
    const reader = new TokenReader(this.#text);
    for (let token = reader.next(false); token !== undefined; token = reader.next(this.#isAtItem())) {
      this.#read(token);
      this.#end = token.end;
      this.#previous = token;
    }
    const open = this.#open.at(-1);
    if (open !== undefined) throw refuseAt(open.start, 'CASE has no END', FORM);
    return this.#pieces;
  }

  /** Long lists of literals are one token. */
  #isAtItem(): boolean {
    return isSymbol(this.#previous, '(') || isSymbol(this.#previous, '[') || isSymbol(this.#previous, ',');
  }

  #read(token: SqlToken): void {
    const open = this.#open.at(-1);
    const word = token.kind === 'word' && !isSymbol(this.#previous, '.') ? token.text.toUpperCase() : '';
    if (word === 'CASE') return void this.#open.push(new OpenCase(token.start));
    if (open !== undefined && open.brackets === 0 && WORDS.has(word)) return this.#readWord(open, word, token);
    if (open !== undefined && token.kind === 'symbol') this.#countBrackets(open, token);
    this.#add({ text: this.#text.slice(this.#end, token.end), offset: this.#end, isCopy: true });
  }

  #countBrackets(open: OpenCase, token: SqlToken): void {
    if (OPENING.has(token.text)) open.brackets += 1;
    if (!CLOSING.has(token.text)) return;
    if (open.brackets === 0) throw refuseAt(token.start, 'a bracket is closed before the END of CASE', FORM);
    open.brackets -= 1;
  }

  #readWord(open: OpenCase, word: string, token: SqlToken): void {
    if (FOLLOWERS[open.word]?.has(word) !== true) {
      throw refuseAt(token.start, `${word} cannot follow ${open.word} in CASE`, FORM);
    }
    if (open.pieces.length === 0 && open.word !== 'CASE') throw emptyClause(token.start, open.word);
    this.#endClause(open);
    [open.word, open.wordOffset] = [word, token.start];
    open.pieces = [];
    if (word !== 'END') return;
    this.#open.pop();
    requireFewCopies(open);
    for (const piece of this.#write(open)) this.#add(piece);
    this.#checkLength(open);
  }

  #endClause(open: OpenCase): void {
    const { pieces, word } = open;
    if (word === 'CASE') open.operand = pieces.length === 0 ? undefined : requireSteady(pieces);
    if (word === 'WHEN') open.whens.push({ condition: pieces, value: [], offset: open.wordOffset });
    if (word === 'ELSE') open.otherwise = pieces;
    const last = open.whens.at(-1);
    if (word === 'THEN' && last !== undefined) open.whens[open.whens.length - 1] = { ...last, value: pieces };
  }

  #add(piece: Piece): void {
    (this.#open.at(-1)?.pieces ?? this.#pieces).push(piece);
  }

  /** The value after CASE is copied for each WHEN, so nested ones would multiply. */
  #checkLength({ start }: OpenCase): void {
    const pieces = this.#open.at(-1)?.pieces ?? this.#pieces;
    const length = pieces.reduce((sum, piece) => sum + piece.text.length, 0);
    if (length <= this.#charactersMax) return;
    throw refuseAt(start, `rewritten for the engine, CASE is longer than ${this.#charactersMax} characters`, FORM);
  }
}

function isNull(clause: Clause): boolean {
  return clause.every(({ text }) => /^[\s()]*(?:null[\s()]*)?$/i.test(text));
}

/** The maximum number of tokens of a rewritten CASE: as a condition, each WHEN repeats the previous ones. */
const COPIES_MAX = 1_000_000;

function requireFewCopies({ start, operand = [], whens, otherwise = [] }: FoundCase): void {
  const tokens = whens.reduce((sum, { condition, value }) => sum + condition.length + value.length, otherwise.length);
  if ((tokens + operand.length * whens.length) * whens.length <= COPIES_MAX) return;
  throw refuseAt(start, `CASE has ${whens.length} WHENs, which are too many for their length`, FORM);
}

const FORM = 'Write CASE WHEN condition THEN value ELSE value END.';

const FOLLOWERS: Readonly<Record<string, ReadonlySet<string>>> = {
  CASE: new Set(['WHEN']),
  WHEN: new Set(['THEN']),
  THEN: new Set(['WHEN', 'ELSE', 'END']),
  ELSE: new Set(['END']),
};

function emptyClause(offset: number, word: string): SqlRefusal {
  return refuseAt(offset, `a value is missing after ${word}`, FORM);
}

/** The operand is evaluated for each WHEN. */
function requireSteady(operand: Clause): Clause {
  const text = operand.map((piece) => piece.text).join('');
  if (!mayBeVolatile(text)) return operand;
  const hint = 'Write CASE WHEN condition THEN value END.';
  throw refuseAt(operand[0]?.offset ?? 0, 'the value after CASE may differ for each WHEN', hint);
}

/**
 * Rewrites CASE as function calls. Element 0 of a list is null, element 1 is not: `nvl2` distinguishes them and needs
 * values of one type, so all values are lists. Both `nvl2` and `coalesce` only evaluate the value that they return,
 * like CASE: `CASE WHEN x <> 0 THEN 1 / x END` does not divide by zero.
 */
export function writeCalls(found: FoundCase): Clause {
  const { start, whens, otherwise } = found;
  // Lists with only nulls have no type, and the engine fails on them.
  if ([...whens.map(({ value }) => value), otherwise ?? []].every(isNull)) {
    throw refuseAt(start, 'every value of CASE is NULL', 'Give another value after THEN or ELSE.');
  }
  const last = otherwise === undefined ? [inserted('[NULL]', start)] : within('[(', otherwise, ')]', start);
  const written = whens.map((when) => [
    inserted('nvl2([[NULL]][CAST(', when.offset),
    ...writeTest(found, when, 'IS TRUE'),
    inserted(' AS BIGINT)], ', when.offset),
    ...within('[(', when.value, ')], ', when.offset),
  ]);
  const [only = []] = written;
  // With several, each is null unless its condition holds; a single one includes the value of ELSE.
  if (written.length === 1) return [inserted(' ', start), ...only, ...last, inserted(')[1]', start)];
  const others = written.flatMap((when) => [...when, inserted('NULL), ', start)]);
  return [inserted(' coalesce(', start), ...others, ...last, inserted(')[1]', start)];
}

/** Rewrites CASE as a condition with operators only: each value applies if its WHEN holds and none before it. */
export function writeCondition(found: FoundCase): Clause {
  const { start, whens, otherwise } = found;
  const earlier: Piece[] = [];
  const pieces: Piece[] = [inserted('(', start)];
  for (const when of whens) {
    pieces.push(inserted('(', when.offset), ...earlier, ...writeTest(found, when, 'IS TRUE'));
    pieces.push(...within(' AND (', when.value, ')) OR ', when.offset));
    earlier.push(...writeTest(found, when, 'IS NOT TRUE'), inserted(' AND ', when.offset));
  }
  return [
    ...pieces,
    inserted('(', start),
    ...earlier,
    ...within('(', otherwise ?? [inserted('NULL', start)], ')))', start),
  ];
}

/** Never null, because a null condition does not hold. */
function writeTest({ operand }: FoundCase, { condition, offset }: When, test: string): Clause {
  const compared = operand === undefined ? [] : [...operand, inserted(') = (', offset)];
  return within('((', [...compared, ...condition], `) ${test})`, offset);
}

function within(before: string, clause: Clause, after: string, offset: number): Clause {
  return [inserted(before, offset), ...clause, inserted(after, offset)];
}

function inserted(text: string, offset: number): Piece {
  return { text, offset, isCopy: false };
}
