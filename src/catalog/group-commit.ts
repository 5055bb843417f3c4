import { ServiceError } from '../errors/service-error.ts';
import type { Sql, TransactionOptions } from './store.ts';

export interface GroupOptions extends TransactionOptions {
  /** Cached lookups of all processes may be outdated afterwards. */
  readonly changesLookups: boolean;
}

/** Work that may share a transaction. It uses only `sql`, and may run again. */
export interface GroupedWork<Value> extends GroupOptions {
  readonly run: (sql: Sql) => Promise<Value>;
}

type Transact = <Value>(work: (sql: Sql) => Promise<Value>, options: GroupOptions) => Promise<Value>;

interface Waiting {
  readonly work: GroupedWork<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const GROUP_MAX = 64;

/** Work that arrives while a transaction waits for the disk shares the next one, in order of arrival. */
export class GroupCommit {
  readonly #transact: Transact;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(transact: Transact) {
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
    // Lets callers that were resumed by one event join the same group.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#runTogether(this.#waiting.splice(0, GROUP_MAX));
    this.#isRunning = false;
  }

  async #runTogether(group: readonly Waiting[]): Promise<void> {
    try {
      const values = await this.#transact(async (sql) => runEach(sql, group), {
        changesLookups: group.some(({ work }) => work.changesLookups),
        isDurable: group.some(({ work }) => work.isDurable),
        isOneStatement: group.length === 1 && group[0]?.work.isOneStatement === true,
      });
      for (const [index, { resolve }] of group.entries()) resolve(values[index]);
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'ServiceUnavailable') {
        // An outage fails the whole group and all waiting work.
        for (const { reject } of [...group, ...this.#waiting.splice(0)]) reject(error);
        return;
      }
      // Any other error may be caused by one piece of work, which must not fail the others.
      if (group.length === 1) group[0]?.reject(error);
      else for (const each of group) await this.#runTogether([each]);
    }
  }
}

async function runEach(sql: Sql, group: readonly Waiting[]): Promise<readonly unknown[]> {
  const values: unknown[] = [];
  for (const { work } of group) values.push(await work.run(sql));
  return values;
}
