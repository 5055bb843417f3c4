import type { Catalog, JournalEntry, NewCommit, NewEntry } from '../../catalog/catalog.ts';
import type { Engine, WriteTarget } from '../../engine/engine.ts';
import type { TableRecord } from '../../model/table.ts';
import type { Storages } from '../../storage/storages.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { findCommit, rebuildFields } from './verify.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { branchNameOf, readExpectation } from '../journal-entries.ts';
import type { JournaledWrite } from '../journal-entries.ts';
import { notUndoneYet } from '../refusals.ts';
import { UndoCommits } from './undo-commits.ts';
import type { Verdict } from './verify.ts';
import type { WriteQueues } from '../queue/write-queues.ts';

export interface DoubtParts {
  readonly catalog: Pick<Catalog, 'journal' | 'tables'>;
  readonly engine: Engine;
  readonly storages: Storages;
  readonly queues: WriteQueues;
  readonly idempotency: Idempotency;
  readonly telemetry: Telemetry;
}

type DoubtfulEntry = Pick<NewEntry, 'id' | 'tableId' | 'branch' | 'digest' | 'key' | 'expected'>;

interface Doubt {
  readonly entry: DoubtfulEntry;
  /** Begun by this process. */
  readonly isOwn: boolean;
  /** A later write has begun on its branch: commits from then on are not its own. */
  isBounded: boolean;
}

const RETRY_MILLISECONDS_MIN = 200;
const RETRY_MILLISECONDS_MAX = 10_000;

/** Writes of which it is not known whether they were committed, or that are committed and not recorded. */
export class InDoubtWrites {
  readonly #parts: DoubtParts;
  readonly #doubts = new Map<string, Doubt>();
  readonly #inFlight = new Map<string, Pick<Doubt, 'entry' | 'isBounded'>>();
  #timer: NodeJS.Timeout | undefined;
  #waitMilliseconds = RETRY_MILLISECONDS_MIN;
  #isClosed = false;
  /** One loop at a time: what another has ended must not be ended again. */
  #isResolving = false;

  constructor(parts: DoubtParts) {
    this.#parts = parts;
  }

  /** They are looked for in the background until they are resolved. */
  add(entries: readonly DoubtfulEntry[], isOwn = true): void {
    for (const entry of entries) {
      const isBounded = this.#inFlight.get(entry.id)?.isBounded === true;
      this.#inFlight.delete(entry.id);
      this.#doubts.set(entry.id, { entry, isOwn, isBounded });
      this.#parts.idempotency.addDoubt(entry);
    }
    this.#retryLater();
  }

