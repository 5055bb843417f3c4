import type { JsonRow, JsonValue } from '../../client/rows.ts';
import { drawPairs, drawTable, fitWidths, naturalWidths, numberColumn, plainText, textColumn } from './draw-table.ts';
import type { Canvas, Cell, ColumnHead } from './draw-table.ts';
import { cutText, visibleText } from './text.ts';

/** A column that is cut to less than this is of no use. */
const READABLE_WIDTH = 8;

/** As a table; where the columns would become too narrow, one block per row. */
export function drawRows(rows: readonly JsonRow[], canvas: Canvas): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) return '';
  const heads = names.map((name) => {
    const isNumeric = rows.every((row) => ['number', 'bigint'].includes(typeof (row[name] ?? 0)));
    return isNumeric ? numberColumn(visibleText(name)) : textColumn(visibleText(name));
  });
  const cells = rows.map((row) => names.map((name) => toCell(row[name])));
  return isReadable(heads, cells, canvas) ? drawTable(heads, cells, canvas) : drawBlocks(heads, cells, canvas);
}

function isReadable(heads: readonly ColumnHead[], cells: readonly (readonly Cell[])[], { width }: Canvas): boolean {
  const natural = naturalWidths(heads, cells);
  const fitted = fitWidths(natural, width);
  const total = fitted.reduce((sum, each) => sum + each + 2, -2);
  return total <= width && fitted.every((each, index) => each >= Math.min(READABLE_WIDTH, natural[index] ?? 0));
}

const RULE_WIDTH_MAX = 40;

function drawBlocks(heads: readonly ColumnHead[], rows: readonly (readonly Cell[])[], canvas: Canvas): string {
  const rule = '─'.repeat(Math.min(RULE_WIDTH_MAX, Math.max(8, canvas.width - 10)));
  return rows
    .map((cells, row) => {
      const pairs = heads.map(({ title }, column) => [title, plainText(cells[column] ?? '')] as const);
      return `${canvas.paint.dim(`row ${row + 1} ${rule}`)}\n${drawPairs(pairs, canvas)}`;
    })
    .join('');
}

/** Longer values are cut in tables; `--json` has all of them. */
const CELL_WIDTH_MAX = 60;

function toCell(value: JsonValue | undefined): Cell {
  if (value === null || value === undefined) return { faint: 'null' };
  return cutText(toText(value), CELL_WIDTH_MAX);
}

/** Short enough to be read: numbers to seven digits, the first few items of a list. */
function toText(value: JsonValue): string {
  if (typeof value === 'string') return visibleText(value);
  if (typeof value === 'number') return formatNumber(value);
  if (value === null || typeof value !== 'object') return String(value);
  if (isList(value)) return listText(value);
  const members = Object.entries(value).map(([name, member]) => `${visibleText(name)}: ${toText(member)}`);
  return `{${members.join(', ')}}`;
}

function formatNumber(value: number): string {
  const text = String(value);
  return Number.isInteger(value) || text.length <= 9 ? text : String(Number(value.toPrecision(7)));
}

const ITEMS_SHOWN = 3;

/** `[0.5, 0.25, 0.125, … 768]`: the last number is how many there are. */
function listText(items: readonly JsonValue[]): string {
  const isLong = items.length > ITEMS_SHOWN + 1;
  const shown = (isLong ? items.slice(0, ITEMS_SHOWN) : items).map((item) =>
    typeof item === 'number' && !Number.isInteger(item) ? String(Number(item.toPrecision(3))) : toText(item),
  );
  return `[${shown.join(', ')}${isLong ? `, … ${items.length}` : ''}]`;
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}
