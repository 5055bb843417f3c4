import { LRUCache } from 'lru-cache';
import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import type { NativeTable } from '../native/native.ts';
import type { QueryPlan } from '../queries/native-query.ts';
import { IndexedColumns } from './indexed-columns.ts';
import { mergeQueries, splitResult } from './merged-query.ts';
import type { Mergeable } from './merged-query.ts';

/** A query that can be merged with others on the same handle. */
export interface SharableQuery extends Mergeable {
  /** Runs it separately. */
  readonly alone: () => Promise<ResultFiles>;
  /** Its result if there are no rows. */
  readonly empty: () => Promise<ResultFiles>;
  /** All batches of a merged query; `undefined` if they exceed `bytesMax`. */
  readonly readAll: (merged: QueryPlan, bytesMax: number) => Promise<readonly Buffer[] | undefined>;
}

interface Member {
  readonly query: SharableQuery;
  readonly resolve: (result: ResultFiles | Promise<ResultFiles>) => void;
}

/** Queries of one kind. */
interface Running {
  count: number;
  /** How many run at once before others wait. */
  readonly countMax: number;
  readonly waiting: Member[];
  /** Runs while any query waits. */
  timer: NodeJS.Timeout | undefined;
  /** Set while queries that arrive in this turn of the event loop are collected, to start at its end. */
  turn: NodeJS.Immediate | undefined;
  /** Called when none is left. */
  readonly forget: () => void;
  /** Called when they could not be merged: for a while, each runs separately. */
  readonly part: () => void;
}

/** The queries of one handle, by kind. */
interface HandleQueries {
  readonly indexed: IndexedColumns;
  readonly running: Map<string, Running>;
  /** Kinds that could not be merged recently. */
  readonly lone: LRUCache<string, true>;
}

interface SharedQueriesLimits {
  /** The most queries that are merged; 1 disables merging. */
  readonly membersMax: number;
  /** How many searches of one kind run at once before others wait. */
  readonly parallelMax: number;
}

/** After this time, waiting queries start without waiting for the running ones. */
const WAIT_MILLISECONDS = 20;
/** Copying more would block the event loop for too long. */
const GROUP_BYTES_MAX = 4 * 1024 * 1024;
const LONE_KINDS_MAX = 64;
const LONE_MILLISECONDS = 10_000;

/**
 * Group commit for queries: while one of a kind runs, later ones wait for the end of the turn of the event loop, or, if
 * all their processors are busy, for one to end. If more wait than there are free processors, they are merged into one
 * engine query, which takes about half the time. Each still gets a separate result. Searches use all processors.
 * Lookups use half of them: for several at once, the engine takes less time than the event loop, which needs a
 * processor too.
 *
 * All members read from the same handle, which only moves forward: a query that runs later sees the same version or a
 * newer one.
 */
export class SharedQueries {
  readonly #limits: SharedQueriesLimits;
  readonly #handles = new WeakMap<NativeTable, HandleQueries>();
  #shared = 0;

  constructor(limits: SharedQueriesLimits) {
    this.#limits = limits;
  }

  /** Queries that were merged with others. */
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
    // Without an index, a lookup scans up to its last row, and a merged one up to the last row of all.
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

  /** Distributes the queries that arrived in this turn over the free processors. */
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

  /** Updates the count synchronously. */
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

  /** Settles every member; if the merged query fails for any reason, each member runs separately. */
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
    // The next group starts before the results are split, so that the engine need not wait.
    const files = await this.#count(running, async () => first.query.readAll(merged, GROUP_BYTES_MAX));
    if (files?.length === 0) return Promise.all(queries.map(async (query) => query.empty()));
    return files === undefined ? undefined : splitResult(files, queries);
  }
}

function startQueries(table: NativeTable): HandleQueries {
  const lone = new LRUCache<string, true>({ max: LONE_KINDS_MAX, ttl: LONE_MILLISECONDS });
  return { indexed: new IndexedColumns(table), running: new Map(), lone };
}
