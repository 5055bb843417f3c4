import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import type { NativeTable } from '../native/native.ts';
import type { QueryPlan } from '../queries/native-query.ts';
import { mergeSearches, splitResult } from './merged-search.ts';

/** A search that may run as one with others. */
export interface SharableSearch {
  /** Equal for searches of one handle that can run as one. */
  readonly kind: string;
  readonly plan: QueryPlan;
  /** Runs it by itself. */
  readonly alone: () => Promise<ResultFiles>;
  /** Its result if there are no rows. */
  readonly empty: () => Promise<ResultFiles>;
  /** All batches of a merged search. */
  readonly readAll: (merged: QueryPlan) => Promise<readonly Buffer[]>;
}

interface Member {
  readonly search: SharableSearch;
  readonly resolve: (result: ResultFiles | Promise<ResultFiles>) => void;
}

/** Queries of one kind. */
interface Running {
  count: number;
  readonly waiting: Member[];
  /** Runs while any waits. */
  timer: NodeJS.Timeout | undefined;
  /** To be called when none is left. */
  readonly forget: () => void;
  /** To be called when they could not run as one: from now on each runs by itself. */
  readonly part: () => void;
}

/** What is known of the searches of one handle, by their kinds. */
interface HandleSearches {
  readonly running: Map<string, Running>;
  /** Those that could not run as one. */
  readonly lone: Set<string>;
}

interface SharedSearchesLimits {
  /** How many run as one at most; 1: each by itself. */
  readonly membersMax: number;
  /** How many queries of one kind run at once before others wait for them. */
  readonly parallelMax: number;
}

/** When those that run take longer than this, the ones that wait no longer wait for them. */
const WAIT_MILLISECONDS = 20;
/** More are copied too slowly: the event loop would stand still meanwhile. */
const GROUP_BYTES_MAX = 4 * 1024 * 1024;
const LONE_KINDS_MAX = 64;

/**
 * Group commit for searches: when as many searches of one kind run as there are processors, the next ones wait, and run as
 * one query of the engine when one of those ends. That takes about half of the engine's time, and each still gets its own
 * result. On an idle machine none waits.
 *
 * All members read from the same handle, which only moves forward: one that runs later than it was sent sees the same
 * version or a newer one.
 */
export class SharedSearches {
  readonly #limits: SharedSearchesLimits;
  readonly #handles = new WeakMap<NativeTable, HandleSearches>();
  #shared = 0;

  constructor(limits: SharedSearchesLimits) {
    this.#limits = limits;
  }

  /** How many have run as one with others. */
  get shared(): number {
    return this.#shared;
  }

  async run(table: NativeTable, search: SharableSearch): Promise<ResultFiles> {
    const { membersMax, parallelMax } = this.#limits;
    const searches = this.#handles.get(table) ?? { running: new Map<string, Running>(), lone: new Set<string>() };
    this.#handles.set(table, searches);
    const name = search.kind;
    if (membersMax < 2 || searches.lone.has(name)) return search.alone();
    const running = searches.running.get(name) ?? startRunning(searches, name);
    if (running.count < parallelMax) return this.#count(running, search.alone);
    return new Promise((resolve) => {
      running.waiting.push({ search, resolve });
      running.timer ??= setTimeout(() => {
        while (running.waiting.length > 0) this.#startNext(running);
      }, WAIT_MILLISECONDS);
    });
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
  #startNext(running: Running): void {
    const [first, ...others] = running.waiting.splice(0, this.#limits.membersMax);
    if (running.waiting.length === 0) {
      clearTimeout(running.timer);
      running.timer = undefined;
    }
    if (first === undefined) return;
    if (others.length === 0) first.resolve(this.#count(running, first.search.alone));
    else void this.#runGroup(running, [first, ...others]);
  }

  /** Every member is settled; whatever goes wrong with the merged query, each then runs by itself. */
  async #runGroup(running: Running, members: readonly [Member, ...Member[]]): Promise<void> {
    const results = await this.#runMerged(running, members).catch(() => undefined);
    if (results === undefined) running.part();
    else this.#shared += members.length;
    for (const [index, { search, resolve }] of members.entries()) resolve(results?.[index] ?? search.alone());
  }

  async #runMerged(
    running: Running,
    [first, ...others]: readonly [Member, ...Member[]],
  ): Promise<readonly ResultFiles[] | undefined> {
    const { plan, readAll } = first.search;
    const merged = mergeSearches([plan, ...others.map(({ search }) => search.plan)]);
    // The next group begins before the results are split: the engine need not wait for that.
    const files = await this.#count(running, async () => readAll(merged));
    if (files.length === 0) return Promise.all([first, ...others].map(async ({ search }) => search.empty()));
    const bytes = files.reduce((sum, { length }) => sum + length, 0);
    return bytes > GROUP_BYTES_MAX ? undefined : splitResult(files, 1 + others.length);
  }
}

function startRunning({ running, lone }: HandleSearches, name: string): Running {
  const started: Running = {
    count: 0,
    waiting: [],
    timer: undefined,
    forget: () => running.delete(name),
    part() {
      if (lone.size === LONE_KINDS_MAX) lone.clear();
      lone.add(name);
    },
  };
  running.set(name, started);
  return started;
}
