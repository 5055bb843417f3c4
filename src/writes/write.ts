import type { NewEntry } from '../catalog/catalog.ts';
import type { CommitPlan, MultiCommitPlan } from '../engine/engine.ts';
import type { CommitKind, TableRecord, VersionMetadata } from '../model/table.ts';
import type { ServiceError } from '../errors/service-error.ts';

/** Identifies a request, and tells a repeated one from a new one. */
export interface WriteRequest {
  readonly operation: string;
  readonly caller: string;
  readonly requestId: string;
  /** The header Idempotency-Key. */
  readonly key: string | undefined;
  /** The version that the table must have, as the header If-Match says. */
  readonly expectedVersion: number | undefined;
  /** Of caller, operation, address and body; the body has been read by the time that it is asked for. */
  digest(): string;
  /** Refuses what a size quota does not allow. Asked when it is known that the request is no replay. Absent: no quota. */
  readonly admit?: ((growth: Growth) => Promise<void>) | undefined;
  /** Fires when the client has gone before its reply was out. */
  signal(): AbortSignal;
}

/** What a write adds to its table, at most, for size quotas. */
export interface Growth {
  readonly rows: number;
  readonly bytes: number;
  /** All rows that the table has are replaced. */
  readonly replacesAll?: boolean;
}

/** Fields of a reply, kept in the journal for a repeated request. */
export type Fields = Readonly<Record<string, unknown>>;

/** How to rebuild the fields from the commit when the engine's reply was lost. */
export type FieldsRule =
  | { readonly from: 'values'; readonly fields: Fields }
  | { readonly from: 'added-rows' | 'removed-rows'; readonly names: readonly string[] }
  | { readonly from: 'upsert' }
  | { readonly from: 'nothing' };

/** What the journal entry of any write contains. */
export interface JournaledWrite {
  readonly request: WriteRequest;
  readonly table: TableRecord;
  /** The main one when absent. */
  readonly branch: string | undefined;
  /** Its name in the transaction feed. */
  readonly recordedAs: string;
  /** Added to the table's properties by the transaction that records the write. */
  readonly properties?: Readonly<Record<string, string>> | undefined;
  /** Recorded with the version that the write commits. Not called before `check`. */
  readonly versionMetadata?: (() => VersionMetadata) | undefined;
  /** Refuses the write before it is enqueued. Not called for a replay. */
  readonly check?: (() => Promise<void>) | undefined;
  /** Absent: the table does not grow. A function is called only for a quota, and not for a replay. */
  readonly growth?: Growth | (() => Promise<Growth>) | undefined;
}

interface WriteOf<Plan, Outcome> extends JournaledWrite {
  readonly plan: Plan;
  toFields(outcome: Outcome): Fields;
}

/** A write that is one commit of the engine. */
export interface TableWrite<Outcome> extends WriteOf<CommitPlan<Outcome>, Outcome> {
  readonly rule: FieldsRule;
}

/** A write that takes several commits, visible all at once. */
export interface MultiCommitWrite<Outcome> extends WriteOf<MultiCommitPlan<Outcome>, Outcome> {
  /** Refuses the write in its turn, when what it was computed from has changed. No other owner can change it any more. */
  readonly confirm?: (() => Promise<void>) | undefined;
}

/** The entry whose response is about to be sent. */
export interface ResponseRef extends Pick<NewEntry, 'id' | 'key'> {
  /** Present when the write removed rows. */
  readonly removal?: Removal;
}

/** Once it is answered, what its caller wrote to the branch before this version is not replayed without a key. */
export interface Removal {
  /** Caller and branch. */
  readonly origin: string;
  readonly version: number;
}

export interface SucceededWrite {
  readonly kind: 'committed' | 'replayed';
  readonly version: number;
  /** Absent when the table was dropped right after the commit. */
  readonly transactionId: string | undefined;
  /** All that the table now has; not known for a replayed write. */
  readonly properties: Readonly<Record<string, string>> | undefined;
  readonly fields: Fields;
  /** Absent when nothing would be replayed. */
  readonly response: ResponseRef | undefined;
}

/** A success that a repeated request gets. */
export type ReplayableWrite = SucceededWrite & { readonly response: ResponseRef };

/** `refused` changed nothing. `in-doubt` may have been applied, and says so. */
export interface FailedWrite {
  readonly kind: 'refused' | 'in-doubt';
  readonly error: ServiceError;
}

export type WriteResult = SucceededWrite | FailedWrite;

/** The protocol's steps, in order, as tests and campaigns name them; each is reported when it starts. */
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

/** Called after each recorded write; `isAppend` when it only added rows. */
export type OnCommit = (table: TableRecord, options: CommitOptions) => Promise<void>;

export interface CommitOptions {
  readonly isAppend: boolean;
  /** False if it only changed rows. */
  readonly mayChangeIndexes: boolean;
}

export type OnWriteStep = (step: WriteStep) => void | Promise<void>;
