import type { JsonRow, JsonValue, RowDifference, TableDiff } from '../../client/rows.ts';
import { formatCount } from '../../plans/format-figure.ts';
import type { Canvas } from './draw-table.ts';
import { valueText } from './draw-table.ts';
import { countOf, cutText, visibleText } from './text.ts';

/** Lines with `-` before and `+` after, as in source code diffs. */
export function drawDiff(table: string, diff: TableDiff, { paint, width }: Canvas): string {
  const { from, to, rows, counts } = diff;
  const sum = counts.added + counts.removed + counts.changed;
  const lines = [
    paint.bold(`--- ${table} ${stateText(from)}`),
    paint.bold(`+++ ${table} ${stateText(to)}`),
    ...columnLines(diff),
    ...rows.flatMap((row) => rowLines(row, diff)),
  ].map((line) => cutText(line, width));
  const styled = lines.map((line) => {
    if (line.startsWith('-') && !line.startsWith('---')) return paint.red(line);
    if (line.startsWith('+') && !line.startsWith('+++')) return paint.green(line);
    return line.startsWith('~') ? paint.yellow(line) : line;
  });
  const rest = sum > rows.length ? [paint.dim(`… ${formatCount(sum - rows.length)} more, shown with --limit`)] : [];
  return `${[...styled, ...rest, summaryOf(diff)].join('\n')}\n`;
}

function stateText({ version, branch }: TableDiff['from']): string {
  return branch === 'main' ? `version ${version}` : `version ${version} of the branch ${visibleText(branch)}`;
}

function columnLines({ columns: { added, removed, changed } }: TableDiff): readonly string[] {
  return [
    ...removed.map(({ name, type }) => `- column ${visibleText(name)} (${type})`),
    ...added.map(({ name, type }) => `+ column ${visibleText(name)} (${type})`),
    ...changed.map(({ name, from, to }) => `~ column ${visibleText(name)} (${from} → ${to})`),
  ];
}

function rowLines({ change, key, before = {}, after = {}, changed = [] }: RowDifference, diff: TableDiff) {
  const name = pairsText(key);
  if (change !== 'changed') {
    const [sign, row] = change === 'added' ? ['+', after] : ['-', before];
    const others = Object.entries(row).filter(([column]) => !diff.key.columns.includes(column));
    return [`${sign} ${[name, pairsText(Object.fromEntries(others))].filter((text) => text !== '').join(', ')}`];
  }
  return [`~ ${name}`, ...changed.flatMap((column) => valueLines(column, before[column], after[column]))];
}

function valueLines(column: string, before: JsonValue = null, after: JsonValue = null): readonly string[] {
  const name = visibleText(column);
  const note = Array.isArray(before) && Array.isArray(after) ? differenceNote(before, after) : '';
  return [`-   ${name}: ${exactText(before)}`, `+   ${name}: ${exactText(after)}${note}`];
}

/** Explains a difference in lists, of which only the first items are shown. */
function differenceNote(before: readonly JsonValue[], after: readonly JsonValue[]): string {
  if (before.length !== after.length) return '';
  const count = before.filter((item, at) => exactText(item) !== exactText(after[at] ?? null)).length;
  return ` (${formatCount(count)} of ${countOf(before.length, 'value')})`;
}

/** Numbers with all their digits: two different ones must not look the same. */
function exactText(value: JsonValue): string {
  return typeof value === 'number' ? String(value) : quotedText(value);
}

function quotedText(value: JsonValue): string {
  return typeof value === 'string' ? visibleText(JSON.stringify(value)) : valueText(value);
}

function pairsText(row: JsonRow): string {
  return Object.entries(row)
    .map(([name, value]) => `${visibleText(name)} ${exactText(value)}`)
    .join(', ');
}

function summaryOf({ counts, key }: TableDiff): string {
  const { added, removed, changed } = counts;
  const by = key.kind === 'row_ids' ? 'row id' : key.columns.map(visibleText).join(', ');
  if (added + removed + changed === 0) return `No rows differ (compared by ${by}).`;
  const parts = [`${formatCount(added)} added`, `${formatCount(removed)} removed`, `${formatCount(changed)} changed`];
  const note = key.repeated ? ' Some changed rows have the same key: they are paired in order.' : '';
  return `${parts.join(', ')} (compared by ${by}).${note}`;
}
