import type { PlanStep } from '../model/plan.ts';

const LINES_MAX = 100;
const LINE_CHARACTERS_MAX = 500;

/** Steps whose details hold settings of the search and names of columns; those of all others may quote the caller. */
const TOLD: ReadonlySet<string> = new Set([
  'ANNSubIndex',
  'ANNIvfPartition',
  'KNNVectorDistance',
  'SortExec',
  'GlobalLimitExec',
  'CoalesceBatchesExec',
  'RepartitionExec',
  'Take',
]);

/** An analysis without anything that the caller wrote: the steps, each deeper than its parent, and what they cost. */
export function toPlanLines(root: PlanStep): readonly string[] {
  return walk(root, 0).slice(0, LINES_MAX);
}

function walk(step: PlanStep, depth: number): readonly string[] {
  return [toLine(step, depth), ...step.children.flatMap((child) => walk(child, depth + 1))];
}

function toLine({ operator, details, metrics }: PlanStep, depth: number): string {
  const told = TOLD.has(operator) && details !== '' ? [details] : [];
  const figures = Object.entries(metrics).map(([name, { text }]) => `${name}=${text}`);
  const line = `${'  '.repeat(depth)}${[operator, ...told, ...figures].join(', ')}`;
  return line.slice(0, LINE_CHARACTERS_MAX);
}
