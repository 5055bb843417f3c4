import type { Engine } from '../engine/engine.ts';
import type { TablePath } from '../model/identifier.ts';
import { formatPath } from '../model/identifier.ts';
import type { LogLimits } from '../model/limits.ts';
import type { PlanStep, Query } from '../model/query.ts';
import type { TableState } from '../model/table.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

/** What was asked, without a vector or a literal of the caller's. */
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
  /** To be run once more for its analysis; not for one that failed. */
  readonly again: { readonly state: TableState; readonly query: Query } | undefined;
}

/** `skipped`: there were too many of them, or it failed. */
export type AnalysisState = 'running' | 'done' | 'skipped';

export interface SlowQuery extends Omit<EndedQuery, 'again'> {
  /** Grows with each. */
  readonly id: number;
  readonly endedAt: number;
  readonly analysisState: AnalysisState;
  readonly analysis: KeptAnalysis | undefined;
}

/** Without anything that the caller wrote: as a tree, and as lines. */
export interface KeptAnalysis {
  readonly plan: PlanStep;
  readonly lines: readonly string[];
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
 * Remembers the queries that took long. Each is run once more in the background for its analysis, one at a time and a few
 * a minute: what is slow because there is too much work must not become more work.
 */
export class SlowQueries {
  readonly #parts: SlowQueriesParts;
  /** Oldest first. */
  readonly #kept = new Map<number, SlowQuery>();
  readonly #leaving = new AbortController();
  #analysedAt: readonly number[] = [];
  #analysing: Promise<void> | undefined;
  #lastId = 0;

  constructor(parts: SlowQueriesParts) {
    this.#parts = parts;
  }

  isSlow(milliseconds: number): boolean {
    const { slowQuerySeconds } = this.#parts.limits;
    return slowQuerySeconds > 0 && milliseconds >= slowQuerySeconds * 1000;
  }

  note({ again, ...ended }: EndedQuery): void {
    this.#lastId += 1;
    const id = this.#lastId;
    const isAnalysed = again !== undefined && this.#mayAnalyse();
    const analysisState = isAnalysed ? 'running' : 'skipped';
    this.#kept.set(id, { ...ended, id, endedAt: this.#parts.now(), analysisState, analysis: undefined });
    this.#forgetOldest();
    this.#tell(ended);
    if (isAnalysed) this.#analysing = this.#analyse(id, again);
  }

  /** Newest first. */
  list(databaseId: string): readonly SlowQuery[] {
    return [...this.#kept.values()].filter((each) => each.databaseId === databaseId).toReversed();
  }

  async close(): Promise<void> {
    this.#leaving.abort();
    await this.#analysing;
  }

  #mayAnalyse(): boolean {
    const { limits, now } = this.#parts;
    const since = now() - MINUTE_MILLISECONDS;
    this.#analysedAt = this.#analysedAt.filter((time) => time > since);
    const hasRoom = this.#analysing === undefined && this.#analysedAt.length < limits.slowAnalysesPerMinuteMax;
    return hasRoom && !this.#leaving.signal.aborted;
  }

  async #analyse(id: number, { state, query }: NonNullable<EndedQuery['again']>): Promise<void> {
    const { engine, now } = this.#parts;
    this.#analysedAt = [...this.#analysedAt, now()];
    try {
      const patience = { seconds: undefined, signal: this.#leaving.signal };
      const { root } = await engine.analyzeQuery(state, query, patience);
      const plan = toToldPlan(root);
      this.#end(id, 'done', { plan, lines: toPlanLines(plan) });
    } catch {
      // The table may be gone, or the service too busy; the query itself has been answered.
      this.#end(id, 'skipped', undefined);
    } finally {
      this.#analysing = undefined;
    }
  }

  #end(id: number, analysisState: AnalysisState, analysis: KeptAnalysis | undefined): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    this.#kept.set(id, { ...kept, analysisState, analysis });
    const { requestId, table } = kept;
    if (analysis === undefined) return;
    const { lines: plan } = analysis;
    this.#parts.telemetry.emit({ kind: 'slow-query-analysed', requestId, table: formatPath(table), plan });
  }

  #tell({ requestId, operation, database, table, caller, milliseconds, shape }: Omit<EndedQuery, 'again'>): void {
    const query = Object.entries(shape).map(([name, value]) => `${name}=${String(value)}`);
    this.#parts.telemetry.emit({
      kind: 'slow-query',
      requestId,
      operation,
      database,
      table: formatPath(table),
      caller,
      milliseconds,
      query,
    });
  }

  #forgetOldest(): void {
    for (const id of this.#kept.keys()) {
      if (this.#kept.size <= this.#parts.limits.slowQueriesMax) return;
      this.#kept.delete(id);
    }
  }
}

const STEPS_MAX = 100;
const LINE_CHARACTERS_MAX = 500;

/** Steps whose details hold settings of the search and names of columns; those of all others may quote the caller. */
const TOLD: ReadonlySet<string> = new Set([
  'ANNSubIndex',
  'ANNIvfPartition',
  'KNNVectorDistance',
  'SortExec',
  'GlobalLimitExec',
  'CoalesceBatchesExec',
  'RepartitionExec',
  'Take',
]);

/** An analysis without anything that the caller wrote: the first steps of the plan, and what they cost. */
export function toToldPlan(root: PlanStep): PlanStep {
  let room = STEPS_MAX;
  const tell = ({ operator, details, metrics, children }: PlanStep): PlanStep => {
    room -= 1;
    const told: PlanStep[] = [];
    for (const child of children) if (room > 0) told.push(tell(child));
    return { operator, details: TOLD.has(operator) ? details : '', metrics, children: told };
  };
  return tell(root);
}

/** A told plan as lines, each step deeper than its parent. */
export function toPlanLines(step: PlanStep, depth = 0): readonly string[] {
  return [toLine(step, depth), ...step.children.flatMap((child) => toPlanLines(child, depth + 1))];
}

function toLine({ operator, details, metrics }: PlanStep, depth: number): string {
  const figures = Object.entries(metrics).map(([name, { text }]) => `${name}=${text}`);
  const line = `${'  '.repeat(depth)}${[operator, ...(details === '' ? [] : [details]), ...figures].join(', ')}`;
  return line.slice(0, LINE_CHARACTERS_MAX);
}
