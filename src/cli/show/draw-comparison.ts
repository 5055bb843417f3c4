import type { PlanStep } from '../../model/plan.ts';
import type { Pair, PlanComparison } from '../../plans/compare-plans.ts';
import { formatBytes, formatCount, formatShare, formatTime } from '../../plans/format-figure.ts';
import { stepName } from './draw-plan.ts';
import { drawTable } from './draw-table.ts';
import type { Canvas, Cell } from './draw-table.ts';

export interface ComparisonView extends Canvas {
  /** How the two queries are called, such as `as given` and `no-index`. */
  readonly names: readonly [first: string, second: string];
  /** Which part of the second one's rows the first one found. */
  readonly overlap: number | undefined;
}

/** The steps of both side by side, and below them the sums. */
export function drawComparison(comparison: PlanComparison, view: ComparisonView): string {
  const heads = [
    { title: 'step' },
    { title: view.names[0], align: 'right' },
    { title: view.names[1], align: 'right' },
    { title: 'rows', align: 'right' },
    { title: 'rows', align: 'right' },
  ] as const;
  const rows = comparison.steps
    .filter(({ first, second }) => !isFrame(first ?? second))
    .map(({ first, second, time, rows: counts, depth }) => [
      `${' '.repeat(Math.max(0, depth - FRAMES))}${stepName(first ?? second ?? EMPTY)}`,
      cellOf(first, formatTime(time.first)),
      cellOf(second, formatTime(time.second)),
      cellOf(first, formatCount(counts.first)),
      cellOf(second, formatCount(counts.second)),
    ]);
  return `${drawTable(heads, rows, view)}\n${drawSums(comparison, view)}`;
}

const FRAMES = 2;
const EMPTY: PlanStep = { operator: '', details: '', metrics: {}, children: [] };

function isFrame(step: PlanStep | undefined): boolean {
  return step?.operator === 'AnalyzeExec' || step?.operator === 'TracedExec';
}

/** What only one of the plans has stands alone. */
function cellOf(step: PlanStep | undefined, text: string): Cell {
  return step === undefined ? { faint: '–' } : text;
}

function drawSums(comparison: PlanComparison, view: ComparisonView): string {
  const heads = [
    { title: 'in all' },
    { title: view.names[0], align: 'right' },
    { title: view.names[1], align: 'right' },
    { title: 'change' },
  ] as const;
  const rows: (readonly string[])[] = [
    sumLine('time', comparison.time, formatTime),
    sumLine('rows found', comparison.rows, formatCount),
    sumLine('rows read', comparison.rowsRead, formatCount),
    sumLine('bytes read', comparison.bytesRead, formatBytes),
    sumLine('reads', comparison.reads, formatCount),
  ];
  const table = drawTable(heads, rows, view);
  return view.overlap === undefined ? table : `${table}${overlapText(view.overlap, view.names)}\n`;
}

function sumLine(name: string, pair: Pair, format: (value: number) => string): readonly string[] {
  return [name, format(pair.first), format(pair.second), changeText(pair)];
}

function changeText({ ratio }: Pair): string {
  if (ratio === undefined || ratio === 1) return '';
  return ratio < 1 ? `÷ ${(1 / ratio).toPrecision(3)}` : `× ${ratio.toPrecision(3)}`;
}

function overlapText(overlap: number, [first, second]: ComparisonView['names']): string {
  if (overlap === 1) return 'Both found the same rows.';
  return `${formatShare(overlap)} of the rows of "${second}" are among those of "${first}".`;
}
