import { quoteForMessage } from '../../model/identifier.ts';

export type Range = readonly [min: number, max: number];

export type TextMap = Readonly<Record<string, string>>;

export interface NumberRules {
  readonly parse: (text: string) => number | undefined;
  readonly range: Range;
  readonly wanted: string;
}

export function readNumber(raw: unknown, { parse, range, wanted }: NumberRules): Reading<number> {
  // Numbers of a file take the way of a text, so that one rule says what is whole.
  const value = typeof raw === 'string' || typeof raw === 'number' ? parse(String(raw)) : undefined;
  if (value === undefined || value < range[0] || value > range[1]) return mustBe(wanted, raw);
  return { value };
}

export function parseInteger(digits: string): number | undefined {
  const value = /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

export function parseDecimal(digits: string): number | undefined {
  return /^\d{1,15}(\.\d{1,15})?$/.test(digits) ? Number(digits) : undefined;
}

export function readBoolean(raw: unknown): Reading<boolean> {
  if (raw === true || raw === 'true') return { value: true };
  if (raw === false || raw === 'false') return { value: false };
  return mustBe('true or false', raw);
}

export function readList(raw: unknown): Reading<readonly string[]> {
  if (typeof raw === 'string') {
    const parts = raw.split(',').map((part) => part.trim());
    return { value: parts.filter((part) => part !== '') };
  }
  if (!Array.isArray(raw) || !raw.every((part) => typeof part === 'string')) return mustBe('a list of texts', raw);
  return { value: raw };
}

export function readTextMap(raw: unknown): Reading<TextMap> {
  const parsed = readJson(raw);
  if ('faults' in parsed) return parsed;
  const map = parsed.value;
  if (typeof map !== 'object' || map === null || Array.isArray(map)) return mustBeOnly('a JSON object of texts');
  const entries = Object.entries(map);
  const faults = entries
    .filter(([, value]) => typeof value !== 'string')
    .map(([key]) => `must be a JSON object of texts: the value of ${quoteForMessage(key)} is not a text`);
  return faults.length > 0 ? { faults } : { value: Object.fromEntries(entries) };
}

/** Variables and flags carry JSON as text; a file has it already parsed. The parser's own words would quote the text. */
export function readJson(raw: unknown): Reading<unknown> {
  if (typeof raw !== 'string') return { value: raw };
  try {
    const value: unknown = JSON.parse(raw);
    return { value };
  } catch {
    return mustBeOnly('JSON');
  }
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `64MiB`, `4GiB` or plain bytes. Decimal units (`64MB`) are refused: half of their readers mean the binary ones. */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d+)\s*([kmgt]i)?(b)?$/i.exec(text);
  if (match === null) return undefined;
  const [, digits, prefix, letter] = match;
  if (prefix !== undefined && letter === undefined) return undefined;
  const unit = UNITS.findIndex((each) => each.toLowerCase() === `${prefix ?? ''}b`.toLowerCase());
  const value = Number(digits) * 1024 ** unit;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** In the largest unit that divides it, so that `parseBytes` reads the same number back. */
export function formatBytes(value: number): string {
  const largest = UNITS.findLastIndex((_, power) => value !== 0 && value % 1024 ** power === 0);
  const power = Math.max(largest, 0);
  return power === 0 ? String(value) : `${value / 1024 ** power}${UNITS[power]}`;
}

/** One row of the table of settings. `read` takes what a file, a variable or a flag gave. */
export interface Setting<T> {
  readonly type: SettingType;
  readonly default: T;
  /** Words for a default that depends on another setting, or on the machine. */
  readonly defaultText: string | undefined;
  readonly range: string;
  readonly help: string;
  read(raw: unknown): Reading<T>;
  /** The value as an operator may see it: never a secret. */
  show(value: T): string;
}

export type SettingType =
  | 'integer'
  | 'bytes'
  | 'seconds'
  | 'text'
  | 'secret'
  | 'path'
  | 'boolean'
  | 'choice'
  | 'list'
  | 'options'
  | 'json';

/** A fault is the rest of a sentence that starts with where the value came from: `must be …`. */
export type Reading<T> = { readonly value: T } | { readonly faults: readonly string[] };

export function mustBe(wanted: string, raw: unknown): { readonly faults: readonly string[] } {
  return { faults: [`must be ${wanted}, not ${nameRaw(raw)}`] };
}

/** For values that may be secret, or that say nothing. */
export function mustBeOnly(wanted: string): { readonly faults: readonly string[] } {
  return { faults: [`must be ${wanted}`] };
}

/** What a faulty value was, for a sentence: scalars as they are, anything larger by its kind only. */
export function nameRaw(raw: unknown): string {
  if (typeof raw === 'string') return quoteForMessage(raw);
  if (Array.isArray(raw)) return 'a list';
  if (typeof raw === 'object' && raw !== null) return 'an object';
  return JSON.stringify(raw);
}