  /** Refuses while a write of several commits has yet to be undone: what is committed now would be undone with it. */
  requireUndone({ table, branch }: Pick<JournaledWrite, 'table' | 'branch'>): void {
    if (this.#doubts.size === 0) return;
    const name = branchNameOf({ tableId: table.id, branch });
    for (const { entry } of this.#doubts.values()) {
      if (branchNameOf(entry) === name && readExpectation(entry).isMultiCommit === true) throw notUndoneYet();
    }
  }

  /** Entries of the branch that the next begin must bound. */
  unboundedOf({ table, branch }: Pick<JournaledWrite, 'table' | 'branch'>): readonly string[] {
    if (this.#doubts.size === 0 && this.#inFlight.size === 0) return [];
    const name = branchNameOf({ tableId: table.id, branch });
    return [...this.#doubts.values(), ...this.#inFlight.values()]
      .filter(({ entry, isBounded }) => !isBounded && branchNameOf(entry) === name)
      .map(({ entry }) => entry.id);
  }

  bounded(ids: readonly string[]): void {
    for (const id of ids) {
      const entry = this.#doubts.get(id) ?? this.#inFlight.get(id);
      if (entry !== undefined) entry.isBounded = true;
    }
  }

  /** They are committed and not recorded yet. The next write begins meanwhile: what it commits must not be taken for theirs. */
  track(entries: readonly DoubtfulEntry[]): void {
    for (const entry of entries) this.#inFlight.set(entry.id, { entry, isBounded: false });
  }

  untrack(entries: readonly DoubtfulEntry[]): void {
    for (const { id } of entries) this.#inFlight.delete(id);
  }

  /** Of what the process before this one left pending. What cannot be resolved now is tried again later; gives why. */
  async resolvePending(): Promise<readonly unknown[]> {
    const pending = await this.#parts.catalog.journal.pending();
    this.#isResolving = true;
    this.add(pending, false);
    try {
      return await this.#resolveAll(pending);
    } finally {
      this.#isResolving = false;
      this.#retryLater();
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #retryLater(): void {
    if (this.#isClosed || this.#isResolving || this.#timer !== undefined || this.#doubts.size === 0) return;
    this.#timer = setTimeout(() => void this.#retry(), this.#waitMilliseconds).unref();
  }

  async #retry(): Promise<void> {
    try {
      const pending = await this.#parts.catalog.journal.pending();
      await this.#endAllBut(pending);
      await this.#resolveAll(pending.filter(({ id }) => this.#doubts.has(id)));
    } catch (error) {
      this.#report(error);
    }
    this.#timer = undefined;
    const { size } = this.#doubts;
    this.#waitMilliseconds =
      size === 0 ? RETRY_MILLISECONDS_MIN : Math.min(2 * this.#waitMilliseconds, RETRY_MILLISECONDS_MAX);
    this.#retryLater();
  }

  async #resolveAll(pending: readonly JournalEntry[]): Promise<readonly unknown[]> {
    const failures: unknown[] = [];
    for (const entries of byBranch(pending)) {
      try {
        await this.#resolveBranch(entries);
      } catch (error) {
        failures.push(error);
        this.#report(error);
      }
    }
    return failures;
  }

  /** In the table's queue, where no other write commits meanwhile. */
  async #resolveBranch(entries: readonly [JournalEntry, ...JournalEntry[]]): Promise<void> {
    const { catalog, queues } = this.#parts;
    const table = await catalog.tables.findById(entries[0].tableId);
    if (table === undefined) {
      await this.#end(entries, []);
      return;
    }
    await queues.run(table.location, async () => {
      const committed: { entry: JournalEntry; verdict: Committed }[] = [];
      const ended: JournalEntry[] = [];
      for (const entry of entries) {
        // It may have been ended while this waited for the queue.
        if ((await catalog.journal.find(entry.id))?.state !== 'pending') continue;
        const verdict = await this.#judge(table, entry, entries);
        if (verdict.kind === 'unknown') continue;
        ended.push(entry);
        if (verdict.kind === 'committed') committed.push({ entry, verdict });
      }
      if (committed.length > 0) {
        const since = Math.min(...committed.map(({ entry }) => entry.since));
        await this.#parts.storages.of(table.location.root).syncSince(table.location, since);
      }
      await this.#end(
        ended,
        committed.map(({ entry, verdict }) => toRecovered(table, entry, verdict)),
      );
    });
  }

  async #judge(table: TableRecord, entry: JournalEntry, entries: readonly JournalEntry[]): Promise<Verdict> {
    const target = { location: table.location, branch: entry.branch };
    if (readExpectation(entry).isMultiCommit === true) {
      const { engine, storages, catalog } = this.#parts;
      await new UndoCommits({ engine, storages, journal: catalog.journal }, table, entry).run();
      return { kind: 'not-committed' };
    }
    // The rows of a table that is made by the write were never published.
    if (entry.baseVersion === 0 && table.isDeclared === true) return { kind: 'not-committed' };
    const next = entries.find(({ baseVersion }) => baseVersion > entry.baseVersion)?.baseVersion;
    const boundVersion = Math.min(next ?? Infinity, entry.boundVersion ?? Infinity);
    const verdict = await findCommit(this.#parts, target, { ...entry, boundVersion });
    return verdict.kind === 'committed' ? this.#requireIntact(target, entry, verdict) : verdict;
  }

  /** A commit whose files were cut short or lost is taken back, unless others have followed it. */
  async #requireIntact(target: WriteTarget, { since }: JournalEntry, verdict: Committed): Promise<Verdict> {
    const { engine, storages } = this.#parts;
    const { version } = verdict.commit;
    const storage = storages.of(target.location.root);
    const inspected = storage.inspectCommit(target.location, target.branch, version);
    if (inspected?.isIntact !== false) return verdict;
    if ((await engine.findLatestVersion(target)) !== version) return { kind: 'unknown' };
    await engine.restoreVersion(target, version - 1);
    await storage.syncSince(target.location, since);
    return { kind: 'not-committed' };
  }

  async #end(entries: readonly JournalEntry[], commits: readonly NewCommit[]): Promise<void> {
    const { catalog } = this.#parts;
    if (commits.length > 0) await catalog.journal.record(commits, true);
    const recorded = new Set(commits.map(({ entry }) => entry?.id));
    const failed = entries.filter(({ id }) => !recorded.has(id));
    await catalog.journal.remove(failed.map(({ id }) => id));
    for (const { id } of entries) await this.#endDoubt(id);
  }

  /** The transaction that ended the others was committed, and its reply lost. */
  async #endAllBut(pending: readonly JournalEntry[]): Promise<void> {
    const pendingIds = new Set(pending.map(({ id }) => id));
    for (const id of this.#doubts.keys()) if (!pendingIds.has(id)) await this.#endDoubt(id);
  }

  async #endDoubt(id: string): Promise<void> {
    const entry = await this.#parts.catalog.journal.find(id);
    if (entry?.state === 'pending') return;
    const isOwn = this.#doubts.get(id)?.isOwn === true;
    this.#doubts.delete(id);
    this.#parts.idempotency.endDoubt(id, entry, isOwn);
  }

  #report(cause: unknown): void {
    this.#parts.telemetry.emit({ kind: 'background-failed', task: 'resolving writes in doubt', cause });
  }
}

type Committed = Extract<Verdict, { kind: 'committed' }>;

/** In the order in which they began. */
function byBranch(entries: readonly JournalEntry[]): readonly [JournalEntry, ...JournalEntry[]][] {
  const groups = new Map<string, [JournalEntry, ...JournalEntry[]]>();
  for (const entry of entries) {
    const group = groups.get(branchNameOf(entry));
    if (group === undefined) groups.set(branchNameOf(entry), [entry]);
    else group.push(entry);
  }
  return [...groups.values()];
}

function toRecovered(table: TableRecord, entry: JournalEntry, { commit, rowsBefore }: Committed): NewCommit {
  const { operation, caller, requestId, branch } = entry;
  const { rule, recordedAs = operation, properties } = readExpectation(entry);
  return {
    table,
    properties,
    commit: {
      operation: recordedAs,
      caller,
      requestId,
      version: commit.version,
      ...(branch === undefined ? {} : { branch }),
    },
    entry: { id: entry.id, epoch: entry.epoch, outcome: JSON.stringify(rebuildFields(rule, commit, rowsBefore)) },
  };
}
