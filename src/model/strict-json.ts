import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { quoteForMessage } from './identifier.ts';
import { formatCount } from './value-text.ts';

/**
 * The maximum number of objects, arrays and keys in a text. Millions of empty objects would block the process for
 * seconds.
 */
export const PARTS_MAX = 1_000_000;

interface JsonBounds {
  readonly depthMax: number;
  /** The name of the text in messages. */
  readonly what?: string;
}

/**
 * `JSON.parse` accepts texts that two parsers may read differently (duplicate keys, `__proto__`, invalid UTF-8,
 * unpaired surrogates), and nesting that exhausts the stack. These are refused first.
 */
export function parseStrictJson(bytes: Uint8Array, bounds: JsonBounds): unknown {
  return parseStrictText(decodeUtf8(bytes), bounds);
}

export function parseStrictText(text: string, { depthMax, what = 'The body' }: JsonBounds): unknown {
  try {
    checkText(text, depthMax, what);
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw malformed(`${what} is not valid JSON.`, error);
  }
}

/** `undefined` for a text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Neither `null` nor an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A null field counts as absent. */
export function withoutNulls(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (!Object.values(fields).includes(null)) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

const DECODER = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return DECODER.decode(bytes);
  } catch (error) {
    throw malformed('The body is not valid UTF-8.', error);
  }
}

export function malformed(message: string, cause?: unknown): ServiceError {
  return invalidInput(message, 'Send one JSON object (RFC 8259) in UTF-8.', cause);
}

/** An open array, or the keys of an open object; a set is created for the first key only. */
type Holder = 'array' | 'empty object' | Set<string>;

/** Checks depth, keys and surrogates in one pass; `JSON.parse` checks the grammar. */
function checkText(text: string, depthMax: number, what: string): void {
  const open: Holder[] = [];
  let parts = 0;
  const countPart = (): void => {
    parts += 1;
    if (parts > PARTS_MAX) throw tooManyParts(what);
  };
  // Numbers make up most of a large body, and the search skips them.
  const mark = /["{}[\]]/g;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    const [character] = found;
    if (character === '"') {
      const end = findStringEnd(text, found.index);
      if (end === undefined) throw malformed(`${what} is not valid JSON: a string does not end.`);
      const value = readString(text.slice(found.index, end), what);
      const holder = open.at(-1);
      if (holder !== undefined && holder !== 'array' && hasColonAt(text, end)) {
        countPart();
        open[open.length - 1] = addKey(holder, value);
      }
      mark.lastIndex = end;
    } else if (character === '{' || character === '[') {
      countPart();
      open.push(character === '[' ? 'array' : 'empty object');
      if (open.length > depthMax) throw tooDeep(what, depthMax);
    } else {
      open.pop();
    }
  }
}

export function tooDeep(what: string, depthMax: number): ServiceError {
  return invalidInput(`${what} is nested more than ${depthMax} levels deep.`);
}

export function tooManyParts(what: string): ServiceError {
  return invalidInput(`${what} has more than ${formatCount(PARTS_MAX)} objects, arrays and keys.`);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const SPACE = 0x20;

/** The offset after the closing quote. */
function findStringEnd(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return undefined;
}

/** UTF-8 has no unpaired surrogates: one can only come from an escape, and would change when stored. */
function readString(literal: string, what: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1);
  const value = String(JSON.parse(literal));
  requireWellFormed(value, what);
  return value;
}

export function requireWellFormed(value: string, what: string): void {
  if (!/\p{Surrogate}/u.test(value)) return;
  throw invalidInput(`${what} contains an unpaired surrogate.`, 'Send well-formed Unicode.');
}

/** `JSON.parse` refuses characters that are skipped here but are not JSON whitespace. */
function hasColonAt(text: string, offset: number): boolean {
  let at = offset;
  while (text.charCodeAt(at) <= SPACE) at += 1;
  return text.charCodeAt(at) === COLON;
}

function addKey(holder: Set<string> | 'empty object', key: string): Set<string> {
  if (holder === 'empty object') {
    requireNewKey(key, false);
    return new Set([key]);
  }
  requireNewKey(key, holder.has(key));
  return holder.add(key);
}

export function requireNewKey(key: string, isKnown: boolean): void {
  if (key === '__proto__') throw invalidInput('The key "__proto__" is not allowed.');
  if (isKnown) throw invalidInput(`The key ${quoteForMessage(key)} is given twice.`);
}
