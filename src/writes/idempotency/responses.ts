import type { Journal, JournalEntry } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import type { JournalLimits } from '../../model/limits.ts';
import { originOf, toReplayed } from '../journal-entries.ts';
import type { Removal, ReplayableWrite, ResponseRef, WriteResult } from '../write.ts';
import type { ResponseMarks } from './response-marks.ts';

export interface ResponsesParts {
  readonly journal: Journal;
  /** Absent in a cluster: there, a write counts as answered once its node has recorded it. */
  readonly marks: ResponseMarks | undefined;
  readonly limits: JournalLimits;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A committed write without a key whose response was neither marked nor released yet. */
interface Unsent extends UnsentWrite {
  readonly result: ReplayableWrite;
  /** Ends the request. */
  readonly end: () => void;
}

interface UnsentWrite {
  readonly digest: string;
  /** Caller and branch; absent for a write of several tables. */
  readonly origin: string | undefined;
}

/** A committed write without a key whose response was never begun. */
interface Unanswered extends Pick<Unsent, 'origin' | 'result'> {
  readonly until: number;
}

/** Answered entries are removed by the transaction of a later write; beyond this many, by a separate one. */
const ANSWERED_MAX = 500;
/** Removed in batches of at least this size: one removal costs a write's transaction as much as many. */
const REMOVED_TOGETHER = 16;
const PRUNE_MILLISECONDS = 1000;
const RETRY_MILLISECONDS = 1000;
const START_MARKS_MILLISECONDS = 1000;

/** Tracks which responses were begun, which results may be replayed without a key, and which entries can be removed. */
export class Responses {
  readonly #parts: ResponsesParts;
  /** By entry id. */
  readonly #unsent = new Map<string, Unsent>();
  /** By digest, oldest first. */
  readonly #unanswered = new Map<string, readonly Unanswered[]>();
  /** Ids of entries to remove. */
  readonly #answeredIds = new Set<string>();
  readonly #aborted = new Set<string>();
  #pruning: NodeJS.Timeout | undefined;
  #retrying: NodeJS.Timeout | undefined;
  #startMarksAt = 0;

  constructor(parts: ResponsesParts) {
    this.#parts = parts;
  }

  /** The generation of new entries. After one has ended, starts the next as soon as the disk has space for it. */
  startMarks(): string | undefined {
    const { marks, now } = this.#parts;
    if (marks === undefined) return undefined;
    if (marks.generation === undefined && now() >= this.#startMarksAt) {
      this.#startMarksAt = now() + START_MARKS_MILLISECONDS;
      marks.start();
    }
    return marks.generation;
  }

  /**
   * Whether an entry that its process left pending was never answered. Responses are sent after the record, which
   * PostgreSQL keeps; SQLite may lose it in a power loss, so there only the marks prove it.
   */
  isUnanswered({ generation }: Pick<JournalEntry, 'generation'>): boolean {
    const { marks } = this.#parts;
    return marks === undefined || (generation !== undefined && generation === marks.generation);
  }

  /**
   * Keeps the result of a write without a key until its response is marked or released. False if there is nothing to
   * keep.
   */
  track(write: UnsentWrite, result: WriteResult, end: () => void): boolean {
    if ('error' in result || result.response === undefined) return false;
    const { response } = result;
    this.#unsent.set(response.id, { ...write, result: { ...result, response }, end });
    return true;
  }

  /**
   * Call right before the first byte of the response. From then on an identical request is a new one. Rejects if the
   * mark cannot be written and the generation cannot be invalidated either: the response must not be sent then.
   */
  mark(response: ResponseRef): Promise<void> | undefined {
    const { id, key, removal } = response;
    if (removal !== undefined) this.#dropBefore(removal);
    if (key !== undefined) return undefined;
    const { marks } = this.#parts;
    if (marks?.generation !== undefined && !marks.mark(id) && !marks.invalidate())
      return this.#removeUnmarked(response);
    this.#answered(id);
    return undefined;
  }

  /**
   * The client has disconnected. Its next identical request gets the result; in a cluster, the write counts as
   * answered.
   */
  release({ id }: ResponseRef): void {
    const unsent = this.#unsent.get(id);
    if (unsent === undefined) return;
    if (this.#parts.marks === undefined) {
      this.#answered(id);
      return;
    }
    this.#addUnanswered(unsent, unsent.result);
    this.#end(id);
  }

  addUnanswered(entry: JournalEntry): void {
    this.#addUnanswered({ digest: entry.digest, origin: originOf(entry) }, toReplayed(entry));
  }

  /** Each result is replayed once: a second identical request is a new one. */
  takeUnanswered(digest: string): ReplayableWrite | undefined {
    const [first, ...others] = this.#withoutExpired(digest);
    this.#setUnanswered(digest, others);
    return first === undefined ? undefined : { ...first.result, kind: 'replayed', properties: undefined };
  }

  /** Whether the write was answered or aborted, so that the next transaction removes its entry. */
  isRemovable(id: string): boolean {
    return this.#aborted.has(id) || this.#answeredIds.has(id);
  }

