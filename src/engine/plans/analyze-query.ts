import type { Analysis, Query } from '../../model/query.ts';
import type { TableState } from '../../model/table.ts';
import type { OrphanedQueries } from '../native/query-deadline.ts';
import { engineCall } from '../native/engine-errors.ts';
import { analyzeHybrid } from './hybrid-analysis.ts';
import { buildScan, buildVectorSearch, planQuery, toEmptyScan } from '../queries/native-query.ts';
import type { QueryPlan } from '../queries/native-query.ts';
import type { NativeEngine, NativeQueryBase, NativeTable } from '../native/native.ts';
import type { OpenTable } from '../tables/table-handle.ts';
import type { OpenTables } from '../tables/open-tables.ts';
import { redactPlan, ParsedOnDemand } from './plan-text.ts';
import { startTime } from '../queries/rows.ts';
import type { QueryTimeout } from '../queries/rows.ts';
import { mayHaveFailed, requireRuns, toCheckQuery } from '../workarounds/silent-failures.ts';

export interface AnalysisContext {
  readonly native: NativeEngine;
  readonly tables: OpenTables;
  readonly querySeconds: number;
  readonly abandoned: OrphanedQueries;
}

/** Runs the query and tells what each of its steps cost. */
export async function analyzeQuery(
  context: AnalysisContext,
  state: TableState,
  query: Query,
  patience?: QueryTimeout,
): Promise<Analysis> {
  const time = startTime(context, patience);
  const work = context.tables.use(state, async (table) => new QueryAnalysis(context, state, table).analyze(query));
  return time.wait(work);
}

/** Builds the engine's query afresh each time: one cannot be run twice. */
type Build = (table: NativeTable, plan: QueryPlan) => NativeQueryBase;

class QueryAnalysis {
  readonly #context: AnalysisContext;
  readonly #state: TableState;
  readonly #table: OpenTable;

  constructor(context: AnalysisContext, state: TableState, table: OpenTable) {
    this.#context = context;
    this.#state = state;
    this.#table = table;
  }

  async analyze(query: Query): Promise<Analysis> {
    const plan = await planQuery(this.#context.native, this.#table, query);
    if (query.k === 0) return this.#run(toEmptyScan(plan), buildScan);
    const { vectorColumn: column } = plan;
    if (column === undefined) return this.#run(plan, buildScan);
    const buildSearch: Build = (table, search) => buildVectorSearch(table, search, column);
    if (plan.search === undefined) return this.#run(plan, buildSearch);
    return analyzeHybrid({
      native: this.#context.native,
      table: this.#table.native,
      plan,
      column,
      seconds: this.#context.querySeconds,
      analyze: async (build) => this.#analyzeOnce(build),
    });
  }

  async #run(plan: QueryPlan, build: Build): Promise<Analysis> {
    const { native } = this.#table;
    const analysis = await this.#analyzeOnce(() => build(native, plan));
    if (plan.query.k !== 0 && mayHaveFailed(plan.query, analysis.text)) {
      const check = { ...plan, query: toCheckQuery(plan.query, analysis.text) };
      await requireRuns(() => build(native, check), this.#context.querySeconds);
    }
    return analysis;
  }

  async #analyzeOnce(build: () => NativeQueryBase): Promise<Analysis> {
    const text = await engineCall(async () => build().analyzePlan());
    return new ParsedOnDemand(redactPlan(text, this.#state.location));
  }
}
