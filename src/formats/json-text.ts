import { LongNumber } from './long-json.ts';

/** JSON of a plain value; long numbers keep their digits, and zero its sign. */
export function toJsonText(value: unknown): string {
  if (value instanceof LongNumber) return value.text;
  if (Object.is(value, -0)) return '-0';
  if (Array.isArray(value)) return `[${value.map(toJsonText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const parts = Object.entries(value).map(
    ([name, part]: [string, unknown]) => `${JSON.stringify(name)}:${toJsonText(part)}`,
  );
  return `{${parts.join(',')}}`;
}
