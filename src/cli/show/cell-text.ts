import type { JsonValue } from '../../client/exact-json.ts';
import type { Cell } from './draw-table.ts';
import { cutText, visibleText } from './text-width.ts';

/** Longer values are cut in tables; `--json` has all of them. */
const CELL_WIDTH_MAX = 60;

export function toCell(value: JsonValue | undefined): Cell {
  if (value === null || value === undefined) return { faint: 'null' };
  return cutText(toText(value), CELL_WIDTH_MAX);
}

/** Short enough to be read: numbers to seven digits, the first few items of a list. */
export function toText(value: JsonValue): string {
  if (typeof value === 'string') return visibleText(value);
  if (typeof value === 'number') return formatNumber(value);
  if (value === null || typeof value !== 'object') return String(value);
  return isList(value) ? listText(value) : objectText(value);
}

function formatNumber(value: number): string {
  const text = String(value);
  return Number.isInteger(value) || text.length <= 9 ? text : String(Number(value.toPrecision(7)));
}

const ITEMS_SHOWN = 3;

/** `[0.5, 0.25, 0.125, … 768]`: the last number is how many there are. */
function listText(items: readonly JsonValue[]): string {
  const isLong = items.length > ITEMS_SHOWN + 1;
  const shown = (isLong ? items.slice(0, ITEMS_SHOWN) : items).map(shortItem);
  return `[${shown.join(', ')}${isLong ? `, … ${items.length}` : ''}]`;
}

function shortItem(value: JsonValue): string {
  return typeof value === 'number' && !Number.isInteger(value) ? String(Number(value.toPrecision(3))) : toText(value);
}

function objectText(value: Readonly<Record<string, JsonValue>>): string {
  const members = Object.entries(value).map(([name, member]) => `${visibleText(name)}: ${toText(member)}`);
  return `{${members.join(', ')}}`;
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
