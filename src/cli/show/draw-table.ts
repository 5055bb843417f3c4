import type { JsonRow, JsonValue } from '../../client/rows.ts';
import type { Paint } from './text.ts';
import { cutText, padText, textWidth, visibleText } from './text.ts';

/** The title of a column; for right-aligned numbers, in an object. */
type ColumnHead = string | { readonly number: string };

function titleOf(head: ColumnHead): string {
  return typeof head === 'string' ? head : head.number;
}

/** A text, or one that is drawn fainter because there is no value. */
export type Cell = string | { readonly faint: string };

export interface Canvas {
  readonly paint: Paint;
  /** Columns of the terminal; infinite if the output is not a terminal. */
  readonly width: number;
}

const GAP = '  ';

/** If the columns are too wide together, the widest are cut first. */
export function drawTable(heads: readonly ColumnHead[], rows: readonly (readonly Cell[])[], canvas: Canvas): string {
  const { paint } = canvas;
  const widths = fitWidths(naturalWidths(heads, rows), canvas.width);
  const fit = (text: string, column: number): string => {
    const width = widths[column] ?? 0;
    return padText(cutText(text, width), width, typeof heads[column] === 'string' ? 'left' : 'right');
  };
  const titles = heads.map((head, column) => fit(titleOf(head), column));
  const rule = widths.map((width) => '─'.repeat(width)).join(GAP);
  const lines = rows.map((cells) => {
    const drawn = cells.map((cell, column) => {
      const text = fit(plainText(cell), column);
      return typeof cell === 'string' ? text : paint.dim(text);
    });
    return `${drawn.join(GAP).trimEnd()}\n`;
  });
  return `${paint.bold(titles.join(GAP).trimEnd())}\n${paint.dim(rule)}\n${lines.join('')}`;
}

/** The widths of the columns if nothing is cut. */
function naturalWidths(heads: readonly ColumnHead[], rows: readonly (readonly Cell[])[]): readonly number[] {
  return heads.map((head, index) =>
    rows.reduce((width, cells) => Math.max(width, textWidth(plainText(cells[index] ?? ''))), textWidth(titleOf(head))),
  );
}

const WIDTH_MIN = 3;

/** The largest cap on all columns with which they fit side by side. */
function fitWidths(widths: readonly number[], widthMax: number): readonly number[] {
  const available = widthMax - GAP.length * (widths.length - 1);
  const total = (cap: number): number => widths.reduce((sum, width) => sum + Math.min(width, cap), 0);
  let cap = Math.max(WIDTH_MIN, ...widths);
  while (cap > WIDTH_MIN && total(cap) > available) cap -= 1;
  let remaining = Math.max(0, available - total(cap));
  // The cut columns share the remaining space.
  return widths.map((width) => {
    const more = Math.min(remaining, Math.max(0, width - cap), 1);
    remaining -= more;
    return Math.min(width, cap) + more;
  });
}

function plainText(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.faint;
}

export type Pair = readonly [name: string, value: string];

/** Names and values below each other, with the names in one column. */
export function drawPairs(pairs: readonly Pair[], { paint, width }: Canvas): string {
  const first = Math.max(0, ...pairs.map(([name]) => textWidth(name)));
  const rest = Math.max(10, width - first - GAP.length);
  return pairs.map(([name, value]) => `${paint.dim(padText(name, first))}${GAP}${cutText(value, rest)}\n`).join('');
}

/** A column narrower than this is useless. */
const READABLE_WIDTH = 8;

/** A table; if the columns would become too narrow, one block per row. */
export function drawRows(rows: readonly JsonRow[], canvas: Canvas): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) return '';
  const heads = names.map((name) => {
    const isNumeric = rows.every((row) => ['number', 'bigint'].includes(typeof (row[name] ?? 0)));
    return isNumeric ? { number: visibleText(name) } : visibleText(name);
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
      const pairs = heads.map((head, column) => [titleOf(head), plainText(cells[column] ?? '')] as const);
      return `${canvas.paint.dim(`row ${row + 1} ${rule}`)}\n${drawPairs(pairs, canvas)}`;
    })
    .join('');
}

/** Longer values are cut in tables; `--json` shows them completely. */
const CELL_WIDTH_MAX = 60;

function toCell(value: JsonValue | undefined): Cell {
  if (value === null || value === undefined) return { faint: 'null' };
  return cutText(valueText(value), CELL_WIDTH_MAX);
}

/** Short enough to read: numbers with seven digits, the first few items of a list. */
export function valueText(value: JsonValue): string {
  if (typeof value === 'string') return visibleText(value);
  if (typeof value === 'number') return formatNumber(value);
  if (value === null || typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return listText(value);
  const members = Object.entries(value).map(([name, member]) => `${visibleText(name)}: ${valueText(member)}`);
  return `{${members.join(', ')}}`;
}

function formatNumber(value: number): string {
  const text = String(value);
  return Number.isInteger(value) || text.length <= 9 ? text : String(Number(value.toPrecision(7)));
}

const ITEMS_SHOWN = 3;

/** `[0.5, 0.25, 0.125, … 768]`: the last number is the number of items. */
function listText(items: readonly JsonValue[]): string {
  const isLong = items.length > ITEMS_SHOWN + 1;
  const shown = (isLong ? items.slice(0, ITEMS_SHOWN) : items).map((item) =>
    typeof item === 'number' && !Number.isInteger(item) ? String(Number(item.toPrecision(3))) : valueText(item),
  );
  return `[${shown.join(', ')}${isLong ? `, … ${items.length}` : ''}]`;
}
