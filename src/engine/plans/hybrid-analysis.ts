import { ServiceError } from '../../errors/service-error.ts';
import type { Analysis, Metric, PlanStep, Query } from '../../model/query.ts';
import { engineCall } from '../native/engine-errors.ts';
import { buildScan, buildVectorSearch } from '../queries/native-query.ts';
import type { QueryPlan } from '../queries/native-query.ts';
import type { NativeEngine, NativeLegs, NativeQueryBase, NativeTable } from '../native/native.ts';
import { formatStepLine, indentPlan } from './plan-text.ts';
import { countResultRows } from '../../arrow/results/result-file.ts';
import type { VectorColumn } from '../queries/vector-column.ts';

export interface HybridSearch {
  readonly native: NativeEngine;
  readonly table: NativeTable;
  readonly plan: QueryPlan;
  readonly column: VectorColumn;
  readonly seconds: number;
  /** Analyses one leg. */
  analyze(build: () => NativeQueryBase): Promise<Analysis>;
}

/**
 * A search by vector and by words. The engine runs it, but refuses to analyse it, so each leg is analysed by itself; then
 * the whole is run once, and what the fusion of both results cost is measured in that run.
 */
export async function analyzeHybrid(search: HybridSearch): Promise<Analysis> {
  const { table, plan, column } = search;
  requireOneSearch(plan.query, column);
  const legs: QueryPlan = { ...plan, query: { ...plan.query, withRowId: true } };
  const vectorLeg = await search.analyze(() => buildVectorSearch(table, legs, column));
  const textLeg = await search.analyze(() => buildScan(table, legs));
  const fusion = toFusionStep(await runFused(search), plan.query, [vectorLeg.root, textLeg.root]);
  const head = formatStepLine(fusion.operator, fusion.details, fusion.metrics);
  return { text: [head, indentPlan(vectorLeg.text), indentPlan(textLeg.text), ''].join('\n'), root: fusion };
}

/** The constant of reciprocal rank fusion that the engine's clients use. */
export const FUSION_CONSTANT = 60;
export const ROWS_DEFAULT = 10;

interface FusedRun {
  readonly elapsedNanoseconds: number;
  readonly fusionNanoseconds: number;
  readonly vectorRows: number;
  readonly textRows: number;
  readonly outputRows: number;
}

async function runFused({ native, table, plan, column, seconds }: HybridSearch): Promise<FusedRun> {
  return engineCall(async () => {
    const reranker = await native.RrfReranker.tryNew(Float32Array.of(FUSION_CONSTANT));
    const legs = { fusionNanoseconds: 0, vectorRows: 0, textRows: 0 };
    const fused = buildVectorSearch(table, plan, column);
    if (plan.search !== undefined) fused.fullTextSearch(plan.search);
    fused.rerank(async ({ query, vecResults, ftsResults }: NativeLegs) => {
      const startedAt = process.hrtime.bigint();
      const result = await reranker.rerankHybrid(query, vecResults, ftsResults);
      legs.fusionNanoseconds += nanosecondsSince(startedAt);
      legs.vectorRows += countResultRows(vecResults);
      legs.textRows += countResultRows(ftsResults);
      return result;
    });
    const startedAt = process.hrtime.bigint();
    const batches = await fused.execute(plan.query.k ?? ROWS_DEFAULT, Math.ceil(seconds * 1000));
    let outputRows = 0;
    for (let batch = await batches.next(); batch !== null; batch = await batches.next()) {
      outputRows += countResultRows(batch);
    }
    return { ...legs, outputRows, elapsedNanoseconds: nanosecondsSince(startedAt) };
  });
}

function toFusionStep(run: FusedRun, query: Query, children: readonly PlanStep[]): PlanStep {
  return {
    operator: 'HybridFusionExec',
    details: `reranker=rrf(${FUSION_CONSTANT}), fetch=${query.k ?? ROWS_DEFAULT}`,
    metrics: {
      elapsed: toDuration(run.elapsedNanoseconds),
      output_rows: toCount(run.outputRows),
      elapsed_compute: toDuration(run.fusionNanoseconds),
      vector_rows: toCount(run.vectorRows),
      text_rows: toCount(run.textRows),
    },
    children,
  };
}

/** The engine's fusion joins one list of rows with another; several searches beside each other do not fit in. */
export function requireOneSearch(query: Query, column: VectorColumn): void {
  requireNoOrder(query);
  if (query.vectors.length === 1 || column.isMultiVector) return;
  throw new ServiceError('InvalidInput', 'A search by vector and full text takes one vector.', {
    hint: 'Send several vectors only for a multi-vector column, or without full text.',
  });
}

/** Sorted rows have no rank left that could be fused. */
function requireNoOrder(query: Query): void {
  if (query.orderBy === undefined) return;
  throw new ServiceError('InvalidInput', 'A search by vector and full text cannot be sorted by order_by.', {
    hint: 'Its rows come in the order of their relevance.',
  });
}

function nanosecondsSince(startedAt: bigint): number {
  return Number(process.hrtime.bigint() - startedAt);
}

function toCount(value: number): Metric {
  return { value, unit: 'count', text: String(value) };
}

/** In the engine's form, and exact. */
function toDuration(value: number): Metric {
  const [scale, unit] = value < 1e3 ? [1, 'ns'] : value < 1e6 ? [1e3, 'µs'] : [1e6, 'ms'];
  return { value, unit: 'nanoseconds', text: `${value / scale}${unit}` };
}
