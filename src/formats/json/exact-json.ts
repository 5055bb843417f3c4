/** A number of a JSON text with more digits than JavaScript keeps. */
export class LosslessNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Fewer digits than this are kept by `JSON.parse`. */
const LONG_DIGITS = /\d{16}|\d[\d.]{16}/;
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
/** Marks a text that stands for a number; no text of a file begins like this but by intent of someone who reads memory. */
const MARK = `${Math.random().toString(36)}${Math.random().toString(36)}:`;

/** As `JSON.parse`, but long numbers keep all their digits. */
export function parseLongJson(text: string): unknown {
  if (!LONG_DIGITS.test(text)) return JSON.parse(text);
  const marked = text.replace(STRING_OR_NUMBER, (part) =>
    part.startsWith('"') || !isLong(part) ? part : JSON.stringify(`${MARK}${part}`),
  );
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(MARK) ? new LosslessNumber(value.slice(MARK.length)) : value,
  );
}

function isLong(part: string): boolean {
  const value = Number(part);
  // What is no number is left for `JSON.parse` to refuse.
  return (
    !Number.isNaN(value) &&
    part.replaceAll(/[^\d]/g, '').length >= 16 &&
    /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(part)
  );
}

/** JSON of a plain value; long numbers keep their digits, and zero its sign. */
export function toJsonText(value: unknown): string {
  if (value instanceof LosslessNumber) return value.text;
  if (Object.is(value, -0)) return '-0';
  if (Array.isArray(value)) return `[${value.map(toJsonText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const parts = Object.entries(value).map(
    ([name, part]: [string, unknown]) => `${JSON.stringify(name)}:${toJsonText(part)}`,
  );
  return `{${parts.join(',')}}`;
}
