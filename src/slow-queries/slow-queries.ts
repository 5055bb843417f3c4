import type { Engine } from '../engine/engine.ts';
import { formatPath } from '../model/identifier.ts';
import type { TablePath } from '../model/identifier.ts';
import type { LogLimits } from '../model/limits.ts';
import type { PlanStep, Query } from '../model/query.ts';
import type { TableState } from '../model/table.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

/** A query without the caller's vectors and literals. */
export type QueryShape = Readonly<Record<string, string | number | boolean>>;

/** A read that has ended. */
export interface EndedQuery {
  readonly requestId: string;
  readonly operation: string;
  readonly databaseId: string;
  readonly database: string;
  readonly table: TablePath;
  readonly caller: string;
  readonly milliseconds: number;
  readonly shape: QueryShape;
  /** What to run again for the analysis; `undefined` for a query that failed or has no plan. */
  readonly rerun: { readonly state: TableState; readonly query: Query } | undefined;
}

export interface SlowQuery extends Omit<EndedQuery, 'rerun'> {
  /** Grows with each query. */
  readonly id: number;
  readonly endedAt: number;
  /** `skipped`: there were too many analyses, or this one failed. */
  readonly analysisState: 'running' | 'done' | 'skipped';
  /** As a tree and as lines, without any text of the caller. */
  readonly analysis: { readonly plan: PlanStep; readonly lines: readonly string[] } | undefined;
}

export interface SlowQueriesParts {
  readonly limits: LogLimits;
  readonly engine: Engine;
  readonly telemetry: Telemetry;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const MINUTE_MILLISECONDS = 60_000;

/**
 * Keeps slow queries. Each is run again in the background for its analysis, one at a time and a few per minute: queries
 * that are slow under load must not add to the load.
 */
export class SlowQueries {
  readonly #parts: SlowQueriesParts;
  /** Oldest first. */
  readonly #queries = new Map<number, SlowQuery>();
  readonly #shutdown = new AbortController();
  #analysisStarts: readonly number[] = [];
  #running: Promise<void> | undefined;
  #lastId = 0;

  constructor(parts: SlowQueriesParts) {
    this.#parts = parts;
  }

  isSlow(milliseconds: number): boolean {
    const { slowQuerySeconds } = this.#parts.limits;
    return slowQuerySeconds > 0 && milliseconds >= slowQuerySeconds * 1000;
  }

  record({ rerun, ...ended }: EndedQuery): void {
    const { limits, telemetry, now } = this.#parts;
    this.#lastId += 1;
    const id = this.#lastId;
    const isAnalysed = rerun !== undefined && this.#mayAnalyse();
    const analysisState = isAnalysed ? 'running' : 'skipped';
    this.#queries.set(id, { ...ended, id, endedAt: now(), analysisState, analysis: undefined });
    const [oldestId = id] = this.#queries.keys();
    if (this.#queries.size > limits.slowQueriesMax) this.#queries.delete(oldestId);
    const { requestId, operation, database, table, caller, milliseconds } = ended;
    const query = Object.entries(ended.shape).map(([name, value]) => `${name}=${String(value)}`);
    const facts = { requestId, operation, database, table: formatPath(table), caller, milliseconds };
    telemetry.emit({ kind: 'slow-query', ...facts, query });
    if (isAnalysed) this.#running = this.#analyse(id, rerun);
  }

  /** Newest first. */
  list(databaseId: string): readonly SlowQuery[] {
    return [...this.#queries.values()].filter((each) => each.databaseId === databaseId).toReversed();
  }

  async close(): Promise<void> {
    this.#shutdown.abort();
    await this.#running;
  }

  #mayAnalyse(): boolean {
    const { limits, now } = this.#parts;
    const since = now() - MINUTE_MILLISECONDS;
    this.#analysisStarts = this.#analysisStarts.filter((time) => time > since);
    const isFree = this.#running === undefined && this.#analysisStarts.length < limits.slowAnalysesPerMinuteMax;
    return isFree && !this.#shutdown.signal.aborted;
  }

  async #analyse(id: number, { state, query }: NonNullable<EndedQuery['rerun']>): Promise<void> {
    const { engine, now } = this.#parts;
    this.#analysisStarts = [...this.#analysisStarts, now()];
    try {
      const timeout = { seconds: undefined, signal: () => this.#shutdown.signal };
      const { root } = await engine.analyzeQuery(state, query, timeout);
      const plan = redactPlan(root);
      this.#end(id, { analysisState: 'done', analysis: { plan, lines: toPlanLines(plan) } });
    } catch {
      // The table may be gone, or the service too busy; the caller already has its reply.
      this.#end(id, { analysisState: 'skipped', analysis: undefined });
    } finally {
      this.#running = undefined;
    }
  }

  #end(id: number, outcome: Pick<SlowQuery, 'analysisState' | 'analysis'>): void {
    const query = this.#queries.get(id);
    if (query === undefined) return;
    this.#queries.set(id, { ...query, ...outcome });
    if (outcome.analysis === undefined) return;
    const { requestId, table } = query;
    const { lines: plan } = outcome.analysis;
    this.#parts.telemetry.emit({ kind: 'slow-query-analysed', requestId, table: formatPath(table), plan });
  }
}

const STEPS_MAX = 100;
const LINE_CHARACTERS_MAX = 500;

/** Steps whose details contain only search settings and column names; those of all others may quote the caller. */
const STEPS_WITH_SAFE_DETAILS: ReadonlySet<string> = new Set([
  'ANNSubIndex',
  'ANNIvfPartition',
  'KNNVectorDistance',
  'SortExec',
  'GlobalLimitExec',
  'CoalesceBatchesExec',
  'RepartitionExec',
  'Take',
]);

/** The first steps of a plan and their costs, without any text of the caller. */
function redactPlan(root: PlanStep): PlanStep {
  let stepsLeft = STEPS_MAX;
  const redact = ({ operator, details, metrics, children }: PlanStep): PlanStep => {
    stepsLeft -= 1;
    const redacted: PlanStep[] = [];
    for (const child of children) if (stepsLeft > 0) redacted.push(redact(child));
    const safeDetails = STEPS_WITH_SAFE_DETAILS.has(operator) ? details : '';
    return { operator, details: safeDetails, metrics, children: redacted };
  };
  return redact(root);
}

/** Each step is indented deeper than its parent. */
function toPlanLines({ operator, details, metrics, children }: PlanStep, depth = 0): readonly string[] {
  const figures = Object.entries(metrics).map(([name, { text }]) => `${name}=${text}`);
  const line = `${'  '.repeat(depth)}${[operator, ...(details === '' ? [] : [details]), ...figures].join(', ')}`;
  return [line.slice(0, LINE_CHARACTERS_MAX), ...children.flatMap((child) => toPlanLines(child, depth + 1))];
}
