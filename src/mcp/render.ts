import type { readStream } from '../formats/arrow/arrow-source.ts';
import { formatExactJson, isJsonObject, parseExactJson } from '../formats/json/exact-json.ts';
import { formatType } from '../formats/types/type-text.ts';
import { plainRows } from '../formats/types/values-of.ts';
import { formatByteLimit, formatCount } from '../model/value-text.ts';

type ResultStream = Awaited<ReturnType<typeof readStream>>;

interface RowBounds {
  /** The requested number of rows. */
  readonly wanted: number;
  readonly offset: number;
  readonly bytesMax: number;
}

/** Longer lists of numbers are vectors: showing the first numbers is enough. */
const NUMBERS_SHOWN = 4;
const NUMBERS_MAX = 16;
const CHARACTERS_MAX = 1000;

/** A line about the columns, a JSON object per row, and a note if there is more. */
export async function renderRows({ schema, batches }: ResultStream, bounds: RowBounds): Promise<string> {
  const types = new Map(schema.fields.map(({ name, type }) => [name, formatType(type)]));
  const lines: string[] = [];
  let bytes = 0;
  let rows = 0;
  for await (const batch of batches) {
    for (const row of plainRows(batch)) {
      rows += 1;
      const shown = row.map(([name, value]) => [name, showCell(value, types.get(name) ?? '')] as const);
      const line = formatExactJson(Object.fromEntries(shown));
      bytes += Buffer.byteLength(line) + 1;
      if (bytes <= bounds.bytesMax && lines.length === rows - 1) lines.push(line);
    }
  }
  const columns = [...types].map(([name, type]) => `${name} ${type}`).join(', ');
  return [`${count(rows, 'row')}; columns: ${columns}`, ...lines, ...noteOnRows(lines.length, rows, bounds)].join('\n');
}

function noteOnRows(shown: number, rows: number, { wanted, offset, bytesMax }: RowBounds): readonly string[] {
  if (shown < rows) {
    const next = `Continue with offset ${offset + shown}, or select fewer columns.`;
    return [`Only ${count(shown, 'row')} of ${rows} fit into ${formatByteLimit(bytesMax)}. ${next}`];
  }
  return rows > 0 && rows === wanted ? [`There may be more rows: continue with offset ${offset + rows}.`] : [];
}

function showCell(value: unknown, type: string): unknown {
  const isBinary = type.startsWith('binary') || type.startsWith('large_binary');
  if (isBinary && typeof value === 'string') return `<${count(decodedLength(value), 'byte')}>`;
  return abbreviate(value);
}

/** The decoded length of base64 text. */
function decodedLength(text: string): number {
  return (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
}

/** Shortens vectors and long texts, and marks them as shortened. */
export function abbreviate(value: unknown): unknown {
  if (typeof value === 'string') {
    if (value.length <= CHARACTERS_MAX) return value;
    return `${value.slice(0, CHARACTERS_MAX)}… (${count(value.length, 'character')} in all)`;
  }
  if (Array.isArray(value)) {
    if (value.length <= NUMBERS_MAX || !value.every((each) => typeof each === 'number')) return value.map(abbreviate);
    return `[${value.slice(0, NUMBERS_SHOWN).join(', ')}, … ${count(value.length, 'number')}]`;
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, abbreviate(part)]));
}

/** The reply of an operation: JSON in one line, without the context that repeats its headers; text unchanged. */
export function renderReply(text: string, bytesMax: number): string {
  const value = text === '' ? 'done' : parseExactJson(text);
  if (typeof value === 'string') return cut(value, bytesMax);
  if (!isJsonObject(value)) return cut(formatExactJson(value), bytesMax);
  const { context: _context, ...fields } = value;
  return cut(formatExactJson(abbreviate(fields)), bytesMax);
}

function cut(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  // Drops a character that was cut in two.
  const kept = bytes
    .subarray(0, bytesMax)
    .toString()
    .replace(/\uFFFD$/, '');
  return `${kept}\nTruncated to ${formatByteLimit(bytesMax)} of ${count(bytes.length, 'byte')}. Request less, for example with a limit.`;
}

function count(number: number, unit: string): string {
  return `${formatCount(number)} ${unit}${number === 1 ? '' : 's'}`;
}
