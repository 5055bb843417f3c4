import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import type { NativeTable } from '../native/native.ts';
import type { QueryPlan } from '../queries/native-query.ts';

/** How reads of one kind run as one. */
export interface ReadKind {
  /** Equal for reads of one handle that can run as one. */
  readonly name: string;
  /** One query for all of them. */
  merge(plans: readonly QueryPlan[]): QueryPlan;
  /** The result of each, from all batches of the merged query. `undefined` when they cannot be told apart. */
  split(files: readonly Buffer[], plans: readonly QueryPlan[]): readonly ResultFiles[] | undefined;
}

export interface SharableRead {
  readonly kind: ReadKind;
  readonly plan: QueryPlan;
  /** Runs it by itself. */
  readonly alone: () => Promise<ResultFiles>;
  /** Its result if there are no rows. */
  readonly empty: () => Promise<ResultFiles>;
  /** Reads the merged query to its end. */
  readonly readAll: (merged: QueryPlan) => Promise<readonly Buffer[]>;
}

interface Member {
  readonly read: SharableRead;
  readonly resolve: (result: ResultFiles | Promise<ResultFiles>) => void;
}

/** Queries of one kind. */
interface Running {
  count: number;
  readonly waiting: Member[];
  timer: NodeJS.Timeout | undefined;
  /** Called when none is left. */
  readonly forget: () => void;
}

interface SharedReadsLimits {
  /** How many run as one at most; 1: each by itself. */
  readonly membersMax: number;
  /** How many queries of one kind run at once before others wait for them. */
  readonly parallelMax: number;
}

/** When those that run take longer than this, the ones that wait no longer wait for them. */
const WAIT_MILLISECONDS = 20;

/**
 * Group commit for reads: when as many small searches or lookups of one kind run as there are processors, the next ones
 * wait, and run as one query of the engine when one of those ends. That takes half of the engine's time, or less, and each
 * still gets its own result. On an idle machine no read waits.
 *
 * All members read from the same handle, which only moves forward: a read that runs later than it was sent sees the same
 * version or a newer one.
 */
export class SharedReads {
  readonly #limits: SharedReadsLimits;
  readonly #running = new WeakMap<NativeTable, Map<string, Running>>();
  #shared = 0;

  constructor(limits: SharedReadsLimits) {
    this.#limits = limits;
  }

  /** How many reads have run as one with others. */
  get shared(): number {
    return this.#shared;
  }

  async run(table: NativeTable, read: SharableRead): Promise<ResultFiles> {
    const { membersMax, parallelMax } = this.#limits;
    if (membersMax < 2) return read.alone();
    const running = this.#runningOf(table, read.kind.name);
    if (running.count >= parallelMax) return this.#wait(running, read);
    return this.#count(running, read.alone);
  }

  #runningOf(table: NativeTable, name: string): Running {
    const kinds = this.#running.get(table) ?? new Map<string, Running>();
    this.#running.set(table, kinds);
    const found = kinds.get(name);
    if (found !== undefined) return found;
    const running: Running = { count: 0, waiting: [], timer: undefined, forget: () => kinds.delete(name) };
    kinds.set(name, running);
    return running;
  }

  async #wait(running: Running, read: SharableRead): Promise<ResultFiles> {
    return new Promise((resolve) => {
      running.waiting.push({ read, resolve });
      this.#limitWait(running);
    });
  }

  #limitWait(running: Running): void {
    running.timer ??= setTimeout(() => this.#startNext(running), WAIT_MILLISECONDS);
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

  #startNext(running: Running): void {
    clearTimeout(running.timer);
    running.timer = undefined;
    const members = running.waiting.splice(0, this.#limits.membersMax);
    if (members.length === 0) return;
    if (running.waiting.length > 0) this.#limitWait(running);
    void this.#runGroup(running, members);
  }

  /** Every member is settled; whatever goes wrong with the merged query, each then runs by itself. */
  async #runGroup(running: Running, members: readonly Member[]): Promise<void> {
    const reads = members.map(({ read }) => read);
    const results = await this.#runMerged(running, reads).catch(() => undefined);
    for (const [index, { read, resolve }] of members.entries()) {
      resolve(results?.[index] ?? this.#count(running, read.alone));
    }
  }

  async #runMerged(running: Running, reads: readonly SharableRead[]): Promise<readonly ResultFiles[] | undefined> {
    const [first, ...others] = reads;
    if (first === undefined || others.length === 0) return undefined;
    const plans = reads.map(({ plan }) => plan);
    // The next group begins before the results are split: the engine need not wait for that.
    const files = await this.#count(running, async () => first.readAll(first.kind.merge(plans)));
    const isEmpty = files.length === 0;
    const results = isEmpty
      ? await Promise.all(reads.map(async ({ empty }) => empty()))
      : first.kind.split(files, plans);
    if (results !== undefined) this.#shared += reads.length;
    return results;
  }
}
