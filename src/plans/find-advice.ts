import type { PlanStep } from '../model/query.ts';
import type { Finding, PlanContext, Rule, Severity } from './advice.ts';
import { findFilterAdvice } from './filter-advice.ts';
import { listSteps, timeShares } from './plan-steps.ts';
import { findReadAdvice } from './read-advice.ts';
import { findSearchAdvice, findTextAdvice } from './search-advice.ts';

const RULES: readonly Rule[] = [findSearchAdvice, findTextAdvice, findFilterAdvice, findReadAdvice];
const ORDER: Readonly<Record<Severity, number>> = { serious: 0, notable: 1, hint: 2 };

/** What could be improved about a query, most serious first. */
export function findAdvice(root: PlanStep, context: PlanContext): readonly Finding[] {
  const shares = timeShares(root);
  const share = (step: PlanStep): number => shares.get(step) ?? 0;
  const shareOfTree = (step: PlanStep): number => listSteps(step).reduce((sum, each) => sum + share(each), 0);
  const evidence = { root, steps: listSteps(root), context, share, shareOfTree };
  return RULES.flatMap((rule) => rule(evidence))
    .filter((finding) => finding !== undefined)
    .toSorted((one, other) => ORDER[one.severity] - ORDER[other.severity]);
}
