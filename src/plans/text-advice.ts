import type { PlanStep } from '../model/plan.ts';
import type { Evidence, Finding } from './advice.ts';
import { formatRows, formatShare } from './format-figure.ts';
import { figureOf, listSteps, settingOf } from './plan-steps.ts';
import { findIndex } from './table-facts.ts';

/** Of searches by words. */
export function findTextAdvice(evidence: Evidence): readonly Finding[] {
  const flat = evidence.steps.filter((step) => step.operator === 'FlatMatchQuery');
  return flat.map((step) => toFinding(step, evidence)).filter((finding) => finding !== undefined);
}

function toFinding(step: PlanStep, evidence: Evidence): Finding | undefined {
  const column = settingOf(step, 'column');
  const read = step.children
    .flatMap(listSteps)
    .find(({ operator }) => operator === 'LanceRead' || operator === 'LanceScan');
  if (column === undefined || read === undefined) return undefined;
  const rows = figureOf(read, 'output_rows');
  const spent = listSteps(step).reduce((sum, each) => sum + evidence.share(each), 0);
  const seen = `The words were looked for in ${formatRows(rows)} of ${column}, one by one, ${formatShare(spent)} of the time.`;
  const isBesideIndex = evidence.steps.some(
    (each) => each.operator === 'MatchQuery' && settingOf(each, 'column') === column,
  );
  if (!isBesideIndex) {
    return {
      kind: 'text-without-index',
      severity: 'serious',
      title: 'Full text was searched without an index',
      seen,
      why: 'A full-text index finds words without reading the texts, and knows how rare each word is in the table.',
      step,
      remedy: { kind: 'create-index', column, indexType: 'FTS' },
    };
  }
  const index = findIndex(evidence.context.indexes, column, 'text');
  return {
    kind: 'unindexed-rows',
    severity: spent >= 0.25 ? 'serious' : 'notable',
    title: 'Some rows are not in the full-text index',
    seen,
    why: 'Rows that were added or changed after the build are searched all the same, but each text must be read.',
    step,
    remedy: index === undefined ? undefined : { kind: 'refresh-index', index: index.index_name },
  };
}
