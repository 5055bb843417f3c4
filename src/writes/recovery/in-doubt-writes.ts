import type { Catalog, JournalEntry, NewCommit, NewEntry } from '../../catalog/catalog.ts';
import type { WriteTarget } from '../../engine/engine.ts';
import { NotOwner } from '../../errors/service-error.ts';
import type { TableRecord } from '../../model/table.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { Coordination, Ownership } from '../../coordination/coordination.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { branchNameOf, readExpectation } from '../journal-entries.ts';
import type { WriteQueues } from '../queue/write-queues.ts';
import { notUndoneYet } from '../refusals.ts';
import type { JournaledWrite } from '../write.ts';
import { prepareUndo } from './undo-commits.ts';
import type { UndoParts } from './undo-commits.ts';
import { findFault, findOrFenceCommit, passesFences, rebuildFields } from './verify.ts';
import type { FoundCommit, Verdict } from './verify.ts';

export interface InDoubtParts extends UndoParts {
  readonly tables: Catalog['tables'];
  readonly queues: WriteQueues;
  readonly coordination: Coordination;
  readonly idempotency: Idempotency;
  readonly telemetry: Telemetry;
}

type InDoubtEntry = Pick<NewEntry, 'id' | 'tableId' | 'branch' | 'digest' | 'key' | 'expected'>;

interface Tracked {
  readonly entry: InDoubtEntry;
  /** A later write has begun on the branch: commits from then on do not belong to this one. */
  isBounded: boolean;
}

interface InDoubtWrite extends Tracked {
  /** Begun by this process. */
  readonly isOwn: boolean;
}

type Branch = Pick<JournaledWrite, 'table' | 'branch'>;

const RETRY_MILLISECONDS_MIN = 200;
const RETRY_MILLISECONDS_MAX = 10_000;

/** Writes that may have been committed, or that are committed but not recorded (invariant 11). */
export class InDoubtWrites {
  readonly #parts: InDoubtParts;
  readonly #inDoubt = new Map<string, InDoubtWrite>();
  /** Committed, and about to be recorded. */
  readonly #tracked = new Map<string, Tracked>();
  #timer: NodeJS.Timeout | undefined;
  #waitMilliseconds = RETRY_MILLISECONDS_MIN;
  #isClosed = false;
  /** One loop at a time: no write may be resolved twice. */
  #isResolving = false;
  #takeovers = 0;

  constructor(parts: InDoubtParts) {
    this.#parts = parts;
  }

  /** Takeovers of tables with pending writes, which this node has resolved. */
  get takeovers(): number {
    return this.#takeovers;
  }

  /** Adds writes, to be verified in the background until they are resolved. */
  add(entries: readonly InDoubtEntry[], isOwn = true): void {
    for (const entry of entries) {
      const isBounded = this.#tracked.get(entry.id)?.isBounded === true;
      this.#tracked.delete(entry.id);
      this.#inDoubt.set(entry.id, { entry, isOwn, isBounded });
      this.#parts.idempotency.addInDoubt(entry);
    }
    this.#retryLater();
  }

  /** Refuses while a failed write of several commits is still to be undone: later commits would be undone with it. */
  requireUndone(branch: Branch): void {
    for (const { entry } of this.#listOf(branch, this.#inDoubt)) {
      if (readExpectation(entry).isMultiCommit === true) throw notUndoneYet();
    }
  }

