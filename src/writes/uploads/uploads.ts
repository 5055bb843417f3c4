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

/** An upload as its sender names it. That of another caller, table or branch looks like one that is not there. */
export interface UploadKey {
  readonly id: string;
  readonly owner: string;
  readonly target: WriteTarget;
  /** Absent for the main branch. */
  readonly branchId?: string | undefined;
}

export interface PartOptions {
  readonly mode: InsertMode;
  /** A part that is sent again under its name replaces the first. */
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
  /** Makes sure that this node may write to the table. */
  readonly claim: (table: TableRecord) => Promise<void>;
  /** Milliseconds on a clock that only runs forward. */
  readonly now: () => number;
}

interface Session {
  readonly owner: string;
  readonly target: string;
  readonly parts: Map<string, UploadPart>;
  state: 'open' | 'completing' | 'completed' | 'aborted';
  /** Of its parts; `undefined` while it has none. */
  mode: InsertMode | undefined;
  /** The names of parts that are being received. */
  readonly arriving: string[];
  touchedAt: number;
  outcome?: Promise<WriteResult> | undefined;
}

/**
 * Writes that arrive in several requests and are committed together. They live in this process: after a crash their data
 * is swept, and their senders begin again. The last ones that ended are remembered, because clients repeat the end.
 */
export class Uploads {
  readonly #settings: UploadSettings;
  readonly #sessions = new Map<string, Session>();

  constructor(settings: UploadSettings) {
    this.#settings = settings;
  }

  /** Gives the id of the upload. */
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
   * Gives the rows of the part, which counts only when all of it has arrived before the upload ends. The stream is opened
   * only if the part is accepted.
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

  /** Of its parts, as far as it is known. */
  modeOf(key: UploadKey): InsertMode {
    return this.#find(key)?.mode ?? 'append';
  }

  /** Asked again, it gives the same outcome; after a failure it may be tried again. */
  async complete(key: UploadKey, write: Omit<RowsWrite, 'mode'>): Promise<WriteResult> {
    // The upload itself does not survive a restart, its result does.
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

  /** Asked again, it changes nothing. */
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

  /** As many are remembered as may be open. Of more, the oldest one is forgotten, of this caller's before all. */
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
      // The parts are here, though a batch at another node may have taken the table.
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

  /** Its rows are in the table, though it was not told so: it must not add them again. */
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
