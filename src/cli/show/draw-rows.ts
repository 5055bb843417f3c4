import type { JsonRow, JsonValue } from '../../client/exact-json.ts';
import { toCell } from './cell-text.ts';
import { drawPairs, drawTable, fitWidths, naturalWidths } from './draw-table.ts';
import type { Canvas, Cell, ColumnHead } from './draw-table.ts';
import { visibleText } from './text-width.ts';

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