  /** Entries of the branch that the next `begin` must bound. */
  unboundedOf(branch: Branch): readonly string[] {
    const all = [...this.#listOf(branch, this.#inDoubt), ...this.#listOf(branch, this.#tracked)];
    return all.filter(({ isBounded }) => !isBounded).map(({ entry }) => entry.id);
  }

  bounded(ids: readonly string[]): void {
    for (const id of ids) {
      const write = this.#inDoubt.get(id) ?? this.#tracked.get(id);
      if (write !== undefined) write.isBounded = true;
    }
  }

  /** The next write begins before these are recorded, and its commit must not be taken for theirs. */
  track(entries: readonly InDoubtEntry[]): void {
    for (const entry of entries) this.#tracked.set(entry.id, { entry, isBounded: false });
  }

  untrack(entries: readonly InDoubtEntry[]): void {
    for (const { id } of entries) this.#tracked.delete(id);
  }

  /** Resolves what the previous process left pending. What cannot be resolved now is retried; returns the failures. */
  async resolvePending(): Promise<readonly unknown[]> {
    const pending = await this.#parts.journal.pending();
    this.#isResolving = true;
    this.add(pending, false);
    try {
      return await this.#resolveAll(pending);
    } finally {
      this.#isResolving = false;
      this.#retryLater();
    }
  }

  /**
   * Returns the right to write to a table. After a change of owner, first resolves what earlier owners left pending.
   * Call it in the table's queue.
   */
  async own(table: TableRecord): Promise<Ownership> {
    const { coordination, journal } = this.#parts;
    const ownership = await coordination.own(table);
    if (!ownership.hasPending) return ownership;
    const pending = (await journal.pending(table.id)).filter(({ epoch }) => epoch < ownership.epoch);
    for (const entries of byBranch(pending)) await this.#resolveInQueue(table, entries, ownership);
    coordination.resolved(table.id, ownership.epoch);
    this.#takeovers += 1;
    return ownership;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #listOf<Write extends Tracked>({ table, branch }: Branch, writes: ReadonlyMap<string, Write>): readonly Write[] {
    if (writes.size === 0) return [];
    const name = branchNameOf({ tableId: table.id, branch });
    return [...writes.values()].filter(({ entry }) => branchNameOf(entry) === name);
  }

  #retryLater(): void {
    if (this.#isClosed || this.#isResolving || this.#timer !== undefined || this.#inDoubt.size === 0) return;
    this.#timer = setTimeout(() => void this.#retry(), this.#waitMilliseconds).unref();
  }

  async #retry(): Promise<void> {
    try {
      const pending = await this.#parts.journal.pending();
      const pendingIds = new Set(pending.map(({ id }) => id));
      // The transaction that ended the other entries was committed although its reply was lost.
      for (const id of this.#inDoubt.keys()) if (!pendingIds.has(id)) await this.#end(id);
      await this.#resolveAll(pending.filter(({ id }) => this.#inDoubt.has(id)));
    } catch (error) {
      this.#report(error);
    }
    this.#timer = undefined;
    const longer = Math.min(2 * this.#waitMilliseconds, RETRY_MILLISECONDS_MAX);
    this.#waitMilliseconds = this.#inDoubt.size === 0 ? RETRY_MILLISECONDS_MIN : longer;
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

  /** Call it in the table's queue, where no other write commits meanwhile. */
  async #resolveBranch(entries: readonly [JournalEntry, ...JournalEntry[]]): Promise<void> {
    const { tables, queues } = this.#parts;
    const table = await tables.findById(entries[0].tableId);
    if (table === undefined) {
      await this.#record(entries, []);
      return;
    }
    try {
      await queues.run(table.location, async () => {
        const ownership = await this.own(table);
        await this.#resolveInQueue(table, entries, ownership);
      });
    } catch (error) {
      if (!(error instanceof NotOwner)) throw error;
      // The new owner resolves them.
      for (const { id } of entries) this.#forget(id);
    }
  }

  async #resolveInQueue(
    table: TableRecord,
    entries: readonly [JournalEntry, ...JournalEntry[]],
    { epoch }: Ownership,
  ): Promise<void> {
    const { journal, storages } = this.#parts;
    const commits: NewCommit[] = [];
    const ended: JournalEntry[] = [];
    let since = Infinity;
    for (const entry of entries) {
      // It may have been resolved while this waited for the queue.
      if ((await journal.find(entry.id))?.state !== 'pending') continue;
      const verdict = await this.#judge(table, { ...entry, epoch }, entries);
      const mayStillArrive =
        verdict.kind === 'not-committed' && entry.epoch < epoch && (await this.#mayArrive(table, entry));
      if (verdict.kind === 'unknown' || mayStillArrive) {
        if (!this.#inDoubt.has(entry.id)) this.add([entry], false);
        continue;
      }
      ended.push(entry);
      if (verdict.kind !== 'committed') continue;
      commits.push(toRecovered(table, { ...entry, epoch }, verdict));
      since = Math.min(since, entry.since);
    }
    if (commits.length > 0) await storages.of(table.location.root).syncSince(table.location, since);
    await this.#record(ended, commits);
  }

  /** Whether a commit that no fence refuses may still arrive, because the former owner may still be running. */
  async #mayArrive(table: TableRecord, entry: JournalEntry): Promise<boolean> {
    const { kinds, transactionId } = readExpectation(entry);
    // The manifest of an external writer only follows its base version, so a fence refuses it.
    if (transactionId !== undefined || !passesFences(kinds)) return false;
    const { storages, coordination } = this.#parts;
    const { retentionSecondsMin } = storages.of(table.location.root);
    const isRecent = Date.now() - entry.since < retentionSecondsMin * 1000;
    return isRecent && coordination.mayPreviousHolderRun(table.id);
  }

  async #judge(table: TableRecord, entry: JournalEntry, entries: readonly JournalEntry[]): Promise<Verdict> {
    const target = { location: table.location, branch: entry.branch };
    if (readExpectation(entry).isMultiCommit === true) {
      // A late commit of a former owner must not follow the restored version.
      const isFirst = entry.baseVersion === 0 && readExpectation(entry).transactionId !== undefined;
      if (!isFirst) await this.#parts.fences.fence(target, entry);
      await prepareUndo(this.#parts, table, entry)();
      return { kind: 'not-committed' };
    }
    // The rows of a table that the write creates were never published.
    const isUnpublished = entry.baseVersion === 0 && table.isDeclared === true;
    if (isUnpublished && readExpectation(entry).transactionId === undefined) return { kind: 'not-committed' };
    const next = entries.find(({ baseVersion }) => baseVersion > entry.baseVersion)?.baseVersion;
    const boundVersion = Math.min(next ?? Infinity, entry.boundVersion ?? Infinity);
    const verdict = await findOrFenceCommit(this.#parts, target, { ...entry, boundVersion });
    return verdict.kind === 'committed' ? this.#requireIntact(target, entry, verdict) : verdict;
  }

  /** Reverts a commit with truncated or missing files, unless later commits follow it. */
  async #requireIntact(target: WriteTarget, { since }: JournalEntry, verdict: FoundCommit): Promise<Verdict> {
    const { engine, storages } = this.#parts;
    const { version } = verdict.commit;
    if ((await findFault(storages, target, { base: version - 1, version })) === undefined) return verdict;
    if ((await engine.findLatestVersion(target)) !== version) return { kind: 'unknown' };
    await engine.restoreVersion(target, version - 1, version);
    await storages.of(target.location.root).syncSince(target.location, since);
    return { kind: 'not-committed' };
  }

  /** Records the commits and removes the other entries. */
  async #record(entries: readonly JournalEntry[], commits: readonly NewCommit[]): Promise<void> {
    const { journal } = this.#parts;
    if (commits.length > 0) await journal.record(commits, true);
    const recorded = new Set(commits.map(({ entry }) => entry?.id));
    await journal.remove(entries.map(({ id }) => id).filter((id) => !recorded.has(id)));
    for (const { id } of entries) await this.#end(id);
  }

  async #end(id: string): Promise<void> {
    const entry = await this.#parts.journal.find(id);
    if (entry?.state === 'pending') return;
    const isOwn = this.#inDoubt.get(id)?.isOwn === true;
    this.#inDoubt.delete(id);
    // If another node has taken the table over, that node replays the result.
    const owner = entry && (await this.#parts.coordination.locate({ id: entry.tableId }));
    this.#parts.idempotency.endInDoubt(id, owner === undefined ? entry : undefined, isOwn);
  }

  #forget(id: string): void {
    this.#inDoubt.delete(id);
    this.#parts.idempotency.endInDoubt(id, undefined, false);
  }

  #report(cause: unknown): void {
    this.#parts.telemetry.emit({ kind: 'background-failed', task: 'resolving writes in doubt', cause });
  }
}

/** Groups by branch, in the order in which the entries began. */
function byBranch(entries: readonly JournalEntry[]): readonly [JournalEntry, ...JournalEntry[]][] {
  const groups = new Map<string, [JournalEntry, ...JournalEntry[]]>();
  for (const entry of entries) {
    const group = groups.get(branchNameOf(entry));
    if (group === undefined) groups.set(branchNameOf(entry), [entry]);
    else group.push(entry);
  }
  return [...groups.values()];
}

function toRecovered(table: TableRecord, entry: JournalEntry, { commit, rowsBefore }: FoundCommit): NewCommit {
  const { id, epoch, operation, caller, requestId, branch } = entry;
  const { version } = commit;
  const { rule, recordedAs = operation, properties, versionMetadata } = readExpectation(entry);
  return {
    table,
    properties,
    versionMetadata,
    commit: { operation: recordedAs, caller, requestId, version, ...(branch === undefined ? {} : { branch }) },
    epoch,
    entry: { id, outcome: JSON.stringify(rebuildFields(rule, commit, rowsBefore)) },
  };
}
