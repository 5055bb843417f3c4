import type { PlanStep } from '../model/plan.ts';

const STEPS_MAX = 100;
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

/** An analysis without anything that the caller wrote: the first steps of the plan, and what they cost. */
export function toToldPlan(root: PlanStep): PlanStep {
  let room = STEPS_MAX;
  const tell = ({ operator, details, metrics, children }: PlanStep): PlanStep => {
    room -= 1;
    const told: PlanStep[] = [];
    for (const child of children) if (room > 0) told.push(tell(child));
    return { operator, details: TOLD.has(operator) ? details : '', metrics, children: told };
  };
  return tell(root);
}

/** A told plan as lines, each step deeper than its parent. */
export function toPlanLines(step: PlanStep, depth = 0): readonly string[] {
  return [toLine(step, depth), ...step.children.flatMap((child) => toPlanLines(child, depth + 1))];
}

function toLine({ operator, details, metrics }: PlanStep, depth: number): string {
  const figures = Object.entries(metrics).map(([name, { text }]) => `${name}=${text}`);
  const line = `${'  '.repeat(depth)}${[operator, ...(details === '' ? [] : [details]), ...figures].join(', ')}`;
  return line.slice(0, LINE_CHARACTERS_MAX);
}
