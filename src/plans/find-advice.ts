import type { PlanStep } from '../model/query.ts';
import type { Finding, PlanContext, Remedy, Severity } from './advice.ts';
import { FILTER_RULES } from './filter-advice.ts';
import { listSteps, timeShares } from './plan-steps.ts';
import { findSmallFragments, findWideColumns } from './read-advice.ts';
import { SEARCH_RULES, TEXT_RULES } from './search-advice.ts';

const ORDER: Readonly<Record<Severity, number>> = { serious: 0, notable: 1, hint: 2 };

/** Most serious first. */
export function findAdvice(root: PlanStep, context: PlanContext): readonly Finding[] {
  const shares = timeShares(root);
  const share = (step: PlanStep): number => shares.get(step) ?? 0;
  const shareOfTree = (step: PlanStep): number => listSteps(step).reduce((sum, each) => sum + share(each), 0);
  const steps = listSteps(root);
  const evidence = { root, steps, context, share, shareOfTree };
  const ofSteps = [SEARCH_RULES, TEXT_RULES, FILTER_RULES].flatMap((rules) => {
    return steps.flatMap((step) => (rules[step.operator] ?? []).map((rule) => rule(step, evidence)));
  });
  return [...ofSteps, findWideColumns(evidence), findSmallFragments(evidence)]
    .filter((finding) => finding !== undefined)
    .map((finding) => ({ ...finding, remedy: finding.remedy && placeRemedy(finding.remedy, context) }))
    .toSorted((one, other) => ORDER[one.severity] - ORDER[other.severity]);
}

/**
 * The remedy for the branch and version of the query; none if maintenance would help, which only applies to the main
 * branch.
 */
function placeRemedy(remedy: Remedy, { query }: PlanContext): Remedy | undefined {
  const on = query.branch === undefined ? {} : { branch: query.branch };
  switch (remedy.kind) {
    case 'create-index':
      return { ...remedy, ...on };
    case 'prewarm-index':
      return { ...remedy, ...on, ...(query.version === undefined ? {} : { version: query.version }) };
    case 'refresh-index':
    case 'merge-fragments':
      return query.branch === undefined ? remedy : undefined;
    case 'set':
      return remedy;
  }
}
