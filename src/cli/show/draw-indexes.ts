import type { IndexContent } from '../../wire/indexes.ts';
import { formatBytes, formatCount } from '../../plans/format-figure.ts';
import { drawTable } from './draw-table.ts';
import type { Canvas } from './draw-table.ts';
import { visibleText } from './text-width.ts';

const HEADS = [
  { title: 'index' },
  { title: 'type' },
  { title: 'columns' },
  { title: 'rows', align: 'right' },
  { title: 'not yet in it', align: 'right' },
  { title: 'size', align: 'right' },
] as const;

export function drawIndexes(indexes: readonly IndexContent[], canvas: Canvas): string {
  const rows = indexes.map((index) => [
    visibleText(index.index_name),
    index.index_type,
    visibleText(index.columns.join(', ')),
    index.num_indexed_rows === undefined ? '' : formatCount(index.num_indexed_rows),
    index.num_unindexed_rows === undefined ? '' : formatCount(index.num_unindexed_rows),
    index.size_bytes === undefined ? '' : formatBytes(index.size_bytes),
  ]);
  return drawTable(HEADS, rows, canvas);
}
