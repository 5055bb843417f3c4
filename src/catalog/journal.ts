import { ServiceError } from '../errors/service-error.ts';
import type { JournalLimits } from '../model/limits.ts';
import type { PriorAnswer } from '../model/write-intent.ts';
import { Answers } from './answers.ts';
import type { GoingAnswer } from './answers.ts';
import type { CatalogContext } from './context.ts';
import {
  boundWrites,
  landWrite,
  noteWrite,
  pruneJournal,
  readUnresolved,
  toPriorAnswer,
  turnPlace,
} from './journal-rows.ts';
import type { BegunWrite, LandedWrite, RequestMark, UnresolvedWrite } from './journal-rows.ts';
import type { JournalRow } from './rows.ts';
import { SharedTransactions } from './shared-transactions.ts';
import type { Sql } from './store.ts';

export type { GoingAnswer } from './answers.ts';
export { turnPlace } from './journal-rows.ts';
export type { BegunWrite, LandedWrite, RequestMark, UnresolvedWrite } from './journal-rows.ts';

/**
 * Which writes were begun and what became of them, so that a request that comes again is not carried out again. A write
 * without a key is in it from just before its commit until its answer is out.
 */
export interface Journal {
  /**
   * To be called once, by the one process that serves, before it does. What the process before it had committed and not
   * answered waits for its sender now. Gives the writes of which nobody knows what became.
   */
  resume(): Promise<readonly UnresolvedWrite[]>;
  /** Those of one branch of a table, all at once: which were committed, and which were not. */
  settle(landed: readonly LandedWrite[], failed: readonly string[]): Promise<void>;
  /** The answer to give instead, when the request was carried out and its sender has not heard of it. */
  find(mark: RequestMark): Promise<PriorAnswer | undefined>;
  /** Notes the write, unless it was carried out before. */
  begin(write: BegunWrite): Promise<PriorAnswer | undefined>;
  /** A write of this process was committed, although the engine failed. Gives the id of its record. */
  land(id: string, version: number): Promise<string | undefined>;
  /** The write came to nothing. */
  fail(id: string): void;
  /** The answer to a write goes out in this moment. */
  answer(id: string, mark: RequestMark): GoingAnswer;
  /** There will be no answer that tells what became of it. */
  leave(id: string): void;
  close(): Promise<void>;
}

/** How often what is past its time is removed: once in so many writes. */
const PRUNED_EVERY = 200;
/** Notes that nobody needs any more go with the next write; when so many wait, they go without one. */
const NEEDLESS_MAX = 500;

export function createJournal(context: CatalogContext, limits: JournalLimits, answersFile: string): Journal {
  return new SqlJournal(context, limits, answersFile);
}

class SqlJournal implements Journal {
  readonly #context: CatalogContext;
  readonly #limits: JournalLimits;
  readonly #answersFile: string;
  readonly #begins: SharedTransactions<BegunWrite, PriorAnswer | undefined>;
  /** Notes that are no answer for anybody else: their request is under way, or was answered. */
  readonly #taken = new Set<string>();
  /** Of those, the ones that are to be removed. */
  readonly #needless = new Set<string>();
  /** Writes of a former process of which nobody knows what became, and after which none had its turn yet, and where. */
  readonly #doubts = new Map<string, string>();
  #answers: Answers | undefined;
  /** Until then there may be a write whose sender has not heard of it. Most of the time there is none. */
  #lostUntil = 0;
  #begun = 0;

  constructor(context: CatalogContext, limits: JournalLimits, answersFile: string) {
    this.#context = context;
    this.#limits = limits;
    this.#answersFile = answersFile;
    this.#begins = new SharedTransactions(async (writes) => this.#beginAll(writes));
  }

