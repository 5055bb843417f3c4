import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { invalidInput } from '../../errors/service-error.ts';
import { PARTS_MAX, malformed, requireNewKey, tooDeep, tooManyParts } from '../../model/strict-json.ts';
import { formatCount } from '../../model/value-text.ts';
import { TextReader, WHAT, invalid, readLongNumber, readShortNumber } from './json-tokens.ts';
import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, NEWLINE, OPEN_BRACE, OPEN_BRACKET } from './json-tokens.ts';
import { QUOTE, RETURN, SPACE, TAB } from './json-tokens.ts';

export interface LargeJsonBounds {
  readonly depthMax: number;
  /** The number of values in the whole body. */
  readonly valuesMax: number;
  /** The number of keys of one object. */
  readonly keysMax: number;
}

/** How much is parsed per turn of the event loop, in a few milliseconds. */
const SLICE_BYTES = 64 * 1024;

/**
 * Accepts the same texts as `parseStrictJson` and returns the same values, but lets other requests run in between: for
 * 16 MiB, that function would block them for a second.
 */
export async function parseLargeJson(
  bytes: Uint8Array,
  bounds: LargeJsonBounds,
  sliceBytes = SLICE_BYTES,
): Promise<unknown> {
  if (!isUtf8(bytes)) throw malformed('The body is not valid UTF-8.');
  const parser = new LargeJsonParser(bytes, bounds);
  while (!parser.advance(sliceBytes)) await setImmediate();
  return parser.result();
}

/** What the next token may be. */
type Expectation = 'value' | 'value or end' | 'key' | 'key or end' | 'colon' | 'comma or end' | 'nothing';

/** An open array or object. */
interface Holder {
  readonly array: unknown[] | undefined;
  readonly object: Record<string, unknown> | undefined;
  key: string;
  keys: number;
}

class LargeJsonParser {
  readonly #bytes: Buffer;
  readonly #bounds: LargeJsonBounds;
  readonly #open: Holder[] = [];
  #holder: Holder | undefined;
  #expected: Expectation = 'value';
  #at = 0;
  #values = 0;
  #parts = 0;
  #text: TextReader | undefined;
  #result: unknown;

  constructor(bytes: Uint8Array, bounds: LargeJsonBounds) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#bounds = bounds;
    // Skips a byte order mark.
    if (this.#bytes.toString('latin1', 0, 3) === '\u00ef\u00bb\u00bf') this.#at = 3;
  }

  /** Returns true at the end of the text. */
  advance(count: number): boolean {
    const limit = Math.min(this.#bytes.length, this.#at + count);
    while (this.#at < limit) {
      if (this.#text === undefined) this.#readToken();
      else this.#readText(limit);
    }
    return this.#at >= this.#bytes.length;
  }

  result(): unknown {
    if (this.#text !== undefined) throw malformed(`${WHAT} is not valid JSON: a string does not end.`);
    if (this.#expected !== 'nothing') throw invalid();
    return this.#result;
  }

  #readToken(): void {
    const code = this.#bytes[this.#at] ?? 0;
    switch (code) {
      case SPACE:
      case NEWLINE:
      case TAB:
      case RETURN:
        this.#at += 1;
        return;
      case QUOTE:
        this.#beginText();
        return;
      case COMMA:
        this.#readComma();
        return;
      case COLON:
        this.#expect('colon', 'value');
        return;
      case OPEN_BRACE:
        return this.#openHolder({ array: undefined, object: {}, key: '', keys: 0 }, 'key or end');
      case OPEN_BRACKET:
        return this.#openHolder({ array: [], object: undefined, key: '', keys: 0 }, 'value or end');
      case CLOSE_BRACE:
        return this.#close(this.#holder?.object, 'key or end');
      case CLOSE_BRACKET:
        return this.#close(this.#holder?.array, 'value or end');
      default:
        return this.#readScalar(code);
    }
  }

  #expect(expected: Expectation, next: Expectation): void {
    if (this.#expected !== expected) throw invalid();
    this.#expected = next;
    this.#at += 1;
  }

  #readComma(): void {
    if (this.#holder === undefined) throw invalid();
    this.#expect('comma or end', this.#holder.array === undefined ? 'key' : 'value');
  }

  #requireValue(): void {
    if (this.#expected !== 'value' && this.#expected !== 'value or end') throw invalid();
  }

  #openHolder(holder: Holder, next: Expectation): void {
    this.#requireValue();
    this.#countPart();
    if (this.#holder !== undefined) this.#open.push(this.#holder);
    if (this.#open.length + 1 > this.#bounds.depthMax) throw tooDeep(WHAT, this.#bounds.depthMax);
    this.#holder = holder;
    this.#expected = next;
    this.#at += 1;
  }

  #close(value: unknown, empty: Expectation): void {
    if (value === undefined || (this.#expected !== 'comma or end' && this.#expected !== empty)) throw invalid();
    this.#holder = this.#open.pop();
    this.#at += 1;
    this.#add(value);
  }

  #add(value: unknown): void {
    const holder = this.#holder;
    this.#values += 1;
    if (this.#values > this.#bounds.valuesMax) {
      throw invalidInput(
        `${WHAT} has more than ${formatCount(this.#bounds.valuesMax)} values.`,
        'Send it in several requests.',
      );
    }
    if (holder === undefined) this.#result = value;
    else if (holder.array !== undefined) holder.array.push(value);
    else if (holder.object !== undefined) holder.object[holder.key] = value;
    this.#expected = holder === undefined ? 'nothing' : 'comma or end';
  }

  #addKey(key: string): void {
    const holder = this.#holder;
    if (holder?.object === undefined) throw invalid();
    requireNewKey(key, Object.hasOwn(holder.object, key));
    this.#countPart();
    holder.keys += 1;
    if (holder.keys > this.#bounds.keysMax) {
      throw invalidInput(`${WHAT} has an object with more than ${formatCount(this.#bounds.keysMax)} keys.`);
    }
    holder.key = key;
    this.#expected = 'colon';
  }

  #countPart(): void {
    this.#parts += 1;
    if (this.#parts > PARTS_MAX) throw tooManyParts(WHAT);
  }

  #beginText(): void {
    const isKey = this.#expected === 'key' || this.#expected === 'key or end';
    if (!isKey) this.#requireValue();
    this.#text = new TextReader(this.#bytes, this.#at + 1);
    this.#at += 1;
  }

  #readText(limit: number): void {
    const text = this.#text?.read(limit);
    this.#at = this.#text?.at ?? limit;
    if (text === undefined) return;
    this.#text = undefined;
    if (this.#expected === 'key' || this.#expected === 'key or end') this.#addKey(text);
    else this.#add(text);
  }

  #readScalar(code: number): void {
    this.#requireValue();
    const number = readShortNumber(this.#bytes, this.#at);
    if (number.end > this.#at) {
      this.#at = number.end;
      return this.#add(number.value);
    }
    const word = WORDS.get(code);
    const token = word?.[0] ?? readLongNumber(this.#bytes, this.#at);
    if (word !== undefined && !isAt(this.#bytes, this.#at, word[0])) throw invalid();
    this.#at += token.length;
    this.#add(word === undefined ? Number(token) : word[1]);
  }
}

const WORDS: ReadonlyMap<number, readonly [word: string, value: boolean | null]> = new Map([
  [0x74, ['true', true]],
  [0x66, ['false', false]],
  [0x6e, ['null', null]],
]);

function isAt(bytes: Buffer, offset: number, word: string): boolean {
  return bytes.toString('latin1', offset, offset + word.length) === word;
}
