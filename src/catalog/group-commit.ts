import { ServiceError } from '../errors/service-error.ts';
import type { Sql } from './store.ts';

/** Work that may share its transaction with others. It touches nothing but `sql`, and may run again. */
export interface GroupedWork<Value> {
  readonly run: (sql: Sql) => Promise<Value>;
  /** Lookups that anyone has cached must be looked up again. */
  readonly changesLookups: boolean;
  /** Must survive a power loss, not only a kill of the process. */
  readonly isDurable: boolean;
}

export interface GroupOptions {
  readonly changesLookups: boolean;
  readonly isDurable: boolean;
}

interface Waiting {
  readonly work: GroupedWork<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const GROUP_MAX = 64;

/**
 * Group commit: each transaction waits for the disk; what arrives meanwhile shares the next one. In the order of arrival.
 */
export class GroupCommit {
  readonly #transact: <Value>(work: (sql: Sql) => Promise<Value>, options: GroupOptions) => Promise<Value>;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(transact: <Value>(work: (sql: Sql) => Promise<Value>, options: GroupOptions) => Promise<Value>) {
    this.#transact = transact;
  }

  async run<Value>(work: GroupedWork<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `resolve` gets what this very `work` returned.
      this.#waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    // Callers that were resumed by one event arrive together.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#settle(this.#waiting.splice(0, GROUP_MAX));
    this.#isRunning = false;
  }

  async #settle(group: readonly Waiting[]): Promise<void> {
    try {
      const values = await this.#transact(async (sql) => runEach(sql, group), {
        changesLookups: group.some(({ work }) => work.changesLookups),
        isDurable: group.some(({ work }) => work.isDurable),
      });
      for (const [index, { resolve }] of group.entries()) resolve(values[index]);
    } catch (error) {
      if (isUnavailable(error)) {
        // An outage hits alike all who shared the transaction, and all who have waited for its end.
        for (const { reject } of [...group, ...this.#waiting.splice(0)]) reject(error);
        return;
      }
      // Any other error may be the fault of one, which must not fail the rest.
      for (const each of group) {
        if (group.length > 1) await this.#settle([each]);
        else each.reject(error);
      }
    }
  }
}

async function runEach(sql: Sql, group: readonly Waiting[]): Promise<readonly unknown[]> {
  const values: unknown[] = [];
  for (const { work } of group) values.push(await work.run(sql));
  return values;
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.kind === 'ServiceUnavailable';
}
