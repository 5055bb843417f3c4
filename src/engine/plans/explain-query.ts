import type { Analysis, Query } from '../../model/query.ts';
import type { TableState } from '../../model/table.ts';
import { engineCall } from '../native/engine-errors.ts';
import { FUSION_CONSTANT, ROWS_DEFAULT, requireOneSearch } from './hybrid-analysis.ts';
import { buildScan, buildVectorSearch, planQuery, toEmptyScan } from '../queries/native-query.ts';
import type { QueryPlan } from '../queries/native-query.ts';
import type { NativeEngine, NativeQueryBase } from '../native/native.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import { ParsedOnDemand, redactPlan, parseExplanation } from './plan-text.ts';
import type { VectorColumn } from '../queries/vector-column.ts';

export interface Explanation {
  readonly native: NativeEngine;
  readonly state: TableState;
  readonly verbose: boolean;
}

/** The plan of a query, which is not run. */
export async function explainQuery(about: Explanation, table: OpenTable, query: Query): Promise<Analysis> {
  const plan = await planQuery(about.native, table, query);
  const explain = async (native: NativeQueryBase): Promise<Analysis> => {
    const text = await engineCall(async () => native.explainPlan(about.verbose));
    return new ParsedOnDemand(redactPlan(text, about.state.location), parseExplanation);
  };
  const { vectorColumn: column } = plan;
  if (query.k === 0) return explain(buildScan(table.native, toEmptyScan(plan)));
  if (column === undefined) return explain(buildScan(table.native, plan));
  if (plan.search === undefined) return explain(buildVectorSearch(table.native, plan, column));
  return explainFusion(plan, column, {
    vector: await explain(buildVectorSearch(table.native, withRowId(plan), column)),
    text: await explain(buildScan(table.native, withRowId(plan))),
  });
}

interface Legs {
  readonly vector: Analysis;
  readonly text: Analysis;
}

/** The engine refuses to explain both searches together. */
function explainFusion({ query }: QueryPlan, column: VectorColumn, legs: Legs): Analysis {
  requireOneSearch(query, column);
  const operator = 'HybridFusionExec';
  const details = `reranker=rrf(${FUSION_CONSTANT}), fetch=${query.k ?? ROWS_DEFAULT}`;
  const children = [legs.vector, legs.text];
  return {
    text: [`${operator}: ${details}`, ...children.map(({ text }) => indent(text)), ''].join('\n'),
    root: { operator, details, metrics: {}, children: children.map(({ root }) => root) },
  };
}

function indent(text: string): string {
  return text.trimEnd().replace(/^/gm, '  ');
}

function withRowId(plan: QueryPlan): QueryPlan {
  return { ...plan, query: { ...plan.query, withRowId: true } };
}
