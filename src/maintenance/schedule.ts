import { setTimeout as sleep } from 'node:timers/promises';
import type { Catalog } from '../catalog/catalog.ts';
import type { MaintenanceLimits } from '../model/limits.ts';
import type { TableSummary } from '../model/table.ts';

interface ScheduleParts {
  readonly limits: MaintenanceLimits;
  readonly now: () => number;
  /** The next task, if any. It handles its own failures, and returns the part of its time that needs no pause. */
  readonly nextTask: () => Promise<(() => Promise<number>) | undefined>;
  /** Runs at an interval, and finds tables to check. */
  readonly scan: () => void;
}

const CLOSE_MILLISECONDS = 2000;

/** The pause that keeps work within its share of the time. */
export function pauseAfter(workedMilliseconds: number, { dutyPercent }: MaintenanceLimits): number {
  return (workedMilliseconds * (100 - dutyPercent)) / dutyPercent;
}

/** Runs a limited number of tasks at once, and pauses after each. */
export class Schedule {
  readonly #parts: ScheduleParts;
  readonly #pauses = new Set<NodeJS.Timeout>();
  readonly #running = new Set<Promise<void>>();
  #interval: NodeJS.Timeout | undefined;

  constructor(parts: ScheduleParts) {
    this.#parts = parts;
  }

  start(): void {
    const { limits, scan } = this.#parts;
    const tick = (): void => {
      scan();
      this.wake();
    };
    this.#interval = setInterval(tick, limits.quietSeconds * 1000).unref();
  }

  wake(): void {
    const isBusy = this.#running.size + this.#pauses.size >= this.#parts.limits.runningMax;
    if (this.#interval === undefined || isBusy) return;
    const task = this.#runNext();
    this.#running.add(task);
    void task.finally(() => this.#running.delete(task));
  }

  /** Waits for checks; runs are jobs, which have their own shutdown. */
  async close(): Promise<void> {
    clearInterval(this.#interval);
    this.#interval = undefined;
    for (const pause of this.#pauses) clearTimeout(pause);
    const timer = new AbortController();
    const timeout = sleep(CLOSE_MILLISECONDS, undefined, { signal: timer.signal }).catch(() => {});
    await Promise.race([Promise.allSettled(this.#running), timeout]);
    timer.abort();
  }

  async #runNext(): Promise<void> {
    const { now, limits, nextTask } = this.#parts;
    const task = await nextTask();
    if (task === undefined) return;
    const startedAt = now();
    const exemptMilliseconds = await task();
    const resume = (): void => {
      this.#pauses.delete(pause);
      this.wake();
    };
    const pause = setTimeout(resume, pauseAfter(now() - startedAt - exemptMilliseconds, limits)).unref();
    this.#pauses.add(pause);
  }
}

const PAGE_TABLES = 100;

/** All tables of all databases, read page by page as the caller advances. */
export async function* walkTables(catalog: Pick<Catalog, 'databases' | 'tables'>): AsyncGenerator<TableSummary> {
  for (const { id: databaseId } of await catalog.databases.list()) {
    let page: readonly TableSummary[] = [];
    do {
      const last = page.at(-1);
      const after = last === undefined ? {} : { after: last.path };
      page = await catalog.tables.list({ databaseId, limit: PAGE_TABLES, ...after });
      yield* page;
    } while (page.length === PAGE_TABLES);
  }
}
