import type { Journal, JournalEntry } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { JournalLimits } from '../../model/limits.ts';
import type { ResponseMarks } from './response-marks.ts';
import type { Fields, ResponseRef, SucceededWrite, WriteRequest, WriteResult } from '../write.ts';

export interface IdempotencyParts {
  readonly journal: Journal;
  readonly marks: ResponseMarks;
  readonly limits: JournalLimits;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface RunningRequest {
  readonly request: WriteRequest;
  readonly done: Promise<void>;
}

/** A committed write without a key, of which no response was ever begun. */
interface Unanswered {
  readonly result: AnswerableWrite;
  readonly until: number;
}

/** A success that a repeated request gets. */
type AnswerableWrite = SucceededWrite & { readonly response: ResponseRef };

/** A committed write without a key, whose response has been neither marked nor released yet. */
interface Unsent {
  readonly digest: string;
  readonly result: AnswerableWrite;
  /** Ends its request. */
  readonly end: () => void;
}

/** Entries that wait to be removed go with the next transaction; when so many wait, they go without one. */
const REMOVABLE_MAX = 500;

/**
 * Makes sure that a repeated request is not applied again. With an Idempotency-Key that is any request with the key, for as
 * long as the key is kept. Without one it is an identical request (same caller, table, address and body), and only while the
 * write before it is committed and its response was never begun, within a bounded window.
 */
export class Idempotency {
  readonly #parts: IdempotencyParts;
  readonly #runningByKey = new Map<string, RunningRequest>();
  readonly #runningByDigest = new Map<string, Set<RunningRequest>>();
  readonly #unanswered = new Map<string, Unanswered[]>();
  /** By the id of the entry. */
  readonly #unsent = new Map<string, Unsent>();
  /** Entries in doubt, by id. */
  readonly #doubts = new Map<string, { readonly digest: string; readonly key: string | undefined }>();
  readonly #removable = new Set<string>();
  #runningCount = 0;
  #pruning: NodeJS.Timeout | undefined;
  #startMarksAt = 0;

  constructor(parts: IdempotencyParts) {
    this.#parts = parts;
  }

  /** Writes that have no result yet. */
  get runningCount(): number {
    return this.#runningCount;
  }

