import { isLosslessNumber, LosslessNumber, parse, stringify } from 'lossless-json';
import { isObject } from '../../model/strict-json.ts';

/** Numbers with fewer digits are exact after `JSON.parse`. */
const LONG_DIGITS = 16;
const LONG_NUMBER = /\d{16}|\d[\d.]{16}/;

/** Like `JSON.parse`, but a number with more digits than JavaScript keeps becomes a `LosslessNumber`. */
export function parseExactJson(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  return parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue });
}

function parseNumber(text: string): unknown {
  return text.replaceAll(/\D/g, '').length < LONG_DIGITS ? Number(text) : new LosslessNumber(text);
}

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value) && !isLosslessNumber(value);
}

const NEGATIVE_ZERO = [{ test: (value: unknown) => Object.is(value, -0), stringify: () => '-0' }];

/** Like `JSON.stringify`, but keeps all digits of long numbers and the sign of zero. */
export function formatExactJson(value: unknown): string {
  return stringify(value, null, undefined, NEGATIVE_ZERO) ?? 'null';
}
