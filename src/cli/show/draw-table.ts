import type { Paint } from './text.ts';
import { cutText, padText, textWidth } from './text.ts';

export interface ColumnHead {
  readonly title: string;
  readonly align: 'left' | 'right';
}

export function textColumn(title: string): ColumnHead {
  return { title, align: 'left' };
}

export function numberColumn(title: string): ColumnHead {
  return { title, align: 'right' };
}

/** A text, or one that is drawn fainter because it means that there is no value. */
export type Cell = string | { readonly faint: string };

export interface Canvas {
  readonly paint: Paint;
  /** Columns of the terminal; infinite when the output is not a terminal. */
  readonly width: number;
}

const GAP = '  ';

/** Columns that are too wide together are cut, the widest first. */
export function drawTable(heads: readonly ColumnHead[], rows: readonly (readonly Cell[])[], canvas: Canvas): string {
  const { paint } = canvas;
  const widths = fitWidths(naturalWidths(heads, rows), canvas.width);
  const titles = heads.map(({ title, align }, index) => fitText(title, widths[index] ?? 0, align));
  const rule = widths.map((width) => '─'.repeat(width)).join(GAP);
  const lines = rows.map((cells) => {
    const drawn = cells.map((cell, index) => {
      const text = fitText(plainText(cell), widths[index] ?? 0, heads[index]?.align);
      return typeof cell === 'string' ? text : paint.dim(text);
    });
    return `${drawn.join(GAP).trimEnd()}\n`;
  });
  return `${paint.bold(titles.join(GAP).trimEnd())}\n${paint.dim(rule)}\n${lines.join('')}`;
}

/** The widths of the columns when nothing is cut. */
export function naturalWidths(heads: readonly ColumnHead[], rows: readonly (readonly Cell[])[]): readonly number[] {
  return heads.map(({ title }, index) =>
    rows.reduce((width, cells) => Math.max(width, textWidth(plainText(cells[index] ?? ''))), textWidth(title)),
  );
}

const WIDTH_MIN = 3;

/** The greatest cap on all columns under which they fit side by side. */
export function fitWidths(widths: readonly number[], widthMax: number): readonly number[] {
  const available = widthMax - GAP.length * (widths.length - 1);
  const total = (cap: number): number => widths.reduce((sum, width) => sum + Math.min(width, cap), 0);
  let cap = Math.max(WIDTH_MIN, ...widths);
  while (cap > WIDTH_MIN && total(cap) > available) cap -= 1;
  let left = Math.max(0, available - total(cap));
  // Columns that were cut share what the cap leaves over.
  return widths.map((width) => {
    const more = Math.min(left, Math.max(0, width - cap), 1);
    left -= more;
    return Math.min(width, cap) + more;
  });
}

function fitText(text: string, width: number, align: ColumnHead['align'] = 'left'): string {
  return padText(cutText(text, width), width, align);
}

export function plainText(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.faint;
}

/** Names and values below each other, the names in one column. */
export function drawPairs(
  pairs: readonly (readonly [name: string, value: string])[],
  { paint, width }: Canvas,
): string {
  const first = Math.max(0, ...pairs.map(([name]) => textWidth(name)));
  const rest = Math.max(10, width - first - GAP.length);
  return pairs.map(([name, value]) => `${paint.dim(padText(name, first))}${GAP}${cutText(value, rest)}\n`).join('');
}
