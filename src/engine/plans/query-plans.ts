import type { Analysis, PlanStep, Query } from '../../model/query.ts';
import type { TableLocation, TableState } from '../../model/table.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeQuery } from '../native/native.ts';
import type { QueryTimeout } from '../native/query-deadline.ts';
import type { EngineParts } from '../parts.ts';
import { buildLegs, filterTextAfter, toUnfilteredText } from '../queries/hybrid-legs.ts';
import { requireHybrid } from '../queries/hybrid-query.ts';
import { buildQuery, buildScan, isHybrid, planQuery } from '../queries/native-query.ts';
import { ANALYZED_ROWS, reserveMemory, runToEnd } from '../queries/result-batches.ts';
import { runOnce } from '../queries/query-run.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import { readTable } from '../versions/reads.ts';
import { withoutRowOffset } from '../workarounds/row-offsets.ts';
import { toFailureCheck } from '../workarounds/silent-failures.ts';
import { analyzeHybrid, describeFusion } from './hybrid-analysis.ts';
import { parseExplanation, parsePlan, redactPlan, toAnalysis } from './plan-text.ts';

/** The plan of a query, without running it. */
export async function explainQuery(
  parts: EngineParts,
  table: OpenTable,
  query: Query,
  { location, verbose }: { readonly location: TableLocation; readonly verbose: boolean },
): Promise<Analysis> {
  const plan = await planQuery(parts, table, query);
  const explain = async (built: NativeQuery): Promise<Analysis> => {
    const text = redactPlan(await engineCall(async () => built.explainPlan(verbose)), location);
    return toAnalysis(text, () => parseExplanation(text));
  };
  if (!isHybrid(plan)) {
    const whole = await explain(buildQuery(table.native, plan));
    const search = toUnfilteredText(plan);
    if (search === undefined) return whole;
    // The engine would filter first, so the server searches without the filter, then applies it to the rows found.
    const filter = { operator: 'FilterExec', details: String(query.filter) };
    return toParent(filter, [await explain(buildScan(table.native, search))]);
  }
  requireHybrid(plan);
  const legs = buildLegs(table.native, plan);
  const children = [await explain(legs.vector()), await explain(legs.text())];
  return toParent(describeFusion(plan), children);
}

/** A step that the server executes, above steps of the engine. */
function toParent(
  { operator, details }: Pick<PlanStep, 'operator' | 'details'>,
  children: readonly Analysis[],
): Analysis {
  const indented = children.map(({ text }) => text.trimEnd().replace(/^/gm, '  '));
  const text = [`${operator}: ${details}`, ...indented, ''].join('\n');
  return toAnalysis(text, () => ({ operator, details, metrics: {}, children: children.map(({ root }) => root) }));
}

/** Runs the query and returns the cost of each step. */
export async function analyzeQuery(
  parts: EngineParts,
  state: TableState,
  query: Query,
  timeout?: QueryTimeout,
): Promise<Analysis> {
  const { tables, querySeconds: seconds } = parts;
  // A native query runs only once, so it is built again for each run.
  const analyze = async (build: () => NativeQuery): Promise<Analysis> => {
    const text = redactPlan(await engineCall(async () => build().analyzePlan()), state.location);
    return toAnalysis(text, () => parsePlan(text));
  };
  return runOnce(parts, timeout, async ({ lease }) =>
    readTable(tables, state, async (table) => {
      const plan = await planQuery(parts, table, withoutRowOffset(query));
      const batchRows = await reserveMemory(parts, table.native, plan, { lease, ownBatchRows: ANALYZED_ROWS });
      if (isHybrid(plan)) return analyzeHybrid({ table: table.native, plan, batchRows, analyze });
      const run = (await filterTextAfter(table.native, plan, batchRows)) ?? plan;
      const analysis = await analyze(() => buildQuery(table.native, run));
      const check = toFailureCheck(query, analysis.text);
      if (check !== undefined) {
        await runToEnd(buildQuery(table.native, { ...plan, query: check }), batchRows, seconds);
      }
      return analysis;
    }),
  );
}
