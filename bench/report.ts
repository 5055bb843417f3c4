import type { Result } from './measure.ts';

/** A table for people; the same figures are stored as JSON. */
export function formatTable(results: readonly Result[]): string {
  const head = ['what', 'HTTP a second', 'engine a second', 'ratio, share or count', 'range', 'goal', ''];
  const rows = results.map((result) => [
    result.name,
    'ratio' in result ? showNumber(result.http) : '',
    'ratio' in result ? showNumber(result.engine) : '',
    showFigure(result),
    `${showNumber(result.lowest)} to ${showNumber(result.highest)}`,
    ...describeGoal(result),
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return `${[head, ...rows].map((cells) => line(cells).trimEnd()).join('\n')}\n`;
}

export function showFigure(result: Result): string {
  if ('share' in result) return result.share.toFixed(3);
  return showNumber('ratio' in result ? result.ratio : result.count);
}

/** The goal, and whether it is met: a lower bound on a ratio or share, an upper bound on a count. */
function describeGoal(result: Result): readonly [string, string] {
  if ('count' in result) return [`≤ ${showNumber(result.goalMax)}`, result.count <= result.goalMax ? 'met' : 'missed'];
  if ('share' in result) return [`≥ ${showNumber(result.goalMin)}`, result.share >= result.goalMin ? 'met' : 'missed'];
  if (result.goal === 0) return ['', ''];
  return [`≥ ${showNumber(result.goal)}`, result.ratio >= result.goal ? 'met' : 'missed'];
}

function showNumber(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}
