import { parse } from 'lossless-json';
import { parseNumber } from '../../../../../src/client/rows.ts';
import type { JsonValue } from '../../../../../src/client/rows.ts';
import type { TypeJson } from '../../../../../src/wire/schema/schema-json.ts';
import { toText } from '../../../parts/grid/cell.tsx';
import { isBinary, isNumber, isText } from '../../../parts/grid/field-type.ts';

const LINE_CHARACTERS_MAX = 120;
const NESTED = new Set(['list', 'large_list', 'fixed_size_list', 'struct', 'map']);

/** Whether a value is edited in a dialog, which has more space than its cell. */
export function needsDialog(type: TypeJson, value: JsonValue | undefined): boolean {
  if (NESTED.has(type.type) || isBinary(type)) return true;
  return typeof value === 'string' && (value.length > LINE_CHARACTERS_MAX || /[\r\n]/.test(value));
}

/** The initial text of an editor. */
export function toEditText(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : toText(value);
}

/**
 * A text area only supports one kind of line ending: texts with several kinds, or with a lone CR, are edited as a JSON
 * string.
 */
type LineEnds = 'one' | 'crlf' | 'several';

function lineEndsOf(value: JsonValue | undefined): LineEnds {
  if (typeof value !== 'string' || !value.includes('\r')) return 'one';
  return /[\r\n]/.test(value.replaceAll('\r\n', '')) ? 'several' : 'crlf';
}

export function isEditedAsJson(value: JsonValue | undefined): boolean {
  return lineEndsOf(value) === 'several';
}

/** Like `toEditText`, for a multi-line editor. */
export function toAreaText(value: JsonValue | undefined): string {
  return isEditedAsJson(value) ? JSON.stringify(value) : toEditText(value);
}

/** The text keeps its original line endings. */
export function fromAreaText(text: string, type: TypeJson, before: JsonValue | undefined): JsonValue {
  const ends = lineEndsOf(before);
  if (ends === 'one') return fromEditText(text, type);
  return ends === 'crlf' ? text.replaceAll('\n', '\r\n') : parseText(text);
}

function parseText(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'string') return value;
  } catch {
    // Refused below.
  }
  throw new ValueFault('This is not a JSON string. Write the text as "one\\r\\ntwo".');
}

export class ValueFault extends Error {
  override readonly name = 'ValueFault';
}

/** The value in the form of a JSON row. Except for text, empty input means null. */
export function fromEditText(text: string, type: TypeJson): JsonValue {
  if (isText(type)) return text;
  const trimmed = text.trim();
  if (trimmed === '') return null;
  if (NESTED.has(type.type)) return parseNested(trimmed);
  if (type.type === 'bool') return trimmed === 'true';
  if (!isNumber(type) || type.type.startsWith('decimal')) return trimmed;
  const number = Number(trimmed);
  if (/^[+-]?\d+$/.test(trimmed)) return Number.isSafeInteger(number) ? number : BigInt(trimmed);
  const isExact = isFloat(type) ? Number.isFinite(number) : Number.isSafeInteger(number) && WHOLE.test(trimmed);
  // As text, it is refused if the column's exact type is known.
  return isExact ? number : trimmed;
}

/** For these, numbers keep every digit. */
const WHOLE = /^[+-]?\d+(?:\.0*|e\+?\d+)$/i;

function isFloat({ type }: TypeJson): boolean {
  return type.startsWith('float');
}

function parseNested(text: string): JsonValue {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- JSON, with bigints and text where numbers would be rounded.
    return parse(text, undefined, { parseNumber }) as JsonValue;
  } catch {
    throw new ValueFault('This is not JSON. Write a list as [1, 2, 3] and a struct as {"width": 1}.');
  }
}

const EXAMPLES: readonly (readonly [RegExp, string])[] = [
  [/^timestamp/, '2026-05-06T07:08:09'],
  [/^date/, '2026-05-06'],
  [/^time/, '07:08:09'],
  [/^(?:u?int)/, '42'],
  [/^(?:float|decimal)/, '1.5'],
  [/^(?:list|large_list|fixed_size_list)/, '[1, 2, 3]'],
  [/^(?:struct|map)/, '{"name": "value"}'],
  [/binary/, 'base64'],
];

export function exampleOf({ type }: TypeJson): string {
  return EXAMPLES.find(([pattern]) => pattern.test(type))?.[1] ?? '';
}
