import { quoteForMessage } from '../../model/identifier.ts';
import type { NumberSpec } from '../../model/limits.ts';
import { isObject, parseJson } from '../../model/strict-json.ts';

/** One row of the table of settings. */
export interface Setting<T> {
  readonly type: NumberSpec['type'] | 'text' | 'secret' | 'path' | 'boolean' | 'choice' | 'list' | 'options' | 'json';
  readonly default: T;
  /** Describes a default that depends on another setting or on the machine. */
  readonly defaultText?: string | undefined;
  readonly range: string;
  readonly help: string;
  /** Parses the value from a file, a variable or a flag. */
  read(raw: unknown): Reading<T>;
  /** The value in a form that operators may see: never a secret. */
  show(value: T): string;
}

/** A fault is the rest of a sentence that starts with the value's origin: `must be …`. */
export type Reading<T> = { readonly value: T } | Faults;
type Faults = { readonly faults: readonly string[] };

type TextMap = Readonly<Record<string, string>>;

interface NumberType {
  readonly parse: (text: string) => number | undefined;
  readonly show: (value: number) => string;
  readonly wanted: (range: string) => string;
}

const NUMBER_TYPES: Readonly<Record<NumberSpec['type'], NumberType>> = {
  integer: {
    parse: (digits) => (/^\d+$/.test(digits) && Number.isSafeInteger(Number(digits)) ? Number(digits) : undefined),
    show: String,
    wanted: (range) => `a whole number from ${range}`,
  },
  seconds: {
    parse: (digits) => (/^\d{1,15}(\.\d{1,15})?$/.test(digits) ? Number(digits) : undefined),
    show: String,
    wanted: (range) => `a number of seconds from ${range}`,
  },
  bytes: {
    parse: parseBytes,
    show: formatBytes,
    wanted: (range) => `a size from ${range}, such as 67108864, 64MiB or 4GiB`,
  },
};

export function number({ range: [min, max], ...spec }: NumberSpec): Setting<number> {
  const { parse, show, wanted } = NUMBER_TYPES[spec.type];
  const range = `${show(min)} to ${show(max)}`;
  const read = (raw: unknown): Reading<number> => {
    // Numbers in a file are also parsed as text, so that the same rule applies to them.
    const value = typeof raw === 'string' || typeof raw === 'number' ? parse(String(raw)) : undefined;
    return value === undefined || value < min || value > max ? mustBe(wanted(range), raw) : { value };
  };
  return { ...spec, range, read, show };
}

/** Validates a text, and may normalize it. */
type TextRule = (text: string) => Reading<string>;

interface TextOptions<D> {
  readonly default: D;
  readonly defaultText?: string;
  readonly help: string;
  readonly rule?: TextRule;
}

export const text = textSetting('text');
export const path = textSetting('path');

function textSetting(type: 'text' | 'path') {
  return <D extends string | undefined>(given: TextOptions<D>): Setting<string | D> => {
    const { default: fallback, defaultText, help, rule = refuseEmpty } = given;
    const read = (raw: unknown): Reading<string> => (typeof raw === 'string' ? rule(raw) : mustBe('a string', raw));
    return { type, default: fallback, defaultText, range: '', help, read, show: showText };
  };
}

function refuseEmpty(given: string): Reading<string> {
  return given === '' ? mustBeOnly('a non-empty string') : { value: given };
}

export function secret(help: string, rule: TextRule): Setting<string | undefined> {
  const read = (raw: unknown): Reading<string> => (typeof raw === 'string' ? rule(raw) : mustBeOnly('a string'));
  return { type: 'secret', default: undefined, range: '', help, read, show: showSecret };
}

export function boolean(fallback: boolean, help: string): Setting<boolean> {
  const range = 'true or false';
  const read = (raw: unknown): Reading<boolean> => {
    if (raw === true || raw === 'true') return { value: true };
    if (raw === false || raw === 'false') return { value: false };
    return mustBe(range, raw);
  };
  return { type: 'boolean', default: fallback, range, help, read, show: String };
}

export function choice<C extends string>(fallback: C, choices: readonly C[], help: string): Setting<C> {
  const range = choices.join(', ');
  const read = (raw: unknown): Reading<C> => {
    const chosen = choices.find((each) => each === raw);
    return chosen === undefined ? mustBe(`one of ${range}`, raw) : { value: chosen };
  };
  return { type: 'choice', default: fallback, range, help, read, show: String };
}