  /**
   * Runs a request. One with the same key that is running comes first, and so does one of the same words whose client has
   * gone: this may be its client, asking again.
   */
  async single<Value>(request: WriteRequest, run: () => Promise<Value>): Promise<Value> {
    // A create that overwrites a table is two operations of one request.
    if (request.key !== undefined && this.#runningByKey.get(nameOf(request))?.request === request) return run();
    const end = await this.#begin(request);
    try {
      return await run();
    } finally {
      end();
    }
  }

  /** The same for a write. Without a key it is over when its response is marked or released, not before. */
  async singleWrite(request: WriteRequest, run: () => Promise<WriteResult>): Promise<WriteResult> {
    if (request.key !== undefined) return this.single(request, run);
    const end = await this.#begin(request);
    let isUnsent = false;
    try {
      const result = await run();
      if (!('error' in result) && result.response !== undefined) {
        const { response } = result;
        this.#unsent.set(response.id, { digest: request.digest(), result: { ...result, response }, end });
        isUnsent = true;
      }
      return result;
    } finally {
      if (!isUnsent) end();
    }
  }

  /** The result of the same request, if it was applied before. Refuses while that is in doubt. */
  async findReplay(request: WriteRequest): Promise<SucceededWrite | undefined> {
    if (request.key === undefined) return this.#takeUnanswered(request.digest());
    const entry = await this.#findByKey(request, request.key);
    return entry === undefined ? undefined : toReplayed(entry);
  }

  /** Whether the key of the request is kept; its body need not have been read. */
  async hasKey({ caller, key }: Pick<WriteRequest, 'caller' | 'key'>): Promise<boolean> {
    const entry = key === undefined ? undefined : await this.#parts.journal.findByKey(caller, key);
    return entry !== undefined && !this.#removable.has(entry.id);
  }

  /** To be removed with the next transaction: they were answered, or came to nothing. */
  takeRemovable(): readonly string[] {
    return [...this.#removable];
  }

  /** These entries are gone from the journal. */
  removed(ids: readonly string[]): void {
    for (const id of ids) this.#removable.delete(id);
    this.#parts.marks.release(ids);
  }

  /** The writes came to nothing. */
  abort(ids: readonly string[]): void {
    for (const id of ids) this.#removable.add(id);
    // The next write removes them, but it may be long in coming.
    setImmediate(() => {
      if (ids.some((id) => this.#removable.has(id))) this.#removeSoon();
    });
  }

  addDoubt(entry: Pick<JournalEntry, 'id' | 'digest' | 'key'>): void {
    this.#doubts.set(entry.id, entry);
  }

  /** It was committed, and its client was told that this was in doubt; or it was not. */
  endDoubt(id: string, committed: JournalEntry | undefined, isOwn: boolean): void {
    this.#doubts.delete(id);
    if (committed === undefined || committed.key !== undefined) return;
    const { generation } = this.#parts.marks;
    // Of a past process it is known only through its marks that it never answered.
    if (isOwn || (generation !== undefined && committed.generation === generation)) {
      this.addUnanswered(committed.digest, toReplayed(committed));
    }
  }

  /**
   * Right before the first byte of the response. From then on a request of the same words is a new one. Rejects when the
   * mark can neither be written nor be done without: then the response must not be sent.
   */
  mark(response: ResponseRef): Promise<void> | undefined {
    const { id, key } = response;
    if (key !== undefined) return undefined;
    const { marks } = this.#parts;
    if (marks.generation === undefined || marks.mark(id) || marks.invalidate()) {
      this.#answered(id);
      return undefined;
    }
    return this.#removeUnmarked(response);
  }

  /** No response will be sent: the client has gone. Its next request of the same words gets the result. */
  release({ id }: ResponseRef): void {
    const unsent = this.#unsent.get(id);
    if (unsent === undefined) return;
    this.addUnanswered(unsent.digest, unsent.result);
    this.#end(id);
  }

  addUnanswered(digest: string, result: AnswerableWrite): void {
    const until = this.#parts.now() + this.#parts.limits.windowSeconds * 1000;
    const same = this.#unanswered.get(digest) ?? [];
    this.#unanswered.set(digest, [...same, { result, until }]);
    this.#pruneLater();
  }

  async close(): Promise<void> {
    clearTimeout(this.#pruning);
    const removable = this.takeRemovable();
    // What stays is found in the marks.
    await this.#parts.journal.remove(removable).catch(() => {});
    this.#parts.marks.close();
  }

  /** A generation of marks that ended is followed by the next as soon as there is room for it. */
  startMarks(): string | undefined {
    const { marks, now } = this.#parts;
    if (marks.generation === undefined && now() >= this.#startMarksAt) {
      this.#startMarksAt = now() + START_MARKS_MILLISECONDS;
      marks.start();
    }
    return marks.generation;
  }

  async #begin(request: WriteRequest): Promise<() => void> {
    const name = nameOf(request);
    if (request.key !== undefined) {
      for (let other = this.#runningByKey.get(name); other !== undefined; other = this.#runningByKey.get(name)) {
        await other.done;
      }
    } else await this.#awaitSameWords(request.digest());
    let end: (() => void) | undefined;
    const done = new Promise<void>((resolve) => {
      end = resolve;
    });
    const running = { request, done };
    if (request.key !== undefined) this.#runningByKey.set(name, running);
    else this.#addRunning(running);
    this.#runningCount += 1;
    return () => {
      this.#runningCount -= 1;
      if (request.key !== undefined) this.#runningByKey.delete(name);
      else this.#deleteRunning(running);
      end?.();
    };
  }

  #end(id: string): void {
    this.#unsent.get(id)?.end();
    this.#unsent.delete(id);
  }

  async #removeUnmarked(response: ResponseRef): Promise<void> {
    try {
      await this.#parts.journal.remove([response.id]);
      this.#end(response.id);
    } catch (error) {
      // The client is told of the failure, so that its next request gets the result.
      this.release(response);
      throw markFailed(error);
    }
  }

  async #awaitSameWords(digest: string): Promise<void> {
    for (const { request, done } of this.#runningByDigest.get(digest) ?? []) if (request.signal().aborted) await done;
  }

  #addRunning(running: RunningRequest): void {
    const digest = running.request.digest();
    const same = this.#runningByDigest.get(digest) ?? new Set();
    this.#runningByDigest.set(digest, same.add(running));
  }

  #deleteRunning(running: RunningRequest): void {
    const digest = running.request.digest();
    const same = this.#runningByDigest.get(digest);
    same?.delete(running);
    if (same?.size === 0) this.#runningByDigest.delete(digest);
  }

