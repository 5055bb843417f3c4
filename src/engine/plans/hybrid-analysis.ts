import type { Analysis, Metric, PlanStep } from '../../model/query.ts';
import type { NativeQuery, NativeTable } from '../native/native.ts';
import { ROWS_DEFAULT, buildLegs, searchLegs } from '../queries/hybrid-legs.ts';
import { requireHybrid, takeFusedRows } from '../queries/hybrid-query.ts';
import type { HybridPlan } from '../queries/native-query.ts';
import { FUSION_CONSTANT } from '../queries/rank-fusion.ts';
import { formatStepLine, indentPlan, toAnalysis } from './plan-text.ts';

interface HybridSearch {
  readonly table: NativeTable;
  readonly plan: HybridPlan;
  readonly batchRows: number;
  /** Analyzes one leg. */
  analyze(build: () => NativeQuery): Promise<Analysis>;
}

/**
 * The engine runs a search by vector and full text, but refuses to explain or analyze it. So each leg is analyzed
 * separately; then the whole search runs once to measure the cost of fusing both results and reading the rows.
 */
export async function analyzeHybrid(search: HybridSearch): Promise<Analysis> {
  requireHybrid(search.plan);
  const legs = buildLegs(search.table, search.plan);
  const vectorLeg = await search.analyze(legs.vector);
  const textLeg = await search.analyze(legs.text);
  const { operator, details } = describeFusion(search.plan);
  const metrics = await measureFusion(search);
  const head = formatStepLine(operator, details, metrics);
  const text = [head, indentPlan(vectorLeg.text), indentPlan(textLeg.text), ''].join('\n');
  return toAnalysis(text, () => ({ operator, details, metrics, children: [vectorLeg.root, textLeg.root] }));
}

export function describeFusion({ query }: HybridPlan): Pick<PlanStep, 'operator' | 'details'> {
  return {
    operator: 'HybridFusionExec',
    details: `reranker=rrf(${FUSION_CONSTANT}), fetch=${query.k ?? ROWS_DEFAULT}`,
  };
}

async function measureFusion({ table, plan, batchRows }: HybridSearch): Promise<PlanStep['metrics']> {
  const startedAt = process.hrtime.bigint();
  const { rows, vectorRows, textRows, fusionNanoseconds } = await searchLegs(table, plan, batchRows);
  await takeFusedRows(table, plan, rows, batchRows);
  return {
    elapsed: toDuration(Number(process.hrtime.bigint() - startedAt)),
    output_rows: toCount(rows.length),
    elapsed_compute: toDuration(fusionNanoseconds),
    vector_rows: toCount(vectorRows),
    text_rows: toCount(textRows),
  };
}

function toCount(value: number): Metric {
  return { value, unit: 'count', text: String(value) };
}

/** In the engine's format, but exact. */
function toDuration(value: number): Metric {
  const [scale, unit] = value < 1e3 ? [1, 'ns'] : value < 1e6 ? [1e3, 'µs'] : [1e6, 'ms'];
  return { value, unit: 'nanoseconds', text: `${value / scale}${unit}` };
}
