import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { quoteForMessage } from './identifier.ts';

export interface JsonBounds {
  readonly depthMax: number;
  /** How refusals call the text; the body when absent. */
  readonly what?: string;
}

/**
 * Objects, arrays and keys in one body. Far above what any request needs: millions of empty objects in a body of the
 * allowed size would keep the process busy for seconds.
 */
const PARTS_MAX = 1_000_000;

/**
 * `JSON.parse` takes what two readers may read differently: doubled keys, `__proto__`, bytes that are no UTF-8, halves of
 * surrogate pairs; and nests deep enough to end a process. Those are refused first.
 */
export function parseStrictJson(bytes: Uint8Array, bounds: JsonBounds): unknown {
  return parseStrictText(decodeUtf8(bytes), bounds);
}

/** The same for a text that is decoded already. */
export function parseStrictText(text: string, { depthMax, what = 'The body' }: JsonBounds): unknown {
  const scan = new Scanner(text, depthMax, what);
  try {
    scan.run();
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
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const COLON = 0x3a;
const SPACE = 0x20;

/** One pass over the text. Grammar is left to `JSON.parse`; this looks only at depth, keys and surrogates. */
class Scanner {
  private position = 0;
  private parts = 0;
  /** The keys of each open object; an array has none. */
  private readonly open: (Set<string> | 'array' | 'empty object')[] = [];
  private readonly text: string;
  private readonly depthMax: number;
  private readonly what: string;

  constructor(text: string, depthMax: number, what: string) {
    this.text = text;
    this.depthMax = depthMax;
    this.what = what;
  }

  run(): void {
    // Numbers make up most of a large body; the search leaps over them.
    const mark = /["{}[\]]/g;
    for (let found = mark.exec(this.text); found !== null; found = mark.exec(this.text)) {
      this.position = found.index;
      this.read(this.text.charCodeAt(found.index));
      mark.lastIndex = this.position;
    }
  }

  private read(code: number): void {
    if (code === QUOTE) {
      this.readString();
      return;
    }
    if (code === OPEN_BRACE) this.enter('empty object');
    else if (code === OPEN_BRACKET) this.enter('array');
    else this.open.pop();
    this.position += 1;
  }

  private enter(kind: 'array' | 'empty object'): void {
    this.count();
    this.open.push(kind);
    if (this.open.length > this.depthMax) {
      throw invalidInput(`${this.what} is nested more than ${this.depthMax} deep.`);
    }
  }

  private count(): void {
    this.parts += 1;
    if (this.parts > PARTS_MAX) {
      throw invalidInput(`${this.what} has more than ${PARTS_MAX} objects, arrays and keys.`);
    }
  }

  private readString(): void {
    const start = this.position;
    const hasEscapes = this.skipString();
    const holder = this.open.at(-1);
    const isKey = holder !== undefined && holder !== 'array' && this.isFollowedByColon();
    if (!isKey && !hasEscapes) return;
    const value = hasEscapes ? this.unescape(start) : this.text.slice(start + 1, this.position - 1);
    if (isKey) this.addKey(value, holder);
  }

  /** Goes past the string, and tells whether there are escapes in it. */
  private skipString(): boolean {
    let hasEscapes = false;
    for (let at = this.position + 1; at < this.text.length; at += 1) {
      const code = this.text.charCodeAt(at);
      if (code === QUOTE) {
        this.position = at + 1;
        return hasEscapes;
      }
      if (code === BACKSLASH) {
        hasEscapes = true;
        at += 1;
      }
    }
    throw malformed(`${this.what} is not valid JSON: a string does not end.`);
  }

  private addKey(key: string, holder: Set<string> | 'empty object'): void {
    this.count();
    if (key === '__proto__') throw invalidInput('The key "__proto__" is not allowed.');
    if (holder === 'empty object') {
      this.open[this.open.length - 1] = new Set([key]);
      return;
    }
    if (holder.has(key)) throw invalidInput(`The key ${quoteForMessage(key)} is given twice.`);
    holder.add(key);
  }

  /** UTF-8 cannot hold half of a surrogate pair: it can only have come from an escape, and would change when stored. */
  private unescape(start: number): string {
    const value = String(JSON.parse(this.text.slice(start, this.position)));
    if (!/\p{Surrogate}/u.test(value)) return value;
    throw invalidInput(`${this.what} holds half of a surrogate pair.`, 'Send well-formed Unicode.');
  }

  /** What else looks like a space, and is none in JSON, is refused by `JSON.parse`. */
  private isFollowedByColon(): boolean {
    let at = this.position;
    while (this.text.charCodeAt(at) <= SPACE) at += 1;
    return this.text.charCodeAt(at) === COLON;
  }
}
