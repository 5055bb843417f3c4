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
import { beginEntries, noteLoss, runReplayable } from './shared-steps.ts';
import type { PipelineParts } from './shared-steps.ts';

/** The version of an external writer for one table of a batch. */
export interface BatchedVersion {
  readonly table: TableRecord;
  /** The main one when absent. */
  readonly branch: string | undefined;
  readonly plan: SubmittedPlan;
  readonly versionMetadata?: JournaledWrite['versionMetadata'];
}

/** Versions that one table of a batch loses. */
export interface BatchedDeletion {
  readonly table: TableRecord;
  /** The main one when absent. */
  readonly branch: string | undefined;
  readonly ranges: readonly VersionRange[];
}

/** Changes of several tables. No table is in it twice, except that it may get a version and lose others. */
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

/** All that is left is its record. */
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
/** How long a batch that is refused waits for the same batch at another node. */
const REPLAY_MILLISECONDS = 10_000;
const REPLAY_PAUSE_MILLISECONDS = 20;
const UNDO_MILLISECONDS_MIN = 100;
const UNDO_MILLISECONDS_MAX = 5000;

/**
 * The same protocol for versions of several tables, which readers see all at once. From `begin` to `record` the catalog
 * holds the readers of each table at its base version. Either the one transaction of `record` shows everything, or each
 * table is taken back to its base version, by this process or by those that follow it, and no reader has seen anything.
 * Versions are deleted by the same transaction, which lists their manifests for removal.
 */
export class BatchCommits {
  readonly #parts: BatchParts;

  constructor(parts: BatchParts) {
    this.#parts = parts;
  }

  /** `prepare` reads and checks the batch, unless it is a replay: then its tables may be gone. */
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

  /** What has refused a batch may be its own changes, which another node has made since step 1, and may not have recorded yet. */
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

  /** Step 1 again, for requests with a key: those of one process wait for each other, those of several nodes do not. */
  async #findReplay(request: WriteRequest): Promise<SucceededWrite | undefined> {
    return request.key === undefined ? undefined : this.#parts.idempotency.findReplay(request);
  }

  /** In the order of table ids: two batches that share tables never wait for each other. */
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

  /** Until it begins, a batch at another node may claim its tables: each then claims them again, at a random moment. */
  async #commit(batch: BatchWrite, versions: readonly BatchedVersion[]): Promise<WriteResult> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const result = await this.#commitOnce(batch, versions);
      if (result !== undefined) return result;
      await sleep(Math.random() * ATTEMPT_PAUSE_MILLISECONDS * attempt);
    }
    return refuse(new NotOwner());
  }

  /** `undefined`: another node has taken a table, and nothing was changed. */
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
      for (const write of [...members.map(({ version }) => version), ...deletions]) noteLoss(this.#parts, write, error);
      const result = await this.#undo({ members, unclear }, id);
      return result ?? (error instanceof NotOwner ? undefined : refuse(error));
    }
  }

  /**
   * A refused batch takes no table from its owner, which may have uploads for it. What is there because of a write that may
   * still be undone refuses nothing yet: the claim waits for its end.
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
    // The key is that of the whole batch, whose own entry is written by `record`.
    const write = { request: { ...request, key: undefined }, table, branch, recordedAs: RECORDED_AS };
    const facts = { kinds: plan.kinds, transactionId, batchDigest: request.digest() };
    const expected = { ...facts, isMultiCommit: true, rule: { from: 'nothing' } } as const;
    const entry = toEntry(write, { baseVersion, epoch, generation: undefined, expected });
    // After all that may refuse: a scope has to be ended.
    const scope = await storage.beginSync(table.location);
    return { version, entry: { ...entry, digest: entry.id }, scope };
  }

  /** Refuses a version that is not the next one. */
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

  /** Refuses what cannot be deleted; a version that the same batch commits changes nothing about that. */
  async #findRemovable(deletion: BatchedDeletion) {
    return this.#parts.engine.versions.findRemovable(toTarget(deletion), deletion.ranges);
  }

  /** The deletion is committed: what fails here is repeated later. */
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

  /** Readers keep the base versions from here on. */
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

  /** `unclear` gets a member of which it is not known whether its version is, or will be, there. */
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

  /** All at once: a reader that has seen one table sees the others too. */
  async #show(members: readonly Member[]): Promise<void> {
    const { engine, responses, onCommit } = this.#parts;
    for (const { version } of members) engine.releaseReaders(toTarget(version));
    responses.abort(members.map(({ entry }) => entry.id));
    for (const { version } of members) {
      void version.plan.discard();
      await onCommit(version.table, { isAppend: false, mayChangeIndexes: true });
    }
  }

  /** Gives a result unless everything is as it was before: of a batch that was recorded after all, or one in doubt. */
  async #undo({ members, unclear }: FailedBatch, id: string): Promise<WriteResult | undefined> {
    const { journal, inDoubtWrites, engine, fences } = this.#parts;
    const undos = members.map(({ version, entry }) => prepareUndo(this.#parts, version.table, entry));
    let cause: unknown;
    for (let milliseconds = UNDO_MILLISECONDS_MIN; milliseconds <= UNDO_MILLISECONDS_MAX; milliseconds *= 2) {
      try {
        // The transaction that records the batch may have been committed, and its reply lost.
        const kept = await journal.find(id);
        if (kept !== undefined) {
          await this.#show(members);
          return { ...toReplayed(kept), kind: 'committed' };
        }
        // A version that is still on its way to an object store must not follow the base version later.
        for (const { version, entry } of unclear) await fences.fence(toTarget(version), entry).catch(ignoreMissing);
        for (const undo of undos) await undo().catch(ignoreMissing);
        return undefined;
      } catch (error) {
        cause = error;
        if (error instanceof NotOwner) break;
        await sleep(milliseconds, undefined, { ref: false });
      }
    }
    // Undone in the background, or by the new owners; the catalog holds readers until then.
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
