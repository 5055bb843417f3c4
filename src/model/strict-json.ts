import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { quoteForMessage } from './identifier.ts';

/** Objects, arrays and keys in one body. Millions of empty objects would keep the process busy for seconds. */
const PARTS_MAX = 1_000_000;

interface JsonBounds {
  readonly depthMax: number;
  /** The name of the text in messages. */
  readonly what?: string;
}

/**
 * `JSON.parse` accepts texts that two parsers may read differently (duplicate keys, `__proto__`, invalid UTF-8, unpaired
 * surrogates), and nesting that exhausts the stack. Those are refused first.
 */
export function parseStrictJson(bytes: Uint8Array, bounds: JsonBounds): unknown {
  return parseStrictText(decodeUtf8(bytes), bounds);
}

export function parseStrictText(text: string, { depthMax, what = 'The body' }: JsonBounds): unknown {
  try {
    new Scanner(text, depthMax, what).run();
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw malformed(`${what} is not valid JSON.`, error);
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw malformed('The body is not valid UTF-8.', error);
  }
}

function malformed(message: string, cause?: unknown): ServiceError {
  return new ServiceError('InvalidInput', message, { hint: 'Send one JSON object (RFC 8259) in UTF-8.', cause });
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const SPACE = 0x20;

/** An open array, or the keys of an open object; a set is created for the first key only. */
type Holder = 'array' | 'empty object' | Set<string>;

/** Checks depth, keys and surrogates in one pass; `JSON.parse` checks the grammar. */
class Scanner {
  readonly #text: string;
  readonly #depthMax: number;
  readonly #what: string;
  readonly #open: Holder[] = [];
  #parts = 0;

  constructor(text: string, depthMax: number, what: string) {
    this.#text = text;
    this.#depthMax = depthMax;
    this.#what = what;
  }

  run(): void {
    // Numbers make up most of a large body; the search skips them.
    const mark = /["{}[\]]/g;
    for (let found = mark.exec(this.#text); found !== null; found = mark.exec(this.#text)) {
      const [character] = found;
      if (character === '"') mark.lastIndex = this.#readString(found.index);
      else if (character === '{') this.#enter('empty object');
      else if (character === '[') this.#enter('array');
      else this.#open.pop();
    }
  }

  #enter(holder: Holder): void {
    this.#countPart();
    this.#open.push(holder);
    if (this.#open.length > this.#depthMax) {
      throw invalidInput(`${this.#what} is nested more than ${this.#depthMax} deep.`);
    }
  }

  #countPart(): void {
    this.#parts += 1;
    if (this.#parts > PARTS_MAX) {
      throw invalidInput(`${this.#what} has more than ${PARTS_MAX} objects, arrays and keys.`);
    }
  }

  /** Returns the offset after the string. */
  #readString(start: number): number {
    const end = this.#findEnd(start);
    const holder = this.#open.at(-1);
    const isKey = holder !== undefined && holder !== 'array' && this.#hasColonAfter(end);
    const literal = this.#text.slice(start, end);
    const hasEscapes = literal.includes('\\');
    const value = hasEscapes ? this.#unescape(literal) : literal.slice(1, -1);
    if (isKey) this.#addKey(value, holder);
    return end;
  }

  #findEnd(start: number): number {
    for (let at = start + 1; at < this.#text.length; at += 1) {
      const code = this.#text.charCodeAt(at);
      if (code === QUOTE) return at + 1;
      if (code === BACKSLASH) at += 1;
    }
    throw malformed(`${this.#what} is not valid JSON: a string does not end.`);
  }

  #addKey(key: string, holder: Set<string> | 'empty object'): void {
    this.#countPart();
    if (key === '__proto__') throw invalidInput('The key "__proto__" is not allowed.');
    if (holder === 'empty object') {
      this.#open[this.#open.length - 1] = new Set([key]);
      return;
    }
    if (holder.has(key)) throw invalidInput(`The key ${quoteForMessage(key)} is given twice.`);
    holder.add(key);
  }

  /** UTF-8 has no unpaired surrogates: one can only come from an escape, and would change when stored. */
  #unescape(literal: string): string {
    const value = String(JSON.parse(literal));
    if (!/\p{Surrogate}/u.test(value)) return value;
    throw invalidInput(`${this.#what} holds half of a surrogate pair.`, 'Send well-formed Unicode.');
  }

  /** `JSON.parse` refuses the characters that are skipped here and are no space in JSON. */
  #hasColonAfter(end: number): boolean {
    let at = end;
    while (this.#text.charCodeAt(at) <= SPACE) at += 1;
    return this.#text.charCodeAt(at) === COLON;
  }
}
