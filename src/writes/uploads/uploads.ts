import { randomUUID } from 'node:crypto';
import type { CheckedStream } from '../../arrow/stream/checked-stream.ts';
import type { WriteTarget } from '../../engine/engine.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import type { EngineLimits } from '../../model/limits.ts';
import { branchKey } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import { formatCount } from '../../model/value-text.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import type { WriteResult } from '../write.ts';
import type { InsertMode, Inserts, RowsWrite, UploadPart } from './inserts.ts';
import type { Spool } from './spool.ts';

/** Identifies an upload for its sender. One of another caller, table or branch appears not to exist. */
export interface UploadKey {
  readonly id: string;
  readonly owner: string;
  readonly target: WriteTarget;
  /** Absent for the main branch. */
  readonly branchId?: string | undefined;
}

export interface PartOptions {
  readonly mode: InsertMode;
  /** A part sent again under the same name replaces the first. */
  readonly name: string | undefined;
}

export interface UploadSettings {
  readonly limits: Pick<
    EngineLimits,
    'uploadSessionsMax' | 'uploadSessionsPerCallerMax' | 'uploadPartsMax' | 'uploadIdleSeconds'
  >;
  readonly inserts: Pick<Inserts, 'receivePart' | 'insertParts'>;
  readonly spool: Pick<Spool, 'remove'>;
  readonly idempotency: Pick<Idempotency, 'findReplay'>;
  /** Ensures that this node may write to the table. */
  readonly claim: (table: TableRecord) => Promise<void>;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
}

interface Session {
  readonly owner: string;
  readonly target: string;
  readonly parts: Map<string, UploadPart>;
  state: 'open' | 'completing' | 'completed' | 'aborted';
  /** The mode of its parts; `undefined` while it has none. */
  mode: InsertMode | undefined;
  /** The names of parts that are being received. */
  readonly arriving: string[];
  touchedAt: number;
  outcome?: Promise<WriteResult> | undefined;
}

/**
 * Writes that arrive in several requests and are committed together. They live in this process: a restart sweeps their
 * data, and clients begin again. Recently ended uploads are remembered, because clients repeat the last request.
 */
export class Uploads {
  readonly #settings: UploadSettings;
  readonly #sessions = new Map<string, Session>();

  constructor(settings: UploadSettings) {
    this.#settings = settings;
  }

