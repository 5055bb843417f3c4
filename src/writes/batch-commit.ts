import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchChanges, Catalog, NewBatch, NewCommit, NewEntry, RecordedBatch } from '../catalog/catalog.ts';
import type { PublishedManifest, SubmittedPlan, VersionRange } from '../engine/engine.ts';
import { NotOwner, ServiceError } from '../errors/service-error.ts';
import type { TableLocation, TableRecord } from '../model/table.ts';
import type { SyncScope } from '../storage/storage.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { removeVersions } from './background-work.ts';
import { readExpectation, toCommit, toEntry, toReplayed } from './journal-entries.ts';
import { prepareUndo } from './recovery/undo-commits.ts';
import { inDoubt, isClearRefusal, refuse, requireNoView } from './refusals.ts';
import type { FailedWrite, Fields, JournaledWrite, SucceededWrite, WriteRequest, WriteResult } from './write.ts';
import { beginEntries, noteLostLease, runReplayable } from './shared-steps.ts';
import type { PipelineParts } from './shared-steps.ts';

/** A version of an external writer, for one table of a batch. */
export interface BatchedVersion {
  readonly table: TableRecord;
  /** The main branch if absent. */
  readonly branch: string | undefined;
  readonly plan: SubmittedPlan;
  readonly versionMetadata?: JournaledWrite['versionMetadata'];
}

/** Versions of one table that a batch deletes. */
export interface BatchedDeletion {
  readonly table: TableRecord;
  /** The main branch if absent. */
  readonly branch: string | undefined;
  readonly ranges: readonly VersionRange[];
}

/** Changes of several tables. A table is listed once, except that it may get a version and lose others. */
export interface BatchWrite extends BatchChanges {
  readonly request: WriteRequest;
  readonly versions: readonly BatchedVersion[];
  readonly deletions: readonly BatchedDeletion[];
  readonly toFields: (published: readonly PublishedManifest[], recorded: RecordedBatch) => Fields;
}

type NewDeletion = NewBatch['deletions'][number];

interface Member {
  readonly version: BatchedVersion;
  readonly entry: NewEntry;
  readonly scope: SyncScope;
}

/** A batch that is ready to be recorded. */
interface ReadyBatch {
  readonly id: string;
  readonly published: readonly PublishedManifest[];
  readonly deletions: readonly NewDeletion[];
}

interface FailedBatch {
  readonly members: readonly Member[];
  readonly unclear: readonly Member[];
}

interface BatchParts extends PipelineParts {
  readonly batches: Catalog['batches'];
  readonly telemetry: Telemetry;
}

const ATTEMPTS_MAX = 10;
const ATTEMPT_PAUSE_MILLISECONDS = 50;
/** How long a refused batch waits for the same batch on another node. */
const REPLAY_MILLISECONDS = 10_000;
const REPLAY_PAUSE_MILLISECONDS = 20;
const UNDO_MILLISECONDS_MIN = 100;
const UNDO_MILLISECONDS_MAX = 5000;

/**
 * Commits versions of several tables, which become visible together. From `begin` to `record`, the catalog pins readers
 * of each table to its base version. Either the single transaction of `record` publishes everything, or each table is
 * restored to its base version, by this process or a successor, before any reader sees a change. The same transaction
 * deletes versions by listing their manifests for removal.
 */
export class BatchCommits {
  readonly #parts: BatchParts;

  constructor(parts: BatchParts) {
    this.#parts = parts;
  }

