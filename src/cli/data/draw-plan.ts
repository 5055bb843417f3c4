import type { PlanStep } from '../../model/query.ts';
import { formatBytes, formatCount, formatTime, formatShare } from '../../plans/format-figure.ts';
import { figureOf, ownTimes } from '../../plans/plan-steps.ts';
import type { Canvas, Cell } from '../show/draw-table.ts';
import { cutText, padText, textWidth, visibleText, wrapText } from '../show/text.ts';
import type { Pair, PlanComparison } from '../../plans/compare-plans.ts';
import { drawTable } from '../show/draw-table.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { Finding, Remedy, Severity } from '../../plans/advice.ts';
import { describeRemedy } from '../../plans/advice.ts';
import { showPath } from '../client-command.ts';

export interface PlanView extends Canvas {
  /** Also what each step was told to do. */
  readonly hasDetails: boolean;
}

interface TreeLine {
  readonly tree: string;
  /** What stands in front of lines that go on with this step. */
  readonly below: string;
  readonly step: PlanStep;
}

const BAR_WIDTH = 10;
const FIGURES_WIDTH = BAR_WIDTH + 1 + 9 + 2 + 9 + 2 + 16;
const NARROW = 80;

/** The steps as a tree, each with a bar of its own time, its time, its rows and what it read. */
export function drawPlan(root: PlanStep, view: PlanView): string {
  const times = ownTimes(root);
  const longest = Math.max(1, ...times.values());
  const lines = treeLines(withoutFrames(root), { own: '', below: '' });
  const isNarrow = view.width < NARROW;
  const room = Math.max(16, view.width - (isNarrow ? FIGURES_WIDTH - BAR_WIDTH - 1 - 8 : FIGURES_WIDTH) - 2);
  const natural = Math.max(...lines.map(({ tree, step }) => textWidth(tree + stepName(step))));
  const first = Math.min(natural, room);
  const drawn = lines.flatMap((line) => {
    const share = (times.get(line.step) ?? 0) / longest;
    const figures = drawFigures(line.step, times.get(line.step) ?? 0, share, { ...view, isNarrow });
    const name = padText(cutText(line.tree + stepName(line.step), first), first);
    return [`${name}  ${figures}`.trimEnd(), ...detailLines(line, view)];
  });
  return `${drawn.join('\n')}\n`;
}

/** The frame in which the analysis runs is no part of the query. */
function withoutFrames(step: PlanStep): PlanStep {
  const [child, ...others] = step.children;
  const isFrame = step.operator === 'AnalyzeExec' || step.operator === 'TracedExec';
  return isFrame && child !== undefined && others.length === 0 ? withoutFrames(child) : step;
}

function treeLines(step: PlanStep, { own, below }: { own: string; below: string }): readonly TreeLine[] {
  const last = step.children.length - 1;
  const nested = step.children.flatMap((child, index) => {
    return treeLines(child, {
      own: `${below}${index === last ? '└ ' : '├ '}`,
      below: `${below}${index === last ? '  ' : '│ '}`,
    });
  });
  return [{ tree: own, below: `${below}${last >= 0 ? '│ ' : '  '}`, step }, ...nested];
}

export function stepName({ operator }: PlanStep): string {
  return visibleText(operator.replace(/Exec$/, ''));
}

interface FiguresView extends PlanView {
  readonly isNarrow: boolean;
}

function drawFigures(step: PlanStep, time: number, share: number, { paint, isNarrow }: FiguresView): string {
  const rows = formatCount(figureOf(step, 'output_rows'));
  const colour = share > 0.5 ? paint.red : share > 0.15 ? paint.yellow : paint.green;
  const bar = isNarrow ? '' : `${colour(padText(drawBar(share), BAR_WIDTH))} `;
  return `${bar}${padText(formatTime(time), 9, 'right')}  ${padText(rows, 9, 'right')}  ${paint.dim(readText(step, isNarrow))}`;
}

function readText(step: PlanStep, isNarrow: boolean): string {
  const bytes = figureOf(step, 'bytes_read');
  if (bytes === 0) return '';
  return isNarrow ? formatBytes(bytes) : `${formatBytes(bytes)} in ${formatCount(figureOf(step, 'iops'))}`;
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

function drawBar(share: number): string {
  const eighths = Math.round(share * BAR_WIDTH * 8);
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}

function detailLines({ below, step }: TreeLine, { hasDetails, paint, width }: PlanView): readonly string[] {
  if (!hasDetails || step.details === '') return [];
  return [paint.dim(cutText(`${below}  ${visibleText(step.details)}`, width))];
}

/** What stands above the columns of `drawPlan`. */
export function drawPlanHead(root: PlanStep, time: number, { paint, width }: Canvas): string {
  const steps = treeLines(withoutFrames(root), { own: '', below: '' }).length;
  const total = formatTime(time);
  const legend = `in ${steps} steps: own time, rows out, bytes read in how many reads`;
  return `${paint.bold(total)} ${paint.dim(cutText(legend, width - textWidth(total) - 1))}\n`;
}

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

const MARKS: Readonly<Record<Severity, string>> = { serious: '●', notable: '◐', hint: '○' };

/** What was found, why it matters, and the command that mends it. */
export function drawFindings(findings: readonly Finding[], table: TablePath, { paint, width }: Canvas): string {
  if (findings.length === 0) return `\n${paint.green('Nothing to improve was found.')}\n`;
  const lines = findings.flatMap(({ severity, title, seen, why, remedy }) => {
    const colour = severity === 'serious' ? paint.red : severity === 'notable' ? paint.yellow : paint.cyan;
    const text = wrapText(visibleText(`${seen} ${why}`), Math.min(width, 100) - 2).map((line) => `  ${line}`);
    const command = remedy === undefined ? undefined : remedyText(remedy, showPath(table));
    const cure = command === undefined ? [] : cureLines(command, Math.min(width, 100), paint);
    return ['', `${colour(MARKS[severity])} ${paint.bold(visibleText(title))}`, ...text, ...cure];
  });
  return `${lines.join('\n')}\n`;
}

/** A command stays in one piece, to be copied. */
function cureLines(text: string, width: number, paint: Canvas['paint']): readonly string[] {
  const lines = text.startsWith('tiltyard ') ? [text] : wrapText(text, width - 4);
  return lines.map((line, index) => `  ${index === 0 ? paint.dim('→') : ' '} ${line}`);
}

/** As a command where there is one, else in words. */
function remedyText(remedy: Remedy, table: string): string {
  switch (remedy.kind) {
    case 'create-index': {
      const distance = remedy.distanceType === undefined ? '' : ` --distance ${remedy.distanceType}`;
      return `tiltyard index create ${table} ${remedy.column} --type ${remedy.indexType}${distance}`;
    }
    case 'refresh-index':
    case 'merge-fragments':
      return `tiltyard optimize ${table}`;
    case 'prewarm-index':
    case 'set':
      return describeRemedy(remedy);
  }
}
