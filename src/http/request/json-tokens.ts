import { malformed, requireWellFormed } from '../../model/strict-json.ts';

/** The name of the text in messages. */
export const WHAT = 'The body';

export function invalid(cause?: unknown): Error {
  return malformed(`${WHAT} is not valid JSON.`, cause);
}

export const [QUOTE, COLON, COMMA] = [0x22, 0x3a, 0x2c];
export const [SPACE, TAB, NEWLINE, RETURN] = [0x20, 0x09, 0x0a, 0x0d];
export const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];
const [BACKSLASH, LETTER_U, MINUS, POINT, ZERO, NINE] = [0x5c, 0x75, 0x2d, 0x2e, 0x30, 0x39];

/** Decoded in pieces, because one string may be the whole body. */
const PIECE_BYTES = 64 * 1024;

/** Reads a string up to its closing quote, across slices. */
export class TextReader {
  readonly #bytes: Buffer;
  readonly #pieces: string[] = [];
  at: number;
  #start: number;
  #hasEscapes = false;
  /** The offset after a surrogate escape whose second half must follow. */
  #pairEnd = -1;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
    this.#start = at;
  }

  /** `undefined` if the string continues after the limit. */
  read(limit: number): string | undefined {
    const bytes = this.#bytes;
    let { at } = this;
    while (at < limit) {
      const code = bytes[at] ?? 0;
      if (code === QUOTE) {
        this.at = at + 1;
        return this.#finish(at);
      }
      if (code < SPACE) throw invalid();
      const isCharacterStart = code < 0x80 || code >= 0xc0;
      if (at - this.#start >= PIECE_BYTES && isCharacterStart && at !== this.#pairEnd) this.#endPiece(at);
      at = code === BACKSLASH ? this.#skipEscape(at) : at + 1;
    }
    this.at = at;
    return undefined;
  }

  #skipEscape(at: number): number {
    this.#hasEscapes = true;
    if (this.#bytes[at + 1] !== LETTER_U) return at + 2;
    if (/^d[89ab]/i.test(this.#bytes.toString('latin1', at + 2, at + 4))) this.#pairEnd = at + 6;
    return at + 6;
  }

  #finish(end: number): string {
    if (this.#pieces.length === 0) return this.#decode(end);
    this.#endPiece(end);
    return this.#pieces.join('');
  }

  #endPiece(end: number): void {
    this.#pieces.push(this.#decode(end));
    this.#start = end;
    this.#hasEscapes = false;
  }

  #decode(end: number): string {
    const text = this.#bytes.toString('utf8', this.#start, end);
    if (!this.#hasEscapes) return text;
    const value = unescape(text);
    requireWellFormed(value, WHAT);
    return value;
  }
}

function unescape(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch (error) {
    throw invalid(error);
  }
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const NUMBER_CODES: ReadonlySet<number> = new Set(Buffer.from('0123456789+-.eE'));

/** With at most 15 digits, both operands of the division are exact, so its result is the nearest double. */
const DIGITS_MAX = 15;
const POWERS_OF_TEN = Array.from({ length: DIGITS_MAX + 1 }, (_, exponent) => 10 ** exponent);

/** Shared, because numbers make up most of a large body. */
const shortNumber = { value: 0, end: 0 };

/** `end` equals `start` if the number is long, has an exponent, or is not a number. */
export function readShortNumber(bytes: Buffer, start: number): Readonly<typeof shortNumber> {
  shortNumber.end = start;
  let at = start;
  const isNegative = bytes[at] === MINUS;
  if (isNegative) at += 1;
  const first = at;
  let digits = 0;
  let decimals = 0;
  let mantissa = 0;
  let point = -1;
  for (; ; at += 1) {
    const code = bytes[at] ?? 0;
    if (code >= ZERO && code <= NINE) {
      mantissa = mantissa * 10 + (code - ZERO);
      digits += 1;
      if (point !== -1) decimals += 1;
    } else if (code === POINT && point === -1 && digits > 0) {
      point = at;
    } else break;
  }
  const isUsual = digits > 0 && digits <= DIGITS_MAX && !NUMBER_CODES.has(bytes[at] ?? 0) && at - 1 !== point;
  const hasLeadingZero = bytes[first] === ZERO && digits - decimals > 1;
  if (!isUsual || hasLeadingZero) return shortNumber;
  const value = decimals === 0 ? mantissa : mantissa / (POWERS_OF_TEN[decimals] ?? 1);
  shortNumber.value = isNegative ? -value : value;
  shortNumber.end = at;
  return shortNumber;
}

/** Any other number, as text. */
export function readLongNumber(bytes: Buffer, start: number): string {
  let end = start;
  while (NUMBER_CODES.has(bytes[end] ?? 0)) end += 1;
  const token = bytes.toString('latin1', start, end);
  if (!NUMBER.test(token)) throw invalid();
  return token;
}
