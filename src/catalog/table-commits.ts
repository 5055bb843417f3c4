import { ServiceError } from '../errors/service-error.ts';
import { formatPath, quoteForMessage } from '../model/identifier.ts';
import type { TableRecord } from '../model/table.ts';
import type { CatalogContext } from './context.ts';
import { recordInJournal } from './journal-commit.ts';
import type { Sql } from './store.ts';
import { toProperties } from './table-rows.ts';
import { newestTransaction, recordTransactions } from './transactions.ts';
import type { CommitEntry } from './transactions.ts';

export type TableCommit = CommitEntry & { readonly properties?: Readonly<Record<string, string>> };

/** A write as the catalog has recorded it, with all properties that the table now has. */
export interface CommitRecord {
  readonly transactionId: string;
  readonly properties: Readonly<Record<string, string>>;
}

interface Work {
  readonly table: TableRecord;
  readonly commit: TableCommit;
}

interface Waiting extends Work {
  readonly succeed: (record: CommitRecord) => void;
  readonly fail: (error: unknown) => void;
}

/** How many share a transaction. */
const SHARED_MAX = 64;

/**
 * Records of writes, in the order in which they came. Each transaction waits for the disk; those that come meanwhile wait
 * for it too, and then share the next one.
 */
export class TableCommits {
  readonly #context: CatalogContext;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(context: CatalogContext) {
    this.#context = context;
  }

  async commit(table: TableRecord, commit: TableCommit): Promise<CommitRecord> {
    return new Promise((succeed, fail) => {
      this.#waiting.push({ table, commit, succeed, fail });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Those that were answered by the engine in one go come in one go.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#settle(this.#waiting.splice(0, SHARED_MAX));
    this.#isRunning = false;
  }

  async #settle(shared: readonly Waiting[]): Promise<void> {
    try {
      const records = await this.#transact(shared);
      for (const [index, { table, succeed, fail }] of shared.entries()) {
        const record = records[index];
        if (record === undefined) fail(tableIsGone(table));
        else succeed(record);
      }
    } catch (error) {
      // Nothing was recorded. One of them may be at fault, by a text that cannot be kept or a database that is gone.
      const mayBeOnesFault = shared.length > 1 && !isUnavailable(error);
      for (const each of shared) {
        if (mayBeOnesFault) await this.#settle([each]);
        else each.fail(error);
      }
    }
  }

  async #transact(works: readonly Work[]): Promise<readonly (CommitRecord | undefined)[]> {
    const { write, append, now } = this.#context;
    const transact = works.some(({ commit }) => commit.properties !== undefined) ? write : append;
    return transact(async (sql) => commitAll(sql, works, now()));
  }
}

/** In the order of the works; `undefined` for a table that is no longer there. */
async function commitAll(
  sql: Sql,
  works: readonly Work[],
  committedAt: number,
): Promise<readonly (CommitRecord | undefined)[]> {
  const rows = await readTables(sql, works);
  const known = new Map(rows.map((row) => [row.id, toProperties(row.properties)]));
  const found = works.filter(({ table }) => known.has(table.id));
  const properties = found.map(({ table, commit }) => {
    const merged = { ...known.get(table.id), ...commit.properties };
    known.set(table.id, merged);
    return merged;
  });
  await keepProperties(sql, found, known);
  const transactions = found.map(({ table: { id: tableId, databaseId, path }, commit }) => {
    return { ...commit, databaseId, tableId, path, committedAt };
  });
  const ids = await recordTransactions(sql, transactions, rows[0]?.newest ?? undefined);
  const records = new Map<Work, CommitRecord>();
  for (const [index, work] of found.entries()) {
    const { journal, version } = work.commit;
    const transactionId = ids[index] ?? '';
    if (journal !== undefined) await recordInJournal(sql, journal, { version, transactionId, committedAt });
    records.set(work, { transactionId, properties: properties[index] ?? {} });
  }
  return works.map((work) => records.get(work));
}

async function readTables(sql: Sql, works: readonly Work[]) {
  const ids = new Set(works.map(({ table }) => table.id));
  return sql
    .selectFrom('tables')
    .select(['id', 'properties', newestTransaction(sql).as('newest')])
    .where('id', 'in', [...ids])
    .where('state', '!=', 'reserved')
    .execute();
}

async function keepProperties(
  sql: Sql,
  works: readonly Work[],
  known: ReadonlyMap<string, Readonly<Record<string, string>>>,
): Promise<void> {
  const changed = works.filter(({ commit }) => commit.properties !== undefined).map(({ table }) => table.id);
  for (const id of new Set(changed)) {
    const properties = JSON.stringify(known.get(id));
    await sql.updateTable('tables').set({ properties }).where('id', '=', id).execute();
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ServiceError && error.kind === 'ServiceUnavailable';
}

function tableIsGone({ path }: TableRecord): ServiceError {
  return new ServiceError('TableNotFound', `The table ${quoteForMessage(formatPath(path))} does not exist any more.`);
}