export function list(
  fallback: readonly string[],
  help: string,
  rule: TextRule = (given) => ({ value: given }),
): Setting<readonly string[]> {
  const range = 'strings, separated by commas';
  const read = (raw: unknown): Reading<readonly string[]> => {
    const parts = readList(raw);
    if ('faults' in parts) return parts;
    const faults = parts.value.flatMap((part) => {
      const reading = rule(part);
      return 'faults' in reading ? reading.faults : [];
    });
    return faults.length > 0 ? { faults } : parts;
  };
  return { type: 'list', default: fallback, range, help, read, show: showList };
}

function readList(raw: unknown): Reading<readonly string[]> {
  if (typeof raw === 'string') {
    const parts = raw.split(',').map((part) => part.trim());
    return { value: parts.filter((part) => part !== '') };
  }
  const isList = Array.isArray(raw) && raw.every((part) => typeof part === 'string');
  return isList ? { value: raw } : mustBe('a list of strings', raw);
}

/** A map of texts for the storage layer: any value may be a credential, so only the keys are shown. */
export function options(help: string): Setting<TextMap> {
  const show = (map: TextMap): string => showList(Object.keys(map).map((key) => `${key}=${SET}`));
  const range = 'JSON object of strings';
  return { type: 'options', default: {}, range, help, read: readTextMap, show };
}

function readTextMap(raw: unknown): Reading<TextMap> {
  const parsed = readJson(raw);
  if ('faults' in parsed) return parsed;
  const map = parsed.value;
  if (!isObject(map)) return mustBeOnly('a JSON object of strings');
  const entries = Object.entries(map);
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const faults = entries
    .filter(([, value]) => typeof value !== 'string')
    .map(([key]) => `must be a JSON object of strings: the value of ${quoteForMessage(key)} is not a string`);
  return faults.length > 0 ? { faults } : { value: Object.fromEntries(texts) };
}

interface JsonOptions<T> {
  readonly range: string;
  readonly help: string;
  readonly read: (value: unknown) => Reading<readonly T[]>;
  readonly show: (value: T) => string;
}

/** A JSON array. */
export function json<T>({ range, help, read, show }: JsonOptions<T>): Setting<readonly T[]> {
  const readItems = (raw: unknown): Reading<readonly T[]> => {
    const parsed = readJson(raw);
    return 'faults' in parsed ? parsed : read(parsed.value);
  };
  const showItems = (items: readonly T[]): string => showList(items.map(show));
  return { type: 'json', default: [], range, help, read: readItems, show: showItems };
}

/**
 * Variables and flags contain JSON as text; in a file it is already parsed. The parser's own message would quote the
 * text.
 */
function readJson(raw: unknown): Reading<unknown> {
  if (typeof raw !== 'string') return { value: raw };
  const value = parseJson(raw);
  return value === undefined ? mustBeOnly('JSON') : { value };
}

const SET = '(set)';
const NOT_SET = '(not set)';
const NONE = '(none)';

function showText(value: string | undefined): string {
  if (value === undefined) return NOT_SET;
  return value === '' ? NONE : value;
}

function showSecret(value: string | undefined): string {
  return value === undefined ? NOT_SET : SET;
}

function showList(value: readonly string[]): string {
  return value.length === 0 ? NONE : value.join(', ');
}

export function mustBe(wanted: string, raw: unknown): Faults {
  return { faults: [`must be ${wanted}, not ${nameRaw(raw)}`] };
}

/** For values that may be secret, or that are not helpful in a message. */
export function mustBeOnly(wanted: string): Faults {
  return { faults: [`must be ${wanted}`] };
}

/** An invalid value in a sentence: scalars as they are, anything larger only by its kind. */
export function nameRaw(raw: unknown): string {
  if (typeof raw === 'string') return quoteForMessage(raw);
  if (Array.isArray(raw)) return 'a list';
  if (isObject(raw)) return 'an object';
  return JSON.stringify(raw);
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/**
 * `64MiB`, `4GiB` or plain bytes. Decimal units (`64MB`) are refused, because half of their readers mean the binary
 * ones.
 */
export function parseBytes(size: string): number | undefined {
  const match = /^(\d+)\s*([kmgt]i)?(b)?$/i.exec(size);
  if (match === null) return undefined;
  const [, digits, prefix, letter] = match;
  if (prefix !== undefined && letter === undefined) return undefined;
  const unit = UNITS.findIndex((each) => each.toLowerCase() === `${prefix ?? ''}b`.toLowerCase());
  const value = Number(digits) * 1024 ** unit;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** In the largest unit that divides it, so that `parseBytes` returns the same number. */
export function formatBytes(value: number): string {
  const largest = UNITS.findLastIndex((_, power) => value !== 0 && value % 1024 ** power === 0);
  const power = Math.max(largest, 0);
  return power === 0 ? String(value) : `${value / 1024 ** power}${UNITS[power]}`;
}
