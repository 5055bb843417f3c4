import type { GoingAnswer, Journal, JournalCommit } from '../catalog/catalog.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { TableRecord } from '../model/table.ts';
import { AnsweredBefore } from '../model/write-intent.ts';
import type { WriteIntent } from '../model/write-intent.ts';

/** What is known of a request that may write, before it does. */
export interface IntendedWrite {
  readonly operation: string;
  readonly caller: string;
  readonly requestId: string;
  readonly key: string | undefined;
  /** The version that the table must have, as the header If-Match gave it. */
  readonly expectedVersion: number | undefined;
  /** Of caller, operation, address and body; the body has been read by the time that it is asked for. */
  digest(): string;
  /** Fires when the client has gone before its reply was out. */
  signal(): AbortSignal;
}

/** The writes that are under way, each from its first word in the journal to its answer. */
export class WriteIntents {
  readonly #journal: Journal;
  readonly #makeId: () => string;
  readonly #byKey = new Map<string, RequestIntent>();
  readonly #byDigest = new Map<string, Set<RequestIntent>>();

  constructor(journal: Journal, makeId: () => string) {
    this.#journal = journal;
    this.#makeId = makeId;
  }

  /** Waits for a request with the same key that is under way: its answer is the answer of both. */
  async open(write: IntendedWrite): Promise<RequestIntent> {
    const intent = new RequestIntent(write, { journal: this.#journal, makeId: this.#makeId, intents: this });
    if (write.key === undefined) return intent;
    const name = `${write.caller} ${write.key}`;
    for (let other = this.#byKey.get(name); other !== undefined; other = this.#byKey.get(name)) await other.over;
    if (write.signal().aborted) throw callerLeft();
    this.#byKey.set(name, intent);
    void intent.over.then(() => this.#byKey.delete(name));
    return intent;
  }

  /** A request that its sender gave up, and sends again, may be on its way to the journal: it must be found there. */
  async awaitLeft(digest: string, intent: RequestIntent): Promise<void> {
    const same = this.#byDigest.get(digest) ?? new Set();
    for (const other of same) if (other !== intent && other.isNoted && other.isClientGone) await other.over;
    if (same.has(intent)) return;
    this.#byDigest.set(digest, same.add(intent));
    void intent.over.then(() => this.#forget(digest, intent));
  }

  #forget(digest: string, intent: RequestIntent): void {
    const same = this.#byDigest.get(digest);
    same?.delete(intent);
    if (same?.size === 0) this.#byDigest.delete(digest);
  }
}

interface IntentParts {
  readonly journal: Journal;
  readonly makeId: () => string;
  readonly intents: WriteIntents;
}

/** What one request says to the journal. */
export class RequestIntent {
  /** Resolves when the request is answered, or its client found gone. */
  readonly over: Promise<void>;
  readonly #write: IntendedWrite;
  readonly #parts: IntentParts;
  #end: () => void = () => {};
  /** Of the note in the journal. */
  #noteId: string | undefined;

  constructor(write: IntendedWrite, parts: IntentParts) {
    this.#write = write;
    this.#parts = parts;
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get isNoted(): boolean {
    return this.#noteId !== undefined;
  }

  get isClientGone(): boolean {
    return this.#write.signal().aborted;
  }

  /** Before anything is done: for a request whose body has been read. */
  async refuseAnswered(): Promise<void> {
    const { caller, key } = this.#write;
    const prior = await this.#parts.journal.find({ caller, key, digest: this.#write.digest() });
    if (prior !== undefined) throw new AnsweredBefore(prior);
  }

  /** To be handed to the engine with the write. */
  of(table: TableRecord, branch: string | undefined): WriteIntent {
    return {
      isConditional: this.#write.expectedVersion !== undefined,
      begin: async (versionBefore) => this.#begin(table, branch, versionBefore),
      fail: () => {
        if (this.#noteId !== undefined) this.#parts.journal.fail(this.#noteId);
        this.#noteId = undefined;
      },
      land: async (version) => this.#land(version),
    };
  }

  /** To be recorded with the commit. */
  commit(outcome: Readonly<Record<string, number>>): JournalCommit | undefined {
    return this.#noteId === undefined ? undefined : { id: this.#noteId, outcome };
  }

  /**
   * The success of the request, or of the one before that was the same, goes out in this moment. To be told when all of it
   * was handed to the operating system.
   */
  answer(journalId = this.#noteId): () => void {
    const going = journalId === undefined ? undefined : this.#beginAnswer(journalId);
    this.#end();
    return () => going?.sent();
  }

  /** The request failed. What was noted and has not failed for certain is found out at the next start. */
  leave(): void {
    if (this.#noteId !== undefined) this.#parts.journal.leave(this.#noteId);
    this.#end();
  }

  #beginAnswer(journalId: string): GoingAnswer | undefined {
    const { journal } = this.#parts;
    const { caller, key } = this.#write;
    const signal = this.#write.signal();
    if (signal.aborted) {
      journal.leave(journalId);
      return undefined;
    }
    const going = journal.answer(journalId, { caller, key, digest: this.#write.digest() });
    signal.addEventListener('abort', () => going.lost(), { once: true });
    return going;
  }

  async #begin(table: TableRecord, branch: string | undefined, versionBefore: number): Promise<void> {
    const { operation, caller, requestId, key, expectedVersion } = this.#write;
    const { journal, intents, makeId } = this.#parts;
    const digest = this.#write.digest();
    if (key === undefined) await intents.awaitLeft(digest, this);
    const mark = { caller, key, digest };
    if (expectedVersion !== undefined && expectedVersion !== versionBefore) {
      // It may be this very request that made the version.
      const prior = await journal.find(mark);
      throw prior === undefined ? versionDiffers(expectedVersion, versionBefore) : new AnsweredBefore(prior);
    }
    const id = makeId();
    const { id: tableId, databaseId, path } = table;
    const where = { databaseId, tableId, path, branch, versionBefore };
    const prior = await journal.begin({ ...mark, ...where, id, operation, requestId });
    if (prior !== undefined) throw new AnsweredBefore(prior);
    this.#noteId = id;
  }

  async #land(version: number): Promise<AnsweredBefore> {
    const id = this.#noteId ?? '';
    // What cannot be recorded now is found out at the next start.
    const transactionId = await this.#parts.journal.land(id, version).catch(() => undefined);
    return new AnsweredBefore({ journalId: id, version, transactionId, outcome: {} });
  }
}

function callerLeft(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The caller left before its write had its turn; nothing was written.');
}

function versionDiffers(expected: number, found: number): ServiceError {
  return new ServiceError('PreconditionFailed', `The latest version is ${found}, not ${expected} as If-Match says.`, {
    hint: 'Read the table again, and send the write with the version that you then see.',
  });
}
