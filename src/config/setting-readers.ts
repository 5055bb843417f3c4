import { quoteForMessage } from '../model/identifier.ts';
import { mustBe, mustBeOnly } from './setting.ts';
import type { Reading } from './setting.ts';

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
