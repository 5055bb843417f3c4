import type { Catalog, TransactionRecord } from '../catalog/catalog.ts';
import { ServiceError } from '../errors/service-error.ts';
import { CallerCounts } from '../model/limits/caller-counts.ts';
import type { EventLimits } from '../model/limits/integration-limits.ts';
import { once } from '../model/time/once.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

export interface CommitFeedParts {
  readonly catalog: Pick<Catalog, 'transactions' | 'onCommit'>;
  readonly telemetry: Telemetry;
  readonly limits: EventLimits;
}

/** Commits of one database after a cursor, and the cursor after everything that was checked. */
export interface FeedPage {
  readonly records: readonly TransactionRecord[];
  readonly position: string;
}

interface ReadOptions {
  readonly databaseId: string;
  /** The id of the last commit seen. */
  readonly after: string;
}

const PAGE_RECORDS = 500;

/** Commits within this time are read together. */
const GATHER_MILLISECONDS = 20;

/**
 * The commits of all databases in order, for any number of listeners. While there are listeners, one reader follows the
 * catalog; commits of this process wake it, and a timer for those of other nodes. Ids of commits grow in commit order,
 * so an id is a cursor that works on any node.
 */
export class CommitFeed {
  readonly #parts: CommitFeedParts;
  readonly #listeners = new CallerCounts();
  /** Since the first listener: the newest commits, all of those after `#floor`. */
  #buffer: TransactionRecord[] = [];
  #floor: string | undefined;
  #starting: Promise<void> | undefined;
  #stop: (() => void) | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  #isReading = false;
  #isStale = false;
  #hasFailed = false;
  #waiting = new Set<() => void>();
  #isClosed = false;

  constructor(parts: CommitFeedParts) {
    this.#parts = parts;
  }

  get listeners(): number {
    return this.#listeners.total;
  }

  /** Afterwards, listeners get nothing more and end. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
    this.#stop?.();
    this.#notify();
  }

  /** Counts a listener until the returned function is called. */
  async listen(caller: string): Promise<() => void> {
    const { listenersMax, listenersPerCallerMax } = this.#parts.limits;
    if (this.#listeners.total >= listenersMax) throw tooMany(listenersMax, '');
    if (this.#listeners.of(caller) >= listenersPerCallerMax) throw tooMany(listenersPerCallerMax, ' of this caller');
    this.#listeners.add(caller, 1);
    const leave = once(() => this.#leave(caller));
    try {
      await (this.#starting ??= this.#start());
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** The cursor after all commits so far. */
  async newest(): Promise<string> {
    return (await this.#parts.catalog.transactions.newestId()) ?? '';
  }

  /** Only for listeners. */
  async read({ databaseId, after }: ReadOptions): Promise<FeedPage> {
    if (this.#floor !== undefined && after >= this.#floor) {
      const start = firstBehind(this.#buffer, after);
      const found = this.#buffer.slice(start, start + PAGE_RECORDS);
      const records = found.filter((record) => record.databaseId === databaseId);
      return { records, position: found.at(-1)?.id ?? after };
    }
    // Every commit up to here is already in the catalog.
    const reached = this.#last;
    const { transactions } = this.#parts.catalog;
    const records = await transactions.list({ databaseId, after, limit: PAGE_RECORDS });
    const last = records.at(-1)?.id ?? after;
    return { records, position: records.length < PAGE_RECORDS && reached > last ? reached : last };
  }

  /** Resolves when there may be commits after the cursor, after the timeout, or when the signal fires. */
  async wait({ after, milliseconds, signal }: { after: string; milliseconds: number; signal: AbortSignal }) {
    if (this.#last > after || this.#isClosed || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, milliseconds).unref();
      signal.addEventListener('abort', end);
      this.#waiting.add(end);
    });
  }

  get #last(): string {
    return this.#buffer.at(-1)?.id ?? this.#floor ?? '';
  }

  async #start(): Promise<void> {
    const { catalog, limits } = this.#parts;
    const timer = setInterval(() => void this.#readNew(), limits.pollSeconds * 1000).unref();
    const unsubscribe = catalog.onCommit(() => {
      this.#wakeTimer ??= setTimeout(() => {
        this.#wakeTimer = undefined;
        void this.#readNew();
      }, GATHER_MILLISECONDS).unref();
    });
    this.#stop = () => {
      clearInterval(timer);
      clearTimeout(this.#wakeTimer);
      this.#wakeTimer = undefined;
      unsubscribe();
      this.#starting = undefined;
      this.#floor = undefined;
      this.#buffer = [];
    };
    try {
      this.#floor = await this.newest();
    } catch (error) {
      this.#stop();
      throw error;
    }
  }

  #leave(caller: string): void {
    this.#listeners.add(caller, -1);
    if (this.#listeners.total === 0) this.#stop?.();
  }

  async #readNew(): Promise<void> {
    if (this.#floor === undefined) return;
    this.#isStale = true;
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#isStale && this.#floor !== undefined) {
        this.#isStale = false;
        const found = await this.#parts.catalog.transactions.follow({ after: this.#last, limit: PAGE_RECORDS });
        this.#isStale ||= found.length === PAGE_RECORDS;
        this.#append(found);
      }
      this.#hasFailed = false;
    } catch (cause) {
      // The timer retries; one message for each outage of the catalog.
      if (!this.#hasFailed) this.#parts.telemetry.emit({ kind: 'background-failed', task: 'reading commits', cause });
      this.#hasFailed = true;
    } finally {
      this.#isReading = false;
    }
  }

  #append(found: readonly TransactionRecord[]): void {
    // The last listener may have left meanwhile.
    if (found.length === 0 || this.#floor === undefined) return;
    this.#buffer.push(...found);
    const { bufferMax } = this.#parts.limits;
    // In bulk: removing one record means moving all others, which costs as much as reading them.
    if (this.#buffer.length > 2 * bufferMax) {
      const removed = this.#buffer.splice(0, this.#buffer.length - bufferMax);
      this.#floor = removed.at(-1)?.id ?? this.#floor;
    }
    this.#notify();
  }

  #notify(): void {
    for (const end of this.#waiting) end();
  }
}

/** The index of the first record after a cursor. */
function firstBehind(records: readonly TransactionRecord[], after: string): number {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((records[middle]?.id ?? '') > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

function tooMany(max: number, of: string): ServiceError {
  return new ServiceError('ServiceUnavailable', `${max} event streams${of} are already open.`, {
    hint: 'Close one, or follow several tables with one stream.',
    retryAfterSeconds: 5,
  });
}
