import type { Paint } from './paint.ts';
import { cutText, padText, textWidth } from './text.ts';

export interface ColumnHead {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** A text, or one that is drawn fainter because it stands for the absence of a value. */
export type Cell = string | { readonly faint: string };

export interface Canvas {
  readonly paint: Paint;
  /** Columns of the terminal; without end when nobody looks. */
  readonly width: number;
}

const GAP = '  ';

/** Columns that together are too wide give way, the widest first. */
export function drawTable(heads: readonly ColumnHead[], rows: readonly (readonly Cell[])[], canvas: Canvas): string {
  const { paint } = canvas;
  const widths = fitWidths(naturalWidths(heads, rows), canvas.width);
  const titles = heads.map(({ title, align }, index) => place(title, widths[index] ?? 0, align));
  const rule = widths.map((width) => '─'.repeat(width)).join(GAP);
  const lines = rows.map((cells) =>
    cells.map((cell, index) => drawCell(cell, widths[index] ?? 0, heads[index]?.align, paint)).join(GAP),
  );
  return [paint.bold(titles.join(GAP).trimEnd()), paint.dim(rule), ...lines.map((line) => line.trimEnd()), ''].join(
    '\n',
  );
}

/** What each column would take if there were room. */
export function naturalWidths(heads: readonly ColumnHead[], rows: readonly (readonly Cell[])[]): readonly number[] {
  return heads.map(({ title }, index) =>
    rows.reduce((width, cells) => Math.max(width, textWidth(textOf(cells[index] ?? ''))), textWidth(title)),
  );
}

const WIDTH_MIN = 3;

/** The greatest cap on all columns under which they fit side by side. */
export function fitWidths(widths: readonly number[], room: number): readonly number[] {
  const available = room - GAP.length * (widths.length - 1);
  const total = (cap: number): number => widths.reduce((sum, width) => sum + Math.min(width, cap), 0);
  let cap = Math.max(WIDTH_MIN, ...widths);
  while (cap > WIDTH_MIN && total(cap) > available) cap -= 1;
  let left = Math.max(0, available - total(cap));
  // What the cap leaves over goes to those that were cut.
  return widths.map((width) => {
    const more = Math.min(left, Math.max(0, width - cap), 1);
    left -= more;
    return Math.min(width, cap) + more;
  });
}

function drawCell(cell: Cell, width: number, align: ColumnHead['align'], paint: Paint): string {
  if (typeof cell === 'string') return place(cell, width, align);
  return paint.dim(place(cell.faint, width, align));
}

function place(text: string, width: number, align: ColumnHead['align'] = 'left'): string {
  return padText(cutText(text, width), width, align);
}

function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.faint;
}

/** Names and values below each other, the names in one column. */
export function drawPairs(
  pairs: readonly (readonly [name: string, value: string])[],
  { paint, width }: Canvas,
): string {
  const first = Math.max(0, ...pairs.map(([name]) => textWidth(name)));
  const room = Math.max(10, width - first - GAP.length);
  return pairs.map(([name, value]) => `${paint.dim(padText(name, first))}${GAP}${cutText(value, room)}\n`).join('');
}
