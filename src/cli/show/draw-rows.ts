import type { JsonRow, JsonValue } from '../../client/rows.ts';
import { drawPairs, drawTable, fitWidths, naturalWidths } from './draw-table.ts';
import type { Canvas, Cell, ColumnHead } from './draw-table.ts';
import { visibleText, cutText } from './text.ts';

/** Below this, a column that was cut tells nothing any more. */
const READABLE_WIDTH = 8;

/** As a table; where the columns would become too narrow, one block per row. */
export function drawRows(rows: readonly JsonRow[], canvas: Canvas): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) return '';
  const heads = names.map((name) => headOf(name, rows));
  const cells = rows.map((row) => names.map((name) => toCell(row[name])));
  return isReadable(heads, cells, canvas) ? drawTable(heads, cells, canvas) : drawBlocks(names, cells, canvas);
}

function headOf(name: string, rows: readonly JsonRow[]): ColumnHead {
  const isNumeric = rows.every((row) => isNumberOrNull(row[name]));
  return { title: visibleText(name), align: isNumeric ? 'right' : 'left' };
}

function isNumberOrNull(value: JsonValue | undefined): boolean {
  return value === null || value === undefined || typeof value === 'number' || typeof value === 'bigint';
}

function isReadable(heads: readonly ColumnHead[], cells: readonly (readonly Cell[])[], { width }: Canvas): boolean {
  const natural = naturalWidths(heads, cells);
  const fitted = fitWidths(natural, width);
  const total = fitted.reduce((sum, each) => sum + each + 2, -2);
  return total <= width && fitted.every((each, index) => each >= Math.min(READABLE_WIDTH, natural[index] ?? 0));
}

const RULE_WIDTH_MAX = 40;

function drawBlocks(names: readonly string[], rows: readonly (readonly Cell[])[], canvas: Canvas): string {
  const rule = '─'.repeat(Math.min(RULE_WIDTH_MAX, Math.max(8, canvas.width - 10)));
  return rows
    .map((cells, index) => {
      const pairs = names.map((name, place) => [visibleText(name), plainText(cells[place] ?? '')] as const);
      return `${canvas.paint.dim(`row ${index + 1} ${rule}`)}\n${drawPairs(pairs, canvas)}`;
    })
    .join('');
}

function plainText(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.faint;
}

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
