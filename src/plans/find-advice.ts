import type { PlanStep } from '../model/query.ts';
import type { Evidence, Finding, PlanContext, Severity } from './advice.ts';
import { findFilterAdvice } from './filter-advice.ts';
import { listSteps, timeShares } from './plan-steps.ts';
import { findReadAdvice } from './read-advice.ts';
import { findSearchAdvice, findTextAdvice } from './search-advice.ts';

const RULES: readonly ((evidence: Evidence) => readonly Finding[])[] = [
  findSearchAdvice,
  findTextAdvice,
  findFilterAdvice,
  findReadAdvice,
];

const ORDER: Readonly<Record<Severity, number>> = { serious: 0, notable: 1, hint: 2 };

/** What could be better about a query, by the analysis of its plan; the gravest first, none when all is well. */
export function findAdvice(plan: PlanStep, context: PlanContext): readonly Finding[] {
  const shares = timeShares(plan);
  const evidence: Evidence = {
    root: plan,
    steps: listSteps(plan),
    context,
    share: (step) => shares.get(step) ?? 0,
  };
  const findings = RULES.flatMap((find) => find(evidence));
  return findings.toSorted((one, other) => ORDER[one.severity] - ORDER[other.severity]);
}
