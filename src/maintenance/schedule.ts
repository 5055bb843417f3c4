import type { MaintenanceLimits } from '../model/limits.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { TablePath } from '../model/identifier.ts';
import type { TableRecord } from '../model/table.ts';

export interface PaceSettings {
  readonly limits: MaintenanceLimits;
  readonly now: () => number;
  /**
   * The next piece of work, if there is one. It tells of its failures itself, and gives for how much of its time no rest is
   * needed.
   */
  readonly take: () => Promise<(() => Promise<number>) | undefined>;
  /** Called now and then, to find out what there is to do. */
  readonly look: () => void;
}

const CLOSE_MILLISECONDS = 2000;

/** As long as the share of time demands that may be worked. */
export function restAfter(workedMilliseconds: number, { dutyPercent }: MaintenanceLimits): number {
  return (workedMilliseconds * (100 - dutyPercent)) / dutyPercent;
}

/** How many pieces of work run at once, and how long each runner rests after one. */
export class Pace {
  readonly #settings: PaceSettings;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #runners = new Set<Promise<void>>();
  #looking: NodeJS.Timeout | undefined;
  #resting = 0;

  constructor(settings: PaceSettings) {
    this.#settings = settings;
  }

  start(): void {
    const { limits, look } = this.#settings;
    const turn = (): void => {
      look();
      this.wake();
    };
    this.#looking = setInterval(turn, limits.quietSeconds * 1000);
    this.#looking.unref();
  }

  wake(): void {
    const isOpen = this.#looking !== undefined;
    if (!isOpen || this.#runners.size + this.#resting >= this.#settings.limits.runningMax) return;
    const runner = this.#runOne();
    this.#runners.add(runner);
    void runner.finally(() => this.#runners.delete(runner));
  }

  /** What is being looked at may end; what has become a job has its own time to end. */
  async close(): Promise<void> {
    clearInterval(this.#looking);
    this.#looking = undefined;
    for (const timer of this.#timers) clearTimeout(timer);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MILLISECONDS);
    });
    await Promise.race([Promise.allSettled(this.#runners), late]);
    clearTimeout(timer);
  }

  async #runOne(): Promise<void> {
    const work = await this.#settings.take();
    if (work === undefined) return;
    const startedAt = this.#settings.now();
    const restless = await work();
    this.#rest(this.#settings.now() - startedAt - restless);
  }

  #rest(workedMilliseconds: number): void {
    this.#resting += 1;
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        this.#resting -= 1;
        this.wake();
      },
      restAfter(workedMilliseconds, this.#settings.limits),
    );
    timer.unref();
    this.#timers.add(timer);
  }
}

const PAGE_TABLES = 100;

/** All tables of all databases, a page at a time; whoever pulls decides how fast. */
export async function* walkTables(catalog: Pick<Catalog, 'databases' | 'tables'>): AsyncGenerator<TableRecord> {
  for (const { id: databaseId } of await catalog.databases.list()) {
    let after: TablePath | undefined;
    for (let isLast = false; !isLast;) {
      const page = await catalog.tables.list({
        databaseId,
        limit: PAGE_TABLES,
        ...(after === undefined ? {} : { after }),
      });
      yield* page;
      after = page.at(-1)?.path;
      isLast = page.length < PAGE_TABLES;
    }
  }
}
