import type { NewEntry } from '../catalog/catalog.ts';
import type { CommitPlan, MultiCommitPlan } from '../engine/engine.ts';
import type { CommitKind, TableRecord, VersionMetadata } from '../model/table.ts';
import type { ServiceError } from '../errors/service-error.ts';

/** Identifies a request and distinguishes a repeated one from a new one. */
export interface WriteRequest {
  readonly operation: string;
  readonly caller: string;
  readonly requestId: string;
  /** The Idempotency-Key header. */
  readonly key: string | undefined;
  /** The version that the If-Match header requires. */
  readonly expectedVersion: number | undefined;
  /** Covers caller, operation, address and body. Call it after the body was read. */
  digest(): string;
  /**
   * Refuses what a size quota does not allow. Called once the request is known not to be a replay. Absent without a
   * quota.
   */
  readonly admit?: ((growth: Growth) => Promise<void>) | undefined;
  /** Fires if the client disconnects before the reply was sent. */
  signal(): AbortSignal;
}

/** The most that a write adds to its table, for size quotas. */
export interface Growth {
  readonly rows: number;
  readonly bytes: number;
  /** All existing rows of the table are replaced. */
  readonly replacesAll?: boolean;
}

/** Fields of a reply, stored in the journal for repeated requests. */
export type Fields = Readonly<Record<string, unknown>>;

/** How to rebuild the fields from the commit if the engine's reply was lost. */
export type FieldsRule =
  | { readonly from: 'values'; readonly fields: Fields }
  | { readonly from: 'added-rows' | 'removed-rows'; readonly names: readonly string[] }
  | { readonly from: 'upsert' }
  | { readonly from: 'nothing' };

/** What the journal entry of any write contains. */
export interface JournaledWrite {
  readonly request: WriteRequest;
  readonly table: TableRecord;
  /** The main branch if absent. */
  readonly branch: string | undefined;
  /** Its name in the transaction feed. */
  readonly recordedAs: string;
  /** Added to the table's properties by the transaction that records the write. */
  readonly properties?: Readonly<Record<string, string>> | undefined;
  /** Recorded with the version that the write commits. Not called before `check`. */
  readonly versionMetadata?: (() => VersionMetadata) | undefined;
  /** Refuses the write before it is enqueued. Not called for a replay. */
  readonly check?: (() => Promise<void>) | undefined;
  /** Absent if the table does not grow. A function is called only if there is a quota and the request is no replay. */
  readonly growth?: Growth | (() => Promise<Growth>) | undefined;
}

interface WriteOf<Plan, Outcome> extends JournaledWrite {
  readonly plan: Plan;
  toFields(outcome: Outcome): Fields;
}

/** A write that is one engine commit. */
export interface TableWrite<Outcome> extends WriteOf<CommitPlan<Outcome>, Outcome> {
  readonly rule: FieldsRule;
}

/** A write that takes several commits, which become visible together. */
export interface MultiCommitWrite<Outcome> extends WriteOf<MultiCommitPlan<Outcome>, Outcome> {
  /**
   * Called in the queue: refuses the write if what it was computed from has changed. No other node can change that any
   * more.
   */
  readonly confirm?: (() => Promise<void>) | undefined;
}

/** The entry whose response is about to be sent. */
export interface ResponseRef extends Pick<NewEntry, 'id' | 'key'> {
  /** Present if the write removed rows. */
  readonly removal?: Removal;
}

/** Once the response is sent, earlier writes of the caller to the branch are no longer replayed without a key. */
export interface Removal {
  /** Caller and branch. */
  readonly origin: string;
  readonly version: number;
}

export interface SucceededWrite {
  readonly kind: 'committed' | 'replayed';
  readonly version: number;
  /** Absent if the table was dropped right after the commit. */
  readonly transactionId: string | undefined;
  /** All current properties of the table; not known for a replayed write. */
  readonly properties: Readonly<Record<string, string>> | undefined;
  readonly fields: Fields;
  /** Absent if nothing would be replayed. */
  readonly response: ResponseRef | undefined;
}

/** A success that a repeated request gets. */
export type ReplayableWrite = SucceededWrite & { readonly response: ResponseRef };

/** `refused`: nothing was changed. `in-doubt`: the write may have been applied, and the error says so. */
export interface FailedWrite {
  readonly kind: 'refused' | 'in-doubt';
  readonly error: ServiceError;
}

export type WriteResult = SucceededWrite | FailedWrite;

/** The steps of the protocol, in order, as tests and campaigns name them. Each is reported when it starts. */
export type WriteStep =
  | 'replay'
  | 'enqueue'
  | 'batch'
  | 'own'
  | 'begin'
  | 'commit'
  | 'verify'
  | 'sync'
  | 'record'
  | 'mark'
  | 'send'
  | 'sent';

/** Called after each commit of the engine, with the number of writes that shared it. */
export type OnBatch = (commit: {
  readonly kind: CommitKind;
  readonly members: number;
  readonly startedAt: number;
  readonly endedAt: number;
}) => void;

/** Called after each recorded write; `isAppend` if it only added rows. */
export type OnCommit = (table: TableRecord, options: CommitOptions) => Promise<void>;

export interface CommitOptions {
  readonly isAppend: boolean;
  /** False if the write only changed rows. */
  readonly mayChangeIndexes: boolean;
}

export type OnWriteStep = (step: WriteStep) => void | Promise<void>;
