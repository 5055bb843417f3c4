import type { TablePath } from '../../model/identifier.ts';
import type { PlanStep } from '../../model/query.ts';
import { describeRemedy } from '../../plans/advice.ts';
import type { Finding, Remedy, Severity } from '../../plans/advice.ts';
import type { Pair, PlanComparison } from '../../plans/compare-plans.ts';
import { formatBytes, formatCount, formatShare, formatTime } from '../../plans/format-figure.ts';
import { figureOf, isFrameStep, ownTimes, totalTime } from '../../plans/plan-steps.ts';
import { showPath } from '../session.ts';
import { drawTable } from '../show/draw-table.ts';
import type { Canvas, Cell } from '../show/draw-table.ts';
import { cutText, padText, textWidth, treeLines, visibleText, wrapText } from '../show/text.ts';

const BAR_WIDTH = 10;
const FIGURES_WIDTH = BAR_WIDTH + 1 + 9 + 2 + 9 + 2 + 16;
const NARROW = 80;

/** The steps as a tree, each with a bar for its self time, its time, its rows and the bytes it read. */
export function drawPlan(root: PlanStep, { paint, width }: Canvas, hasDetails: boolean): string {
  const times = ownTimes(root);
  const longest = Math.max(1, ...times.values());
  const lines = treeLines(withoutFrames(root), ({ children }) => children);
  const isNarrow = width < NARROW;
  const rest = Math.max(16, width - (isNarrow ? FIGURES_WIDTH - BAR_WIDTH - 1 - 8 : FIGURES_WIDTH) - 2);
  const first = Math.min(rest, Math.max(...lines.map(({ prefix, node }) => textWidth(prefix + stepName(node)))));
  const drawn = lines.flatMap(({ node, prefix, continuation }) => {
    const time = times.get(node) ?? 0;
    const name = padText(cutText(prefix + stepName(node), first), first);
    const bar = isNarrow ? '' : `${drawBar(time / longest, paint)} `;
    const rows = padText(formatCount(figureOf(node, 'output_rows')), 9, 'right');
    const figures = `${bar}${padText(formatTime(time), 9, 'right')}  ${rows}  ${paint.dim(readText(node, isNarrow))}`;
    const details = cutText(`${continuation}  ${visibleText(node.details)}`, width);
    return [`${name}  ${figures}`.trimEnd(), ...(hasDetails && node.details !== '' ? [paint.dim(details)] : [])];
  });
  const legend = `in ${lines.length} steps: self time, rows out, bytes read and number of reads`;
  const sum = formatTime(totalTime(root));
  const head = `${paint.bold(sum)} ${paint.dim(cutText(legend, width - textWidth(sum) - 1))}`;
  return `${[head, ...drawn].join('\n')}\n`;
}

/** The wrapper steps of the analysis are not part of the query. */
function withoutFrames(step: PlanStep): PlanStep {
  const [child, ...others] = step.children;
  return isFrameStep(step) && child !== undefined && others.length === 0 ? withoutFrames(child) : step;
}