  async resume(): Promise<readonly UnresolvedWrite[]> {
    const answers = Answers.open(this.#answersFile);
    const answered = answers.found;
    this.#answers = answers;
    const { append, now } = this.#context;
    const unresolved = await append(async (sql) => {
      const known = await sql.selectFrom('journal').select('id').where('idempotency_key', 'is', null).execute();
      await removeNotes(
        sql,
        known.map(({ id }) => id).filter((id) => answered.has(id)),
      );
      // Nobody could be answered while the service was away.
      const lost = sql.updateTable('journal').set({ since: now() }).where('idempotency_key', 'is', null);
      await lost.where('state', '=', 'committed').execute();
      return readUnresolved(sql);
    });
    for (const write of unresolved) this.#doubts.set(write.id, turnPlace(write));
    this.#noteLost();
    return unresolved;
  }

  async settle(landed: readonly LandedWrite[], failed: readonly string[]): Promise<void> {
    const { append, now } = this.#context;
    await append(async (sql) => {
      for (const { write, version } of landed) await landWrite(sql, write, { version, committedAt: now() });
      await removeNotes(sql, failed);
    });
    for (const id of [...landed.map(({ write }) => write.id), ...failed]) this.#doubts.delete(id);
    this.#noteLost();
  }

  async find(mark: RequestMark): Promise<PriorAnswer | undefined> {
    if (mark.key === undefined && !this.#mayBeLost()) return undefined;
    return this.#context.read(async (sql) => {
      const row = await this.#findPrior(sql, mark);
      return row === undefined || row.state === 'begun' ? undefined : toPriorAnswer(row);
    });
  }

  async begin(write: BegunWrite): Promise<PriorAnswer | undefined> {
    this.#taken.add(write.id);
    try {
      const prior = await this.#begins.run(write);
      if (prior !== undefined) this.#taken.delete(write.id);
      return prior;
    } catch (error) {
      // The note may be there all the same, when it was the commit that failed.
      this.fail(write.id);
      throw error;
    }
  }

  async land(id: string, version: number): Promise<string | undefined> {
    const { append, now } = this.#context;
    return append(async (sql) => {
      const write = (await readUnresolved(sql)).find((each) => each.id === id);
      return write === undefined ? undefined : landWrite(sql, write, { version, committedAt: now() });
    });
  }