  /** Returns the id of the upload. */
  async begin(key: Omit<UploadKey, 'id'>): Promise<string> {
    const { owner } = key;
    await this.expire();
    const { limits, now } = this.#settings;
    const { uploadSessionsMax, uploadSessionsPerCallerMax } = limits;
    const running = [...this.#sessions.values()].filter((session) => !isEnded(session));
    const own = running.filter((session) => session.owner === owner).length;
    if (own >= uploadSessionsPerCallerMax) throw tooMany(`${own} uploads of this caller`);
    if (running.length >= uploadSessionsMax) throw tooMany(`${running.length} uploads`);
    this.#forgetEnded(owner);
    const id = randomUUID();
    this.#sessions.set(id, {
      owner,
      target: targetKey(key),
      parts: new Map(),
      state: 'open',
      mode: undefined,
      arriving: [],
      touchedAt: now(),
    });
    return id;
  }

  /**
   * Returns the number of rows in the part, which counts only if it arrives completely before the upload ends. Opens
   * the stream only if the part is accepted.
   */
  async addPart(key: UploadKey, open: () => Promise<CheckedStream>, options: PartOptions): Promise<number> {
    const { inserts, spool, now } = this.#settings;
    const session = this.#require(key);
    if (session.state !== 'open') throw notOpen(session.state);
    const name = options.name ?? randomUUID();
    this.#requireAcceptable(session, name, options.mode);
    session.mode = options.mode;
    session.arriving.push(name);
    let part: UploadPart;
    try {
      part = await inserts.receivePart({ target: key.target, caller: key.owner }, await open(), options.mode);
    } catch (error) {
      if (session.parts.size === 0 && session.arriving.length === 1) session.mode = undefined;
      throw error;
    } finally {
      session.arriving.splice(session.arriving.indexOf(name), 1);
      session.touchedAt = now();
    }
    if (session.state !== 'open') {
      await spool.remove(part.chunks);
      throw notOpen(session.state);
    }
    const replaced = session.parts.get(name);
    session.parts.set(name, part);
    if (replaced !== undefined) await spool.remove(replaced.chunks);
    return part.chunks.reduce((sum, { rows }) => sum + rows, 0);
  }

  /** The mode of its parts; `append` while it is unknown. */
  modeOf(key: UploadKey): InsertMode {
    return this.#find(key)?.mode ?? 'append';
  }

  /** Repeating it returns the same outcome; after a failure, it tries again. */
  async complete(key: UploadKey, write: Omit<RowsWrite, 'mode'>): Promise<WriteResult> {
    // The upload itself does not survive a restart, but its result does.
    const replayed = await this.#settings.idempotency.findReplay(write.request);
    if (replayed !== undefined) {
      await this.#end(key, replayed);
      return replayed;
    }
    const session = this.#require(key);
    if (session.outcome !== undefined) return session.outcome;
    if (session.state !== 'open') throw notOpen(session.state);
    if (session.arriving.length > 0) {
      const message = `${session.arriving.length} parts of the upload are still being received.`;
      throw invalidInput(message, 'Complete it after all parts have been acknowledged.');
    }
    session.state = 'completing';
    session.outcome = this.#commit(session, write);
    return session.outcome;
  }

  /** Repeating it changes nothing. */
  async abort(key: UploadKey): Promise<void> {
    const session = this.#require(key);
    if (session.state === 'aborted') return;
    if (session.state !== 'open') throw notOpen(session.state);
    session.state = 'aborted';
    await this.#empty(session);
  }

  /** Drops uploads that have been idle for too long. */
  async expire(): Promise<void> {
    const oldest = this.#settings.now() - this.#settings.limits.uploadIdleSeconds * 1000;
    for (const [id, session] of this.#sessions) {
      if (session.touchedAt > oldest || session.arriving.length > 0 || session.state === 'completing') continue;
      session.state = session.state === 'open' ? 'aborted' : session.state;
      this.#sessions.delete(id);
      await this.#empty(session);
    }
  }

  /** Remembers as many ended uploads as may be open. Beyond that, forgets the oldest, first those of this caller. */
  #forgetEnded(owner: string): void {
    const { uploadSessionsMax, uploadSessionsPerCallerMax } = this.#settings.limits;
    const ended = [...this.#sessions].filter(([, session]) => isEnded(session));
    const own = ended.filter(([, session]) => session.owner === owner);
    const excess = own.length >= uploadSessionsPerCallerMax ? own : ended.length >= uploadSessionsMax ? ended : [];
    const [oldest] = excess.toSorted(([, one], [, other]) => one.touchedAt - other.touchedAt);
    if (oldest !== undefined) this.#sessions.delete(oldest[0]);
  }

  async #commit(session: Session, write: Omit<RowsWrite, 'mode'>): Promise<WriteResult> {
    const { mode = 'append', parts } = session;
    let isCommitted = false;
    try {
      // The parts are on this node, but a batch on another node may have taken the table.
      await this.#settings.claim(write.table);
      const result = await this.#settings.inserts.insertParts({ ...write, mode }, [...parts.values()]);
      session.touchedAt = this.#settings.now();
      isCommitted = result.kind === 'committed' || result.kind === 'replayed';
      return result;
    } finally {
      session.state = isCommitted ? 'completed' : 'open';
      if (isCommitted) await this.#empty(session);
      else session.outcome = undefined;
    }
  }

  /** The rows are in the table although the upload did not see the result: they must not be added again. */
  async #end(key: UploadKey, result: WriteResult): Promise<void> {
    const session = this.#find(key);
    if (session?.state !== 'open') return;
    session.state = 'completed';
    session.outcome = Promise.resolve(result);
    await this.#empty(session);
  }

  async #empty(session: Session): Promise<void> {
    const chunks = [...session.parts.values()].flatMap((part) => part.chunks);
    session.parts.clear();
    await this.#settings.spool.remove(chunks);
  }

  #requireAcceptable({ parts, arriving, mode }: Session, name: string, givenMode: InsertMode): void {
    const { uploadPartsMax } = this.#settings.limits;
    if (new Set([...parts.keys(), ...arriving, name]).size > uploadPartsMax) {
      throw invalidInput(
        `An upload can have at most ${formatCount(uploadPartsMax)} parts.`,
        'Send fewer, larger parts.',
      );
    }
    if (mode === undefined || mode === givenMode) return;
    throw invalidInput(`The upload started with the mode ${mode}; all of its parts must use that mode.`);
  }

  #find(key: UploadKey): Session | undefined {
    const session = this.#sessions.get(key.id);
    return session?.owner === key.owner && session.target === targetKey(key) ? session : undefined;
  }

  #require(key: UploadKey): Session {
    const session = this.#find(key);
    if (session === undefined) {
      const hint =
        'Start one with multipart_write/create. An upload ends when it is idle for too long, when the server restarts, or when another node takes over the table.';
      throw invalidInput('The table has no such upload of this caller.', hint);
    }
    session.touchedAt = this.#settings.now();
    return session;
  }
}

function targetKey({ target, branchId = '' }: Omit<UploadKey, 'id'>): string {
  return `${branchKey(target.location, target.branch)}\u0000${branchId}`;
}

function isEnded({ state }: Session): boolean {
  return state === 'completed' || state === 'aborted';
}

function tooMany(what: string): ServiceError {
  return new ServiceError('ServiceUnavailable', `${what} are already open.`, {
    hint: 'Complete or abort one, or try again later.',
    retryAfterSeconds: 5,
  });
}

function notOpen(state: Session['state']): ServiceError {
  const shown = state === 'completing' ? 'being completed' : state;
  return invalidInput(`The upload is ${shown} and accepts no more parts.`);
}