  takeRemovable(): readonly string[] {
    return [...this.#aborted, ...this.#answeredIds];
  }

  /**
   * Entries for the next transaction to remove. Until then, marks show which were answered. Aborted entries never wait:
   * after a crash, the commit of a later write would be taken for theirs.
   */
  takeDue(): readonly string[] {
    return this.#answeredIds.size < REMOVED_TOGETHER ? [...this.#aborted] : this.takeRemovable();
  }

  /** The journal no longer has these entries. */
  removed(ids: readonly string[]): void {
    for (const id of ids) {
      this.#aborted.delete(id);
      this.#answeredIds.delete(id);
    }
    this.#parts.marks?.release(ids);
  }

  /** The writes were not committed. */
  abort(ids: readonly string[]): void {
    for (const id of ids) this.#aborted.add(id);
    // The next write removes them, but may come much later.
    setImmediate(() => {
      if (ids.some((id) => this.#aborted.has(id))) this.#removeSoon();
    });
  }

  /**
   * Call at start: allows committed writes without a key, whose response the previous process never began, to be
   * replayed once within the window. Entries of other generations are older or have lost their marks, so identical
   * requests are new ones. May be called again after a failure.
   */
  async recover(): Promise<void> {
    const { journal, marks } = this.#parts;
    if (marks === undefined) return;
    const { past } = marks;
    const entries = await journal.keyless();
    const isKept = ({ id, generation }: JournalEntry): boolean =>
      past !== undefined && generation === past.generation && !past.marked.has(id);
    const kept = entries.filter(isKept);
    await journal.remove(entries.filter((entry) => !isKept(entry)).map(({ id }) => id));
    const generation = this.startMarks();
    // Pending entries have not been answered either.
    const pending = (await journal.pending()).filter((entry) => entry.key === undefined && isKept(entry));
    const renewed = [...kept, ...pending].map(({ id }) => id);
    await journal.renew(renewed, generation);
    for (const entry of kept) this.addUnanswered(entry);
  }

  async close(): Promise<void> {
    clearTimeout(this.#pruning);
    clearTimeout(this.#retrying);
    // Entries that are not removed here are found through the marks.
    await this.#parts.journal.remove(this.takeRemovable()).catch(() => {});
    this.#aborted.clear();
    this.#parts.marks?.close();
  }

  #answered(id: string): void {
    this.#end(id);
    this.#answeredIds.add(id);
    if (this.#answeredIds.size % ANSWERED_MAX === 0) this.#removeSoon();
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
      // The client sees the failure, so its next identical request gets the result.
      this.release(response);
      throw markFailed(error);
    }
  }

  #removeSoon(): void {
    const ids = this.takeRemovable();
    this.#parts.journal.remove(ids).then(
      () => this.removed(ids),
      // The next transaction removes them.
      () => {
        if (this.#aborted.size > 0) this.#retryLater();
      },
    );
  }

  #retryLater(): void {
    this.#retrying ??= setTimeout(() => {
      this.#retrying = undefined;
      if (this.#aborted.size > 0) this.#removeSoon();
    }, RETRY_MILLISECONDS).unref();
  }

  #addUnanswered({ digest, origin }: UnsentWrite, result: ReplayableWrite): void {
    const until = this.#parts.now() + this.#parts.limits.windowSeconds * 1000;
    this.#setUnanswered(digest, [...(this.#unanswered.get(digest) ?? []), { origin, result, until }]);
    this.#pruneLater();
  }

  /**
   * The rows of these writes may be gone, so identical requests are new ones. The marks keep that true after a crash.
   */
  #dropBefore({ origin, version }: Removal): void {
    for (const [digest, unanswered] of this.#unanswered) {
      const isDropped = (each: Unanswered): boolean => each.origin === origin && each.result.version < version;
      const ids = unanswered.filter(isDropped).map(({ result }) => result.response.id);
      if (ids.length === 0) continue;
      for (const id of ids) this.#parts.marks?.mark(id);
      this.abort(ids);
      this.#setUnanswered(
        digest,
        unanswered.filter((each) => !isDropped(each)),
      );
    }
  }

  #setUnanswered(digest: string, unanswered: readonly Unanswered[]): void {
    if (unanswered.length > 0) this.#unanswered.set(digest, unanswered);
    else this.#unanswered.delete(digest);
  }

  /** Also removes expired entries from the journal: a restart must not bring them back. */
  #withoutExpired(digest: string): readonly Unanswered[] {
    const now = this.#parts.now();
    const all = this.#unanswered.get(digest) ?? [];
    const expired = all.filter(({ until }) => until <= now);
    if (expired.length > 0) this.abort(expired.map(({ result }) => result.response.id));
    return all.filter(({ until }) => until > now);
  }

  #pruneLater(): void {
    this.#pruning ??= setTimeout(() => {
      this.#pruning = undefined;
      for (const digest of this.#unanswered.keys()) this.#setUnanswered(digest, this.#withoutExpired(digest));
      if (this.#unanswered.size > 0) this.#pruneLater();
    }, PRUNE_MILLISECONDS).unref();
  }
}

function markFailed(cause: unknown): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    'The write was applied, but the server could not record its reply on disk.',
    { hint: 'Send the same request again: it is not applied twice.', cause, retryAfterSeconds: 5 },
  );
}