  fail(id: string): void {
    this.#needless.add(id);
    // The next write would take it along, but it may be one that is not noted.
    setImmediate(() => {
      if (this.#needless.has(id)) this.#removeNeedless();
    });
  }

  answer(id: string, { key, digest }: RequestMark): GoingAnswer {
    // One with a key is kept for whoever comes with it again.
    if (key !== undefined) return { sent: () => this.#taken.delete(id), lost: () => this.#taken.delete(id) };
    const going = this.#answers?.send({ id, digest });
    return {
      sent: () => {
        going?.sent();
        this.#needless.add(id);
        if (this.#needless.size % NEEDLESS_MAX === 0) this.#removeNeedless();
      },
      lost: () => {
        going?.lost();
        this.#needless.delete(id);
        this.leave(id);
      },
    };
  }

  leave(id: string): void {
    this.#taken.delete(id);
    this.#noteLost();
  }

  async close(): Promise<void> {
    const needless = [...this.#needless];
    // Those that stay are found in the marks.
    if (needless.length > 0) await this.#context.append(async (sql) => removeNotes(sql, needless)).catch(() => {});
    this.#answers?.close();
    this.#answers = undefined;
  }

  async #beginAll(writes: readonly BegunWrite[]): Promise<readonly (PriorAnswer | undefined)[]> {
    const { append, now } = this.#context;
    const isPruned = (this.#begun += writes.length) >= PRUNED_EVERY;
    if (isPruned) this.#begun = 0;
    const found = new Set<string>();
    const forgetFound = (): void => {
      for (const id of found) this.#taken.delete(id);
      found.clear();
    };
    let removed: readonly string[] = [];
    const bounded: string[] = [];
    try {
      const answers = await append(async (sql) => {
        // It may run again, after another process's lock.
        forgetFound();
        removed = [...this.#needless];
        await removeNotes(sql, removed);
        if (isPruned) await pruneJournal(sql, this.#limits, now());
        const priors: (PriorAnswer | undefined)[] = [];
        for (const write of writes) {
          const doubtful = this.#findDoubts(write);
          if (doubtful.length > 0) await boundWrites(sql, doubtful, write.versionBefore);
          bounded.push(...doubtful);
          const row = await this.#findPrior(sql, write);
          if (row?.state === 'begun') throw notKnownYet();
          if (row === undefined) await noteWrite(sql, write, now());
          else found.add(row.id);
          priors.push(row === undefined ? undefined : toPriorAnswer(row));
        }
        return priors;
      });
      this.#forget(removed);
      for (const id of bounded) this.#doubts.delete(id);
      return answers;
    } catch (error) {
      forgetFound();
      throw error;
    }
  }

  async #findPrior(sql: Sql, mark: RequestMark): Promise<JournalRow | undefined> {
    if (mark.key !== undefined) return this.#findByKey(sql, mark, mark.key);
    return this.#mayBeLost() ? this.#findSame(sql, mark) : undefined;
  }

  /** A key means the same request for as long as it is kept, whether its answer arrived or not. */
  async #findByKey(sql: Sql, mark: RequestMark, key: string): Promise<JournalRow | undefined> {
    const row = await sql
      .selectFrom('journal')
      .selectAll()
      .where('caller', '=', mark.caller)
      .where('idempotency_key', '=', key)
      .where('since', '>=', this.#context.now() - this.#limits.keySeconds * 1000)
      .orderBy('since', 'desc')
      .limit(1)
      .executeTakeFirst();
    if (row === undefined || this.#needless.has(row.id)) return undefined;
    if (row.digest !== mark.digest) throw keyOfAnother();
    return row;
  }

  /** Without a key, a request is the same as one like it only while that one has no answer. Each answers one request. */
  async #findSame(sql: Sql, { digest }: RequestMark): Promise<JournalRow | undefined> {
    const rows = await sql
      .selectFrom('journal')
      .selectAll()
      .where('digest', '=', digest)
      .where('idempotency_key', 'is', null)
      .where('since', '>=', this.#context.now() - this.#limits.windowSeconds * 1000)
      .orderBy('since')
      .execute();
    const row = rows.find(({ id }) => !this.#taken.has(id));
    if (row?.state === 'committed') this.#taken.add(row.id);
    return row;
  }

  #findDoubts(write: BegunWrite): readonly string[] {
    if (this.#doubts.size === 0) return [];
    const place = turnPlace(write);
    return [...this.#doubts].filter(([, each]) => each === place).map(([id]) => id);
  }

  #removeNeedless(): void {
    const removed = [...this.#needless];
    this.#context
      .append(async (sql) => removeNotes(sql, removed))
      .then(
        () => this.#forget(removed),
        // They stay for the next write to take along.
        () => {},
      );
  }

  #forget(removed: readonly string[]): void {
    for (const id of removed) {
      if (this.#needless.delete(id)) this.#taken.delete(id);
    }
  }

  #noteLost(): void {
    this.#lostUntil = this.#context.now() + this.#limits.windowSeconds * 1000;
  }

  #mayBeLost(): boolean {
    return this.#context.now() <= this.#lostUntil;
  }
}

/** Well below the number of values that a statement takes. */
const REMOVED_AT_ONCE = 1000;

async function removeNotes(sql: Sql, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += REMOVED_AT_ONCE) {
    await sql
      .deleteFrom('journal')
      .where('id', 'in', ids.slice(at, at + REMOVED_AT_ONCE))
      .execute();
  }
}

function keyOfAnother(): ServiceError {
  return new ServiceError('InvalidInput', 'The Idempotency-Key was used for another request.', {
    hint: 'Use a new key for each request, and the same one only to send that request again.',
  });
}

function notKnownYet(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'Whether the same request was carried out before is not known yet.', {
    hint: 'Send it again later; the service finds out when it is next started.',
    retryAfterSeconds: 5,
  });
}
