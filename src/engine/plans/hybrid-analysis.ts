import { countResultRows } from '../../arrow/results/result-file.ts';
import type { Analysis, Metric, PlanStep } from '../../model/query.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeEngine, NativeQuery, NativeTable } from '../native/native.ts';
import { buildScan, buildVectorSearch, requireOneSearch } from '../queries/native-query.ts';
import type { HybridPlan } from '../queries/native-query.ts';
import { formatStepLine, indentPlan } from './plan-text.ts';

interface HybridSearch {
  readonly native: NativeEngine;
  readonly table: NativeTable;
  readonly plan: HybridPlan;
  readonly seconds: number;
  /** Analyses one leg. */
  analyze(build: () => NativeQuery): Promise<Analysis>;
}

/**
 * The engine runs a search by vector and full text, but refuses to explain or analyse it. So each leg is analysed by
 * itself; then the whole search runs once, and that run measures the cost of fusing both results.
 */
export async function analyzeHybrid(search: HybridSearch): Promise<Analysis> {
  requireOneSearch(search.plan);
  const legs = buildLegs(search.table, search.plan);
  const vectorLeg = await search.analyze(legs.vector);
  const textLeg = await search.analyze(legs.text);
  const fusion: PlanStep = {
    ...describeFusion(search.plan),
    metrics: await measureFusion(search),
    children: [vectorLeg.root, textLeg.root],
  };
  const head = formatStepLine(fusion.operator, fusion.details, fusion.metrics);
  return { text: [head, indentPlan(vectorLeg.text), indentPlan(textLeg.text), ''].join('\n'), root: fusion };
}

/** Both legs return row ids, by which the engine fuses them. */
export function buildLegs(table: NativeTable, plan: HybridPlan) {
  const leg = { ...plan, query: { ...plan.query, withRowId: true } };
  return {
    vector: () => buildVectorSearch(table, leg, plan.vectorColumn),
    text: () => buildScan(table, leg),
  };
}

/** The constant of reciprocal rank fusion that the engine's clients use. */
const FUSION_CONSTANT = 60;
const ROWS_DEFAULT = 10;

export function describeFusion({ query }: HybridPlan): Pick<PlanStep, 'operator' | 'details'> {
  return {
    operator: 'HybridFusionExec',
    details: `reranker=rrf(${FUSION_CONSTANT}), fetch=${query.k ?? ROWS_DEFAULT}`,
  };
}

async function measureFusion({ native, table, plan, seconds }: HybridSearch): Promise<PlanStep['metrics']> {
  return engineCall(async () => {
    const reranker = await native.RrfReranker.tryNew(Float32Array.of(FUSION_CONSTANT));
    let [fusionNanoseconds, vectorRows, textRows, outputRows] = [0, 0, 0, 0];
    const fused = buildVectorSearch(table, plan, plan.vectorColumn);
    fused.fullTextSearch(plan.search);
    fused.rerank(async ({ query, vecResults, ftsResults }) => {
      const startedAt = process.hrtime.bigint();
      const result = await reranker.rerankHybrid(query, vecResults, ftsResults);
      fusionNanoseconds += nanosecondsSince(startedAt);
      vectorRows += countResultRows(vecResults);
      textRows += countResultRows(ftsResults);
      return result;
    });
    const startedAt = process.hrtime.bigint();
    const batches = await fused.execute(plan.query.k ?? ROWS_DEFAULT, Math.ceil(seconds * 1000));
    for (let batch = await batches.next(); batch !== null; batch = await batches.next()) {
      outputRows += countResultRows(batch);
    }
    return {
      elapsed: toDuration(nanosecondsSince(startedAt)),
      output_rows: toCount(outputRows),
      elapsed_compute: toDuration(fusionNanoseconds),
      vector_rows: toCount(vectorRows),
      text_rows: toCount(textRows),
    };
  });
}

function nanosecondsSince(startedAt: bigint): number {
  return Number(process.hrtime.bigint() - startedAt);
}

function toCount(value: number): Metric {
  return { value, unit: 'count', text: String(value) };
}

/** In the engine's form, but exact. */
function toDuration(value: number): Metric {
  const [scale, unit] = value < 1e3 ? [1, 'ns'] : value < 1e6 ? [1e3, 'µs'] : [1e6, 'ms'];
  return { value, unit: 'nanoseconds', text: `${value / scale}${unit}` };
}
