import type { Journal, JournalEntry } from '../../catalog/catalog.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import type { CommitPlan, MultiCommitPlan } from '../../engine/engine.ts';
import type { CommitKind } from '../../model/table.ts';
import { originOf, toReplayed } from '../journal-entries.ts';
import type { Fields, JournaledWrite, SucceededWrite, WriteRequest, WriteResult } from '../write.ts';
import type { Responses } from './responses.ts';

interface RunningRequest {
  readonly request: WriteRequest;
  readonly done: Promise<void>;
}

/** The target of a write, and its plan. */
type WrittenTable = Pick<JournaledWrite, 'table' | 'branch' | 'growth'> & {
  readonly plan?: CommitPlan<unknown> | MultiCommitPlan<unknown> | undefined;
};

type RepeatableEntry = Pick<JournalEntry, 'id' | 'digest' | 'key'>;

/**
 * Prevents a repeated request from being applied again. With an Idempotency-Key, that is any request with the same key
 * while the key is kept. Without one, it is an identical request (same caller, table, address and body), only if the
 * first write was committed and its response never begun, within a limited window.
 */
export class Idempotency {
  readonly #journal: Journal;
  readonly #responses: Responses;
  /** By key and caller, or by digest. */
  readonly #running = new Map<string, Set<RunningRequest>>();
  readonly #inDoubt = new Map<string, RepeatableEntry>();

  constructor(journal: Journal, responses: Responses) {
    this.#journal = journal;
    this.#responses = responses;
  }

  /** Writes without a response yet: waiting, committing or being recorded. */
  get runningCount(): number {
    return [...this.#running.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Runs a request after those that it may repeat: with the same key, or identical and disconnected. */
  async serialize<Value>(request: WriteRequest, run: () => Promise<Value>): Promise<Value> {
    // A create that overwrites a table runs two operations for one request.
    if (request.key !== undefined && this.#runningLike(request).some((other) => other.request === request))
      return run();
    const end = await this.#begin(request);
    try {
      return await run();
    } finally {
      end();
    }
  }

  /** As `serialize`, for a write. Without a key, the request ends when its response is marked or released. */
  async serializeWrite(
    request: WriteRequest,
    written: WrittenTable | undefined,
    work: () => Promise<WriteResult>,
  ): Promise<WriteResult> {
    const { caller } = request;
    const origin = written && originOf({ caller, tableId: written.table.id, branch: written.branch });
    const run = async (): Promise<WriteResult> => withRemoval(await work(), written, origin);
    if (request.key !== undefined) return this.serialize(request, run);
    const end = await this.#begin(request);
    let isUnsent = false;
    try {
      const result = await run();
      isUnsent = this.#responses.track({ digest: request.digest(), origin }, result, end);
      return result;
    } finally {
      if (!isUnsent) end();
    }
  }

  /**
   * The result of the same request, if it was applied before. Refuses while the outcome of that request is in doubt.
   */
  async findReplay(request: WriteRequest): Promise<SucceededWrite | undefined> {
    const { caller, key } = request;
    const digest = request.digest();
    if (key === undefined) {
      for (const entry of this.#inDoubt.values()) {
        if (entry.key === undefined && entry.digest === digest) throw stillInDoubt();
      }
      return this.#responses.takeUnanswered(digest);
    }
    const entry = await this.#findByKey(caller, key);
    if (entry === undefined) return undefined;
    if (entry.digest !== digest) throw keyUsedByAnotherRequest();
    if (entry.state === 'pending') throw stillInDoubt();
    return toReplayed(entry);
  }

  /** Whether the key of the request is stored. Does not need its body. */
  async hasKey({ caller, key }: Pick<WriteRequest, 'caller' | 'key'>): Promise<boolean> {
    return key !== undefined && (await this.#findByKey(caller, key)) !== undefined;
  }

  addInDoubt(entry: RepeatableEntry): void {
    this.#inDoubt.set(entry.id, entry);
  }

  /** `committed`: the entry of a write whose client got an error; `undefined` if it was not committed. */
  endInDoubt(id: string, committed: JournalEntry | undefined, isOwn: boolean): void {
    this.#inDoubt.delete(id);
    if (committed === undefined || committed.key !== undefined) return;
    if (isOwn || this.#responses.isUnanswered(committed)) this.#responses.addUnanswered(committed);
  }

  async #findByKey(caller: string, key: string): Promise<JournalEntry | undefined> {
    const entry = await this.#journal.findByKey(caller, key);
    return entry === undefined || this.#responses.isRemovable(entry.id) ? undefined : entry;
  }

  async #begin(request: WriteRequest): Promise<() => void> {
    for (;;) {
      const blocking = this.#runningLike(request).find(
        (other) => request.key !== undefined || other.request.signal().aborted,
      );
      if (blocking === undefined) break;
      await blocking.done;
    }
    const name = nameOf(request);
    let resolve: (() => void) | undefined;
    const done = new Promise<void>((resolveDone) => {
      resolve = resolveDone;
    });
    const running = { request, done };
    const same = this.#running.get(name) ?? new Set();
    this.#running.set(name, same.add(running));
    return () => {
      same.delete(running);
      if (same.size === 0) this.#running.delete(name);
      resolve?.();
    };
  }

  #runningLike(request: WriteRequest): readonly RunningRequest[] {
    return [...(this.#running.get(nameOf(request)) ?? [])];
  }
}

function withRemoval(result: WriteResult, written: WrittenTable | undefined, origin: string | undefined): WriteResult {
  if (result.kind !== 'committed' || result.response === undefined) return result;
  if (written === undefined || origin === undefined || !removesRows(written, result.fields)) return result;
  return { ...result, response: { ...result.response, removal: { origin, version: result.version } } };
}

const REMOVES_ROWS: ReadonlySet<CommitKind> = new Set(['delete', 'overwrite', 'restore']);

function removesRows({ plan, growth }: WrittenTable, { num_deleted_rows: deleted }: Fields): boolean {
  if (typeof deleted === 'number') return deleted > 0;
  if (typeof growth === 'object' && growth.replacesAll === true) return true;
  return plan !== undefined && 'kinds' in plan && plan.kinds.some((kind) => REMOVES_ROWS.has(kind));
}

function nameOf(request: WriteRequest): string {
  const { caller, key } = request;
  return key === undefined ? `digest ${request.digest()}` : `key ${caller} ${key}`;
}

function keyUsedByAnotherRequest(): ServiceError {
  const hint = 'Use a new key for each request; reuse a key only to retry the same request.';
  return invalidInput('The Idempotency-Key was used for another request.', hint);
}

function stillInDoubt(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'It is not known yet whether the same request was applied before.', {
    hint: 'Try again later: the server is finding out.',
    retryAfterSeconds: 1,
    outcome: 'unknown',
  });
}