  async #findByKey({ caller, ...request }: WriteRequest, key: string): Promise<JournalEntry | undefined> {
    const entry = await this.#parts.journal.findByKey(caller, key);
    if (entry === undefined || this.#removable.has(entry.id)) return undefined;
    if (entry.digest !== request.digest()) throw keyOfAnother();
    if (entry.state === 'pending') throw stillInDoubt();
    return entry;
  }

  /** Each answers one request: a second one of the same words is a new one. */
  #takeUnanswered(digest: string): SucceededWrite | undefined {
    for (const doubt of this.#doubts.values()) {
      if (doubt.key === undefined && doubt.digest === digest) throw stillInDoubt();
    }
    const [first, ...others] = (this.#unanswered.get(digest) ?? []).filter(({ until }) => until > this.#parts.now());
    if (others.length > 0) this.#unanswered.set(digest, others);
    else this.#unanswered.delete(digest);
    return first === undefined ? undefined : { ...first.result, kind: 'replayed', properties: undefined };
  }

  #answered(id: string): void {
    this.#end(id);
    this.#removable.add(id);
    if (this.#removable.size % REMOVABLE_MAX === 0) this.#removeSoon();
  }

  #removeSoon(): void {
    const ids = this.takeRemovable();
    this.#parts.journal.remove(ids).then(
      () => this.removed(ids),
      // They stay for the next transaction.
      () => {},
    );
  }

  /** What is past its window is removed from the journal too, so that a restart does not bring it back. */
  #pruneLater(): void {
    this.#pruning ??= setTimeout(() => {
      this.#pruning = undefined;
      const now = this.#parts.now();
      const expired: string[] = [];
      for (const [digest, entries] of this.#unanswered) {
        expired.push(...entries.filter(({ until }) => until <= now).map(({ result }) => result.response.id));
        const left = entries.filter(({ until }) => until > now);
        if (left.length > 0) this.#unanswered.set(digest, left);
        else this.#unanswered.delete(digest);
      }
      this.abort(expired);
      if (this.#unanswered.size > 0) this.#pruneLater();
    }, PRUNE_MILLISECONDS).unref();
  }
}

const PRUNE_MILLISECONDS = 1000;
const START_MARKS_MILLISECONDS = 1000;

/** The result of an entry that was committed before. */
export function toReplayed(entry: JournalEntry): AnswerableWrite {
  return {
    kind: 'replayed',
    version: entry.version ?? 0,
    transactionId: entry.transactionId,
    properties: undefined,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only the pipeline writes it.
    fields: JSON.parse(entry.outcome ?? '{}') as Fields,
    response: { id: entry.id, key: entry.key },
  };
}

function nameOf({ caller, key = '' }: WriteRequest): string {
  return `${caller} ${key}`;
}

function keyOfAnother(): ServiceError {
  return new ServiceError('InvalidInput', 'The Idempotency-Key was used for another request.', {
    hint: 'Use a new key for each request, and the same one only to send that request again.',
  });
}

function stillInDoubt(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'It is not known yet whether the same request was applied before.', {
    hint: 'Send it again later: the service is finding out.',
    retryAfterSeconds: 1,
  });
}

function markFailed(cause: unknown): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    'The write was applied, but the disk does not let the service note that it was answered.',
    { hint: 'Send the same request again: it is answered, not applied again.', cause, retryAfterSeconds: 5 },
  );
}
