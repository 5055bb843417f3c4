import type { Analysis, Query } from '../../model/query.ts';
import type { TableState } from '../../model/table.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeEngine, NativeQuery } from '../native/native.ts';
import { buildQuery, isHybrid, planQuery, requireOneSearch } from '../queries/native-query.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import { buildLegs, describeFusion } from './hybrid-analysis.ts';
import { ParsedOnDemand, parseExplanation, redactPlan } from './plan-text.ts';

export interface Explanation {
  readonly native: NativeEngine;
  readonly state: TableState;
  readonly verbose: boolean;
}

/** The plan of a query, which is not run. */
export async function explainQuery(about: Explanation, table: OpenTable, query: Query): Promise<Analysis> {
  const plan = await planQuery(about.native, table, query);
  const explain = async (native: NativeQuery): Promise<Analysis> => {
    const text = await engineCall(async () => native.explainPlan(about.verbose));
    return new ParsedOnDemand(redactPlan(text, about.state.location), parseExplanation);
  };
  if (!isHybrid(plan)) return explain(buildQuery(table.native, plan));
  const legs = buildLegs(table.native, plan);
  const children = [await explain(legs.vector()), await explain(legs.text())];
  requireOneSearch(plan);
  const { operator, details } = describeFusion(plan);
  return {
    text: [`${operator}: ${details}`, ...children.map(({ text }) => indent(text)), ''].join('\n'),
    root: { operator, details, metrics: {}, children: children.map(({ root }) => root) },
  };
}

function indent(text: string): string {
  return text.trimEnd().replace(/^/gm, '  ');
}
