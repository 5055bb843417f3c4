import type { Analysis, PlanStep } from '../model/plan.ts';
import type { Query } from '../model/query.ts';
import type { TableState } from '../model/table.ts';
import { withDeadline } from './deadline.ts';
import { engineCall } from './engine-errors.ts';
import { toNativeSearch } from './full-text-query.ts';
import { analyzeHybrid } from './hybrid-analysis.ts';
import { buildScan, buildVectorSearch, isAdded } from './native-query.ts';
import type { QueryPlan } from './native-query.ts';
import type { NativeEngine, NativeQueryBase, NativeTable } from './native.ts';
import type { OpenTable } from './open-table.ts';
import type { OpenTables } from './open-tables.ts';
import { redactPlan } from './plan-redaction.ts';
import { parsePlan } from './plan-text.ts';
import { mayHaveFailed, requireRuns, toCheckQuery } from './run-check.ts';
import { requireVectorColumn } from './vector-column.ts';

export interface AnalysisContext {
  readonly native: NativeEngine;
  readonly tables: OpenTables;
  readonly querySeconds: number;
}

/** Runs the query and tells what each of its steps cost. */
export async function analyzeQuery(context: AnalysisContext, state: TableState, query: Query): Promise<Analysis> {
  const work = context.tables.use(state, async (table) => new QueryAnalysis(context, state, table).analyze(query));
  return withDeadline(context.querySeconds, work);
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
    const plan = await this.#plan(query);
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

  async #plan(query: Query): Promise<QueryPlan> {
    const schema = await this.#table.schema();
    const vectorColumn = query.vectors.length === 0 ? undefined : requireVectorColumn(query, schema);
    const factory = this.#context.native.JsFullTextQuery;
    const searched = { native: this.#table.native, schema, factory };
    const search = query.fullText === undefined ? undefined : await toNativeSearch(query.fullText, searched);
    return { query, schema, vectorColumn, search };
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
    return new ParsedOnDemand(redactPlan(text, this.#state.place));
  }
}

/** Most callers want the text alone, and the tree takes longer to read than many a query to run. */
class ParsedOnDemand implements Analysis {
  readonly text: string;
  #root: PlanStep | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get root(): PlanStep {
    this.#root ??= parsePlan(this.text);
    return this.#root;
  }
}

/**
 * No rows are wanted, so nothing is searched: what runs is a scan that ends before its first row. The engine itself
 * refuses a search for no neighbours, and takes a limit of none in a search by words for no limit.
 */
function toEmptyScan(plan: QueryPlan): QueryPlan {
  const query: Query = { ...plan.query, offset: 0 };
  const { projection } = query;
  if (projection?.kind !== 'names') return { ...plan, query, search: undefined };
  const paths = projection.paths.filter((path) => !isAdded(path));
  return { ...plan, query: { ...query, projection: { ...projection, paths } }, search: undefined };
}