  /** `prepare` reads and checks the batch. It is not called for a replay, whose tables may be gone. */
  async run(request: WriteRequest, prepare: () => Promise<BatchWrite>): Promise<WriteResult> {
    return runReplayable(this.#parts, { request }, async () => {
      const result = await this.#enqueue(prepare).catch(refuse);
      return result.kind === 'refused' ? this.#replayOr(result, request) : result;
    });
  }

  async #enqueue(prepare: () => Promise<BatchWrite>): Promise<WriteResult> {
    const batch = await prepare();
    for (const { table } of batch.versions) requireNoView({ table });
    const versions = batch.versions.toSorted(byTable);
    const tables = new Map([...batch.versions, ...batch.deletions].map(({ table }) => [table.id, table]));
    const locations = [...tables.values()].toSorted(byId).map(({ location }) => location);
    return this.#inQueues(batch, locations, async () => {
      const result = await this.#commit(batch, versions);
      if (result.kind === 'committed') await this.#removeVersions(batch);
      return result;
    });
  }

  /**
   * The refusal may be caused by the batch itself: another node may have applied it since step 1, and not recorded it
   * yet.
   */
  async #replayOr(refused: FailedWrite, request: WriteRequest): Promise<WriteResult> {
    if (request.key === undefined) return refused;
    const giveUpAt = performance.now() + REPLAY_MILLISECONDS;
    while (
      (await this.#parts.journal.pending()).some((entry) => readExpectation(entry).batchDigest === request.digest())
    ) {
      if (performance.now() > giveUpAt) return refuse(new NotOwner());
      await sleep(REPLAY_PAUSE_MILLISECONDS);
    }
    return (await this.#findReplay(request)) ?? refused;
  }

  /** Step 1 again, for requests with a key: identical requests wait for each other only within one process. */
  async #findReplay(request: WriteRequest): Promise<SucceededWrite | undefined> {
    return request.key === undefined ? undefined : this.#parts.idempotency.findReplay(request);
  }

  /** Enters the queues in the order of table ids, so that batches that share tables cannot deadlock. */
  async #inQueues(
    batch: BatchWrite,
    [first, ...others]: readonly TableLocation[],
    work: () => Promise<WriteResult>,
  ): Promise<WriteResult> {
    if (first === undefined) return work();
    const { caller } = batch.request;
    const next = async (): Promise<WriteResult> => this.#inQueues(batch, others, work);
    return this.#parts.queues.run(first, next, { caller });
  }

  /**
   * Until it begins, a batch on another node may claim its tables; each then claims them again, after a random delay.
   */
  async #commit(batch: BatchWrite, versions: readonly BatchedVersion[]): Promise<WriteResult> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const result = await this.#commitOnce(batch, versions);
      if (result !== undefined) return result;
      await sleep(Math.random() * ATTEMPT_PAUSE_MILLISECONDS * attempt);
    }
    return refuse(new NotOwner());
  }

  /** `undefined`: another node has taken a table; nothing was changed. */
  async #commitOnce(batch: BatchWrite, versions: readonly BatchedVersion[]): Promise<WriteResult | undefined> {
    const { onStep } = this.#parts;
    const members: Member[] = [];
    const deletions: NewDeletion[] = [];
    try {
      await onStep('own');
      for (const deletion of batch.deletions) {
        await this.#checkElsewhere(deletion, async () => this.#findRemovable(deletion));
      }
      for (const version of versions) await this.#checkElsewhere(version, async () => this.#findBase(version));
      for (const deletion of batch.deletions) deletions.push(await this.#prepareDeletion(deletion));
      for (const version of versions) members.push(await this.#prepare(batch, version));
      return (await this.#findReplay(batch.request)) ?? (await this.#commitPrepared(batch, members, deletions));
    } catch (error) {
      return refuse(error);
    } finally {
      for (const { scope } of members) scope.end();
    }
  }

  async #commitPrepared(
    batch: BatchWrite,
    members: readonly Member[],
    deletions: readonly NewDeletion[],
  ): Promise<WriteResult | undefined> {
    const { onStep } = this.#parts;
    const id = randomUUID();
    const unclear: Member[] = [];
    try {
      await this.#begin(members);
      const published = await this.#publish(members, unclear);
      for (const { scope } of members) {
        await onStep('sync');
        await scope.sync();
      }
      return await this.#record(batch, members, { id, published, deletions });
    } catch (error) {
      for (const write of [...members.map(({ version }) => version), ...deletions])
        noteLostLease(this.#parts, write, error);
      const result = await this.#undo({ members, unclear }, id);
      return result ?? (error instanceof NotOwner ? undefined : refuse(error));
    }
  }

  /**
   * A batch that will be refused takes no table from its owner, which may hold uploads for it. A refusal caused by a
   * write that may still be undone does not count yet: the claim waits until that write has ended.
   */
  async #checkElsewhere({ table }: Pick<BatchedVersion, 'table'>, check: () => Promise<unknown>): Promise<void> {
    const { coordination, journal } = this.#parts;
    try {
      await coordination.own(table);
    } catch (error) {
      if (!(error instanceof NotOwner)) throw error;
      await check().catch(async (refusal: unknown) => {
        const pending = await journal.pending(table.id);
        if (!pending.some((entry) => readExpectation(entry).isMultiCommit === true)) throw refusal;
      });
    }
  }

  async #prepare({ request }: BatchWrite, version: BatchedVersion): Promise<Member> {
    const { storages, coordination, inDoubtWrites } = this.#parts;
    const { table, branch, plan } = version;
    await coordination.claim(table);
    const { epoch } = await inDoubtWrites.own(table);
    inDoubtWrites.requireUndone(version);
    const storage = storages.of(table.location.root);
    await storage.requireRoot();
    const { baseVersion, transactionId } = await this.#findBase(version);
    // The key belongs to the entry of the whole batch, which `record` writes.
    const write = { request: { ...request, key: undefined }, table, branch, recordedAs: RECORDED_AS };
    const facts = { kinds: plan.kinds, transactionId, batchDigest: request.digest() };
    const expected = { ...facts, isMultiCommit: true, rule: { from: 'nothing' } } as const;
    const entry = toEntry(write, { baseVersion, epoch, generation: undefined, expected });
    // Last, after everything that may refuse, because a scope must be ended.
    const scope = await storage.beginSync(table.location);
    return { version, entry: { ...entry, digest: entry.id }, scope };
  }

  async #findBase(version: BatchedVersion) {
    const baseVersion = (await this.#parts.engine.findLatestVersion(toTarget(version))) ?? 0;
    const { transactionId } = await version.plan.prepare({ version: async () => baseVersion, forget: () => {} });
    return { baseVersion, transactionId };
  }

  async #prepareDeletion(deletion: BatchedDeletion): Promise<NewDeletion> {
    const { coordination, inDoubtWrites } = this.#parts;
    const { table, branch } = deletion;
    await coordination.claim(table);
    const { epoch } = await inDoubtWrites.own(table);
    inDoubtWrites.requireUndone({ table, branch });
    return { table, branch, epoch, ...(await this.#findRemovable(deletion)) };
  }

  /** Refuses versions that cannot be deleted. Versions that the same batch commits make no difference. */
  async #findRemovable(deletion: BatchedDeletion) {
    return this.#parts.engine.versions.findRemovable(toTarget(deletion), deletion.ranges);
  }

  /** The deletion is committed; failures here are retried later. */
  async #removeVersions({ deletions }: BatchWrite): Promise<void> {
    const { batches, coordination, journal, telemetry } = this.#parts;
    const removals = await batches.listRemovals(deletions.map(({ table }) => table.id)).catch(() => []);
    for (const { table } of deletions) {
      const own = removals.filter(({ tableId }) => tableId === table.id);
      try {
        const { epoch } = await coordination.own(table);
        await journal.requireOwner(table.id, epoch);
        await removeVersions(this.#parts, table, own);
      } catch (cause) {
        telemetry.emit({ kind: 'background-failed', task: 'removal of deleted versions', cause });
      }
    }
  }

  /** From here on, readers get the base versions. */
  async #begin(members: readonly Member[]): Promise<void> {
    const { engine, onStep } = this.#parts;
    await onStep('begin');
    const [first, ...others] = members.map(({ entry }) => entry);
    if (first === undefined) return;
    await beginEntries(
      this.#parts,
      members.map(({ version }) => version),
      [first, ...others],
    );
    for (const { version, entry } of members) await engine.holdReaders(toTarget(version), entry.baseVersion);
  }

  /** `unclear` collects members whose version may exist, or may still arrive. */
  async #publish(members: readonly Member[], unclear: Member[]): Promise<readonly PublishedManifest[]> {
    const { journal, onStep } = this.#parts;
    const published: PublishedManifest[] = [];
    for (const member of members) {
      const { version, entry } = member;
      await onStep('commit');
      await journal.requireOwner(entry.tableId, entry.epoch);
      try {
        published.push(await version.plan.publish());
      } catch (error) {
        if (!isClearRefusal(error)) unclear.push(member);
        throw error;
      }
    }
    return published;
  }

  async #record(
    batch: BatchWrite,
    members: readonly Member[],
    { id, published, deletions }: ReadyBatch,
  ): Promise<SucceededWrite> {
    const { batches, responses, onStep } = this.#parts;
    const { request, versions, databaseId, declarations, deregistrations, toFields } = batch;
    await onStep('record');
    const manifests = new Map(members.map(({ version }, index) => [version.table.id, published[index]]));
    const inOrder = versions.flatMap(({ table }) => manifests.get(table.id) ?? []);
    const generation = request.key === undefined ? responses.startMarks() : undefined;
    let fields: Fields = {};
    const recorded = await batches.record({
      databaseId,
      declarations,
      deregistrations,
      deletions,
      commits: versions.flatMap(({ table }) =>
        members.filter(({ entry }) => entry.tableId === table.id).map(toNewCommit),
      ),
      entry: { caller: request.caller, requestId: request.requestId },
      complete: (each) => {
        fields = toFields(inOrder, each);
        return { id, key: request.key, digest: request.digest(), generation, outcome: JSON.stringify(fields) };
      },
    });
    await this.#show(members);
    const transactionId = recorded.commits[0]?.transactionId;
    const response = { id, key: request.key };
    return { kind: 'committed', version: 0, transactionId, properties: undefined, fields, response };

    function toNewCommit({ version: { table, branch, versionMetadata }, entry }: Member): NewCommit {
      const write = { request, table, branch, recordedAs: RECORDED_AS, versionMetadata };
      return toCommit(write, entry, manifests.get(table.id)?.version ?? 0, {});
    }
  }

  /** Publishes all tables together: a reader that sees one new version sees all of them. */
  async #show(members: readonly Member[]): Promise<void> {
    const { engine, responses, onCommit } = this.#parts;
    for (const { version } of members) engine.releaseReaders(toTarget(version));
    responses.abort(members.map(({ entry }) => entry.id));
    for (const { version } of members) {
      void version.plan.discard();
      await onCommit(version.table, { isAppend: false, mayChangeIndexes: true });
    }
  }

  /**
   * Returns a result only if the batch was recorded after all, or is in doubt; `undefined` if everything was undone.
   */
  async #undo({ members, unclear }: FailedBatch, id: string): Promise<WriteResult | undefined> {
    const { journal, inDoubtWrites, engine, fences } = this.#parts;
    const undos = members.map(({ version, entry }) => prepareUndo(this.#parts, version.table, entry));
    let cause: unknown;
    for (let milliseconds = UNDO_MILLISECONDS_MIN; milliseconds <= UNDO_MILLISECONDS_MAX; milliseconds *= 2) {
      try {
        // The transaction that records the batch may have been committed although its reply was lost.
        const kept = await journal.find(id);
        if (kept !== undefined) {
          await this.#show(members);
          return { ...toReplayed(kept), kind: 'committed' };
        }
        // A version still on its way to an object store must not arrive after the base version was restored.
        for (const { version, entry } of unclear) await fences.fence(toTarget(version), entry).catch(ignoreMissing);
        for (const undo of undos) await undo().catch(ignoreMissing);
        return undefined;
      } catch (error) {
        cause = error;
        if (error instanceof NotOwner) break;
        await sleep(milliseconds, undefined, { ref: false });
      }
    }
    // Undone in the background, or by the new owners; until then the catalog pins the readers.
    for (const { version } of members) engine.releaseReaders(toTarget(version));
    inDoubtWrites.add(members.map(({ entry }) => entry));
    return { kind: 'in-doubt', error: inDoubt(cause) };
  }
}

const RECORDED_AS = 'create_table_version';

function byTable(one: Pick<BatchedVersion, 'table'>, other: Pick<BatchedVersion, 'table'>): number {
  return byId(one.table, other.table);
}

function byId(one: Pick<TableRecord, 'id'>, other: Pick<TableRecord, 'id'>): number {
  return one.id < other.id ? -1 : 1;
}

function toTarget({ table, branch }: Pick<BatchedVersion, 'table' | 'branch'>) {
  return { location: table.location, branch };
}

function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.kind !== 'TableNotFound') throw error;
  return undefined;
}