function stepName({ operator }: PlanStep): string {
  return visibleText(operator.replace(/Exec$/, ''));
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

function drawBar(share: number, paint: Canvas['paint']): string {
  const eighths = Math.round(share * BAR_WIDTH * 8);
  const bar = '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
  const colour = share > 0.5 ? paint.red : share > 0.15 ? paint.yellow : paint.green;
  return colour(padText(bar, BAR_WIDTH));
}

function readText(step: PlanStep, isNarrow: boolean): string {
  const bytes = figureOf(step, 'bytes_read');
  if (bytes === 0) return '';
  return isNarrow ? formatBytes(bytes) : `${formatBytes(bytes)} in ${formatCount(figureOf(step, 'iops'))}`;
}

interface ComparisonView extends Canvas {
  /** The names of the two queries, such as `as given` and `no-index`. */
  readonly names: readonly [first: string, second: string];
  /** The share of the second query's rows that the first one found. */
  readonly overlap: number | undefined;
}

const FRAMES = 2;

/** The steps of both plans side by side, with the sums below. */
export function drawComparison(comparison: PlanComparison, view: ComparisonView): string {
  const queries = view.names.map((number) => ({ number }));
  const heads = ['step', ...queries, { number: 'rows' }, { number: 'rows' }];
  const rows = comparison.steps.flatMap(({ first, second, time, rows: counts, depth }) => {
    const step = first ?? second;
    if (step === undefined || isFrameStep(step)) return [];
    const cells = [
      cellOf(first, formatTime(time.first)),
      cellOf(second, formatTime(time.second)),
      cellOf(first, formatCount(counts.first)),
      cellOf(second, formatCount(counts.second)),
    ];
    return [[`${' '.repeat(Math.max(0, depth - FRAMES))}${stepName(step)}`, ...cells]];
  });
  const sums = [
    sumLine('time', comparison.time, formatTime),
    sumLine('rows returned', comparison.rows, formatCount),
    sumLine('rows read', comparison.rowsRead, formatCount),
    sumLine('bytes read', comparison.bytesRead, formatBytes),
    sumLine('reads', comparison.reads, formatCount),
  ];
  const sumTable = drawTable(['total', ...queries, 'change'], sums, view);
  return `${drawTable(heads, rows, view)}\n${sumTable}${overlapText(view)}`;
}

/** A step may be in only one of the plans. */
function cellOf(step: PlanStep | undefined, text: string): Cell {
  return step === undefined ? { faint: '–' } : text;
}

function sumLine(name: string, pair: Pair, format: (value: number) => string): readonly string[] {
  return [name, format(pair.first), format(pair.second), changeText(pair)];
}

function changeText({ ratio }: Pair): string {
  if (ratio === undefined || ratio === 1) return '';
  return ratio < 1 ? `÷ ${(1 / ratio).toPrecision(3)}` : `× ${ratio.toPrecision(3)}`;
}

function overlapText({ overlap, names: [first, second] }: ComparisonView): string {
  if (overlap === undefined) return '';
  if (overlap === 1) return 'Both return the same rows.\n';
  return `"${first}" returns ${formatShare(overlap)} of the rows of "${second}".\n`;
}

const MARKS: Readonly<Record<Severity, string>> = { serious: '●', notable: '◐', hint: '○' };
const FINDING_WIDTH_MAX = 100;

/** What could be better, why it matters, and the command that fixes it. */
export function drawFindings(findings: readonly Finding[], table: TablePath, { paint, width }: Canvas): string {
  if (findings.length === 0) return `\n${paint.green('No problems found.')}\n`;
  const lineWidth = Math.min(width, FINDING_WIDTH_MAX);
  const lines = findings.flatMap(({ severity, title, seen, why, remedy }) => {
    const colour = severity === 'serious' ? paint.red : severity === 'notable' ? paint.yellow : paint.cyan;
    const text = wrapText(visibleText(`${seen} ${why}`), lineWidth - 2).map((line) => `  ${line}`);
    const fix = remedy === undefined ? [] : remedyLines(remedy, showPath(table), lineWidth - 4);
    const fixLines = fix.map((line, index) => `  ${index === 0 ? paint.dim('→') : ' '} ${line}`);
    return ['', `${colour(MARKS[severity])} ${paint.bold(visibleText(title))}`, ...text, ...fixLines];
  });
  return `${lines.join('\n')}\n`;
}

/** Shown below the plan of a search with an index; empty if recall was not measured. */
export function drawRecall(recall: number | undefined, { paint }: Canvas): string {
  if (recall === undefined) return '';
  return `${paint.bold(`Recall: ${formatShare(recall)}`)} ${paint.dim('of the rows of an exact search were found')}\n`;
}

/** A command if there is one, on one line to be copied; otherwise a sentence. */
function remedyLines(remedy: Remedy, table: string, width: number): readonly string[] {
  switch (remedy.kind) {
    case 'create-index': {
      const distance = remedy.distanceType === undefined ? '' : ` --distance ${remedy.distanceType}`;
      const branch = remedy.branch === undefined ? '' : ` --branch ${remedy.branch}`;
      return [`tiltyard index create ${table} ${remedy.column} --type ${remedy.indexType}${distance}${branch}`];
    }
    case 'refresh-index':
    case 'merge-fragments':
      return [`tiltyard optimize ${table}`];
    case 'prewarm-index':
    case 'set':
      return wrapText(describeRemedy(remedy), width);
  }
}
