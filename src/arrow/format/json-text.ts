import { quoteForMessage } from '../../model/identifier.ts';

/** The engine converts JSON text to its binary form recursively: about 3,000 levels crash the process. */
export const JSON_DEPTH_MAX = 128;

/** Why the engine could not store a text as JSON, or would store something else; `undefined` if it can. */
export function jsonTextFault(bytes: Buffer): string | undefined {
  try {
    new JsonText(bytes).check();
    return undefined;
  } catch (error) {
    if (error instanceof JsonFault) return error.message;
    throw error;
  }
}

class JsonFault extends Error {}

const [TAB, LINE_FEED, FORM_FEED, CARRIAGE_RETURN, SPACE] = [0x09, 0x0a, 0x0c, 0x0d, 0x20];
const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** In addition to the standard, the engine accepts other cases of the three words, and numbers that are not finite. */
const WORD = /^(?:true|false|null|nan|[+-]?infinity)$/i;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

/** One text: standard JSON whose objects have each key once, or an empty text, which is null. */
class JsonText {
  readonly #bytes: Buffer;
  #at = 0;
  #depth = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  check(): void {
    if (this.#nextByte() === undefined) return;
    this.#value();
    if (this.#nextByte() !== undefined) this.#refuse('the end');
  }

  #value(): void {
    const byte = this.#nextByte();
    if (byte === QUOTE) this.#string();
    else if (byte === OPENING_BRACE) this.#nested(() => this.#object());
    else if (byte === OPENING_BRACKET) this.#nested(() => this.#array());
    else this.#token();
  }

  #nested(read: () => void): void {
    this.#depth += 1;
    if (this.#depth > JSON_DEPTH_MAX)
      throw new JsonFault(`contains JSON that is nested more than ${JSON_DEPTH_MAX} levels deep`);
    this.#at += 1;
    read();
    this.#depth -= 1;
  }

  #object(): void {
    if (this.#skips(CLOSING_BRACE)) return;
    const keys = new Set<string>();
    do {
      if (this.#nextByte() !== QUOTE) this.#refuse('a key in double quotes');
      const key = this.#string();
      if (keys.has(key)) throw new JsonFault(`has the key ${quoteForMessage(key)} more than once in one object`);
      keys.add(key);
      if (!this.#skips(COLON)) this.#refuse('a colon');
      this.#value();
    } while (this.#skips(COMMA));
    if (!this.#skips(CLOSING_BRACE)) this.#refuse('a comma or }');
  }

  #array(): void {
    if (this.#skips(CLOSING_BRACKET)) return;
    do this.#value();
    while (this.#skips(COMMA));
    if (!this.#skips(CLOSING_BRACKET)) this.#refuse('a comma or ]');
  }

  /** The text with its escapes resolved. */
  #string(): string {
    const start = this.#at + 1;
    let hasEscapes = false;
    let end = start;
    for (; this.#bytes[end] !== QUOTE; end += 1) {
      if (end >= this.#bytes.length) throw new JsonFault('is not valid JSON: it ends inside a string');
      if (this.#bytes[end] !== BACKSLASH) continue;
      hasEscapes = true;
      end += 1;
    }
    this.#at = end + 1;
    const text = this.#bytes.toString('utf8', start, end);
    return hasEscapes ? resolveEscapes(text) : text;
  }

  /** A number or a word. */
  #token(): void {
    const start = this.#at;
    while (isTokenByte(this.#bytes[this.#at])) this.#at += 1;
    const token = this.#bytes.toString('latin1', start, this.#at);
    if (WORD.test(token)) return;
    if (!NUMBER.test(token)) {
      this.#at = start;
      this.#refuse('a value');
    }
    // The engine would store null.
    if (!Number.isFinite(Number(token)))
      throw new JsonFault(`contains the number ${quoteForMessage(token)}, which is too large`);
  }

  #skips(byte: number): boolean {
    if (this.#nextByte() !== byte) return false;
    this.#at += 1;
    return true;
  }

  #nextByte(): number | undefined {
    while (isSpace(this.#bytes[this.#at])) this.#at += 1;
    return this.#bytes[this.#at];
  }

  #refuse(wanted: string): never {
    const found = this.#bytes[this.#at] === undefined ? 'the end' : this.#found();
    throw new JsonFault(`is not valid JSON: expected ${wanted}, found ${found}`);
  }

  #found(): string {
    const rest = this.#bytes.toString('utf8', this.#at, this.#at + FOUND_BYTES);
    return `${quoteForMessage(/^(?:[\w+.-]+|.)/su.exec(rest)?.[0] ?? '')} at byte ${this.#at}`;
  }
}

/** How much of a text a refusal quotes. */
const FOUND_BYTES = 32;

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === TAB || byte === CARRIAGE_RETURN || byte === FORM_FEED;
}

function isTokenByte(byte: number | undefined): boolean {
  return byte !== undefined && TOKEN_BYTES[byte] === 1;
}

const TOKEN_BYTES = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 128 && /[\w.+-]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

const ESCAPED: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

function resolveEscapes(text: string): string {
  const resolved = text.replace(/\\(?:u([\da-f]{4})|(.))/gis, (escape, code?: string, character = '') => {
    const found = code === undefined ? ESCAPED[character] : String.fromCharCode(Number.parseInt(code, 16));
    if (found === undefined)
      throw new JsonFault(`is not valid JSON: ${quoteForMessage(escape)} is not an escape sequence`);
    return found;
  });
  // The engine would store the escape itself.
  if (/\p{Surrogate}/u.test(resolved)) throw new JsonFault('contains an escape sequence for an unpaired surrogate');
  return resolved;
}
