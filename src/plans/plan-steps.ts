import type { PlanStep } from '../model/plan.ts';

/** A step and where it stands: steps are numbered as they are read, a parent before its children. */
export interface PlacedStep {
  readonly index: number;
  readonly depth: number;
  readonly step: PlanStep;
  readonly parent: PlacedStep | undefined;
}

export function placeSteps(root: PlanStep): readonly PlacedStep[] {
  const placed: PlacedStep[] = [];
  const visit = (step: PlanStep, parent: PlacedStep | undefined): void => {
    const here = { index: placed.length, depth: parent === undefined ? 0 : parent.depth + 1, step, parent };
    placed.push(here);
    for (const child of step.children) visit(child, here);
  };
  visit(root, undefined);
  return placed;
}

export function listSteps(root: PlanStep): readonly PlanStep[] {
  return [root, ...root.children.flatMap(listSteps)];
}

/** Zero when the step does not tell. */
export function figureOf(step: PlanStep, name: string): number {
  return step.metrics[name]?.value ?? 0;
}

/** A setting out of the details, such as `k` of `name=vec_idx, k=10, deltas=1`. */
export function settingOf(step: PlanStep, name: string): string | undefined {
  return new RegExp(`(?:^|, )${name}=([^,]*)`).exec(step.details)?.[1];
}

/** The names in a list of the details, such as `projection=[id, vec]`. */
export function namesOf(step: PlanStep, name: string): readonly string[] {
  const [, list = ''] = new RegExp(`(?:^|, )${name}=\\[([^\\]]*)\\]`).exec(step.details) ?? [];
  return list === '' ? [] : list.split(', ');
}

export function findBelow(root: PlanStep, operator: string): PlanStep | undefined {
  return root.children.flatMap(listSteps).find((step) => step.operator === operator);
}

/** Rows that came out of the query: those of the outermost step that counts them. */
export function resultRows(root: PlanStep): number {
  return (
    listSteps(root).find(({ metrics }) => metrics['output_rows'] !== undefined)?.metrics['output_rows']?.value ?? 0
  );
}
