import type { PlanStep } from '../model/plan.ts';
import { figureOf, listSteps } from './plan-steps.ts';
import { isFrameStep } from './step-words.ts';

/**
 * Nanoseconds that each step took by itself. The engine tells two times: `elapsed`, from the start of the query until the
 * step was done, its children included; and `elapsed_compute`, which it worked, waiting for data not included. A step's
 * own time is what it worked, or what passed between its last child's end and its own, whichever is more. A step at the
 * bottom is done only when those above have taken its last rows: what they worked meanwhile is not counted as its own.
 */
export function ownTimes(root: PlanStep): ReadonlyMap<PlanStep, number> {
  const times = new Map<PlanStep, number>();
  const visit = (step: PlanStep, workedMeanwhile: number): void => {
    const worked = figureOf(step, 'elapsed_compute');
    const elapsed = figureOf(step, 'elapsed');
    if (step.children.length === 0) {
      times.set(step, Math.max(worked, elapsed - workedMeanwhile, 0));
      return;
    }
    const behind = Math.max(0, elapsed - Math.max(...step.children.map((child) => figureOf(child, 'elapsed'))));
    times.set(step, Math.max(worked, isFrame(step) ? 0 : behind));
    for (const child of step.children) visit(child, workedMeanwhile + Math.max(0, worked - behind));
  };
  visit(root, 0);
  return times;
}

/** Each step's part of the whole, from 0 to 1. */
export function timeShares(root: PlanStep): ReadonlyMap<PlanStep, number> {
  const times = ownTimes(root);
  const sum = [...times.values()].reduce((total, time) => total + time, 0);
  return new Map([...times].map(([step, time]) => [step, sum === 0 ? 0 : time / sum]));
}

export function totalTime(root: PlanStep): number {
  return Math.max(...listSteps(root).map((step) => figureOf(step, 'elapsed')));
}

/** These hold the others; a fusion's legs are analysed apart from the run that its own time was taken in. */
function isFrame(step: PlanStep): boolean {
  return isFrameStep(step) || step.operator === 'HybridFusionExec';
}
