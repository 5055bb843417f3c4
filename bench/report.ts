import type { Comparison } from './measure.ts';

/** A table for people; the same figures are kept as JSON. */
export function formatTable(results: readonly Comparison[]): string {
  const head = ['what', 'HTTP a second', 'engine a second', 'ratio', 'range', 'goal', ''];
  const rows = results.map(({ name, http, engine, ratio, lowest, highest, goal }) => [
    name,
    showRate(http),
    showRate(engine),
    ratio.toFixed(2),
    `${lowest.toFixed(2)} to ${highest.toFixed(2)}`,
    goal === 0 ? '' : `≥ ${goal.toFixed(2)}`,
    describeOutcome(ratio, goal),
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return `${[head, ...rows].map((cells) => line(cells).trimEnd()).join('\n')}\n`;
}

function describeOutcome(ratio: number, goal: number): string {
  if (goal === 0) return '';
  return ratio >= goal ? 'met' : 'missed';
}

function showRate(rate: number): string {
  return rate >= 100 ? rate.toFixed(0) : rate.toFixed(2);
}
