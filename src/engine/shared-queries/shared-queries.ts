import { LRUCache } from 'lru-cache';
import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import type { NativeTable } from '../native/native.ts';
import type { QueryPlan } from '../queries/native-query.ts';
import { IndexedColumns } from './indexed-columns.ts';
import { mergeQueries, splitResult } from './merged-query.ts';
import type { Mergeable } from './merged-query.ts';

/** A query that may run as one with others on the same handle. */
export interface SharableQuery extends Mergeable {
  /** Runs it by itself. */
  readonly alone: () => Promise<ResultFiles>;
  /** Its result if there are no rows. */
  readonly empty: () => Promise<ResultFiles>;
  /** All batches of a merged query; `undefined` when they are larger. */
  readonly readAll: (merged: QueryPlan, bytesMax: number) => Promise<readonly Buffer[] | undefined>;
}

interface Member {
  readonly query: SharableQuery;
  readonly resolve: (result: ResultFiles | Promise<ResultFiles>) => void;
}

/** Queries of one kind. */
interface Running {
  count: number;
  /** How many run at once before others wait for them. */
  readonly countMax: number;
  readonly waiting: Member[];
  /** Runs while any waits. */
  timer: NodeJS.Timeout | undefined;
  /** Set when those that arrive in this turn of the event loop start at its end. */
  turn: NodeJS.Immediate | undefined;
  /** To be called when none is left. */
  readonly forget: () => void;
  /** To be called when they could not run as one: for a while each runs by itself. */
  readonly part: () => void;
}

/** What is known of the queries of one handle, by their kinds. */
interface HandleQueries {
  readonly indexed: IndexedColumns;
  readonly running: Map<string, Running>;
  /** Those that could not run as one, for a while. */
  readonly lone: LRUCache<string, true>;
}

interface SharedQueriesLimits {
  /** How many run as one at most; 1: each by itself. */
  readonly membersMax: number;
  /** How many searches of one kind run at once before others wait for them. */
  readonly parallelMax: number;
}

/** When those that run take longer than this, the ones that wait no longer wait for them. */
const WAIT_MILLISECONDS = 20;
/** More are copied too slowly: the event loop would stand still meanwhile. */
const GROUP_BYTES_MAX = 4 * 1024 * 1024;
const LONE_KINDS_MAX = 64;
const LONE_MILLISECONDS = 10_000;

/**
 * Group commit for queries: while one of a kind runs, the next ones wait for the end of the turn of the event loop, or, when
 * as many run as there are processors for them, for one of them to end. Those that wait and outnumber the free processors run
 * as one query of the engine. That takes about half of its time, and each still gets its own result. Searches use all
 * processors. Lookups use half of them: the engine takes less time for several at once than the event loop, which needs a
 * processor as well.
 *
 * All members read from the same handle, which only moves forward: one that runs later than it was sent sees the same
 * version or a newer one.
 */
export class SharedQueries {
  readonly #limits: SharedQueriesLimits;
  readonly #handles = new WeakMap<NativeTable, HandleQueries>();
  #shared = 0;

  constructor(limits: SharedQueriesLimits) {
    this.#limits = limits;
  }

  /** How many have run as one with others. */
  get shared(): number {
    return this.#shared;
  }

  async run(table: NativeTable, query: SharableQuery): Promise<ResultFiles> {
    const { membersMax } = this.#limits;
    const queries = this.#handles.get(table) ?? startQueries(table);
    this.#handles.set(table, queries);
    const { kind, lookup } = query;
    if (membersMax < 2 || queries.lone.has(kind)) return query.alone();
    const running = queries.running.get(kind) ?? this.#startRunning(queries, query);
    // Without an index a lookup reads up to its last row, and a merged one up to the last row of all.
    const isWorthwhile = lookup === undefined || queries.indexed.has(lookup.field.name);
    if (running.count === 0 || !isWorthwhile) return this.#count(running, query.alone);
    return new Promise((resolve) => {
      running.waiting.push({ query, resolve });
      running.turn ??= setImmediate(() => this.#endTurn(running));
      running.timer ??= setTimeout(() => {
        while (running.waiting.length > 0) this.#startNext(running);
      }, WAIT_MILLISECONDS);
    });
  }

  #startRunning({ running, lone }: HandleQueries, { kind, lookup }: SharableQuery): Running {
    const { parallelMax } = this.#limits;
    const started: Running = {
      count: 0,
      countMax: lookup === undefined ? parallelMax : Math.ceil(parallelMax / 2),
      waiting: [],
      timer: undefined,
      turn: undefined,
      forget: () => running.delete(kind),
      part: () => lone.set(kind, true),
    };
    running.set(kind, started);
    return started;
  }

  /** Those that arrived together are spread over the processors that run none of them. */
  #endTurn(running: Running): void {
    running.turn = undefined;
    const free = running.countMax - running.count;
    const size = Math.ceil(running.waiting.length / free);
    for (let slot = 0; slot < free; slot += 1) this.#startNext(running, size);
  }

  async #count<Value>(running: Running, work: () => Promise<Value>): Promise<Value> {
    running.count += 1;
    try {
      return await work();
    } finally {
      running.count -= 1;
      this.#startNext(running);
      if (running.count === 0) running.forget();
    }
  }

  /** Begins to count before it returns. */
  #startNext(running: Running, membersMax = Infinity): void {
    const [first, ...others] = running.waiting.splice(0, Math.min(membersMax, this.#limits.membersMax));
    if (running.waiting.length === 0) {
      clearTimeout(running.timer);
      running.timer = undefined;
    }
    if (first === undefined) return;
    if (others.length === 0) first.resolve(this.#count(running, first.query.alone));
    else void this.#runGroup(running, [first, ...others]);
  }

  /** Every member is settled; whatever goes wrong with the merged query, each then runs by itself. */
  async #runGroup(running: Running, members: readonly [Member, ...Member[]]): Promise<void> {
    const results = await this.#runMerged(running, members).catch(() => undefined);
    if (results === undefined) running.part();
    else this.#shared += members.length;
    for (const [index, { query, resolve }] of members.entries()) resolve(results?.[index] ?? query.alone());
  }

  async #runMerged(
    running: Running,
    [first, ...others]: readonly [Member, ...Member[]],
  ): Promise<readonly ResultFiles[] | undefined> {
    const queries = [first.query, ...others.map(({ query }) => query)] as const;
    const merged = mergeQueries(queries);
    // The next group begins before the results are split: the engine need not wait for that.
    const files = await this.#count(running, async () => first.query.readAll(merged, GROUP_BYTES_MAX));
    if (files?.length === 0) return Promise.all(queries.map(async (query) => query.empty()));
    return files === undefined ? undefined : splitResult(files, queries);
  }
}

function startQueries(table: NativeTable): HandleQueries {
  const lone = new LRUCache<string, true>({ max: LONE_KINDS_MAX, ttl: LONE_MILLISECONDS });
  return { indexed: new IndexedColumns(table), running: new Map(), lone };
}
