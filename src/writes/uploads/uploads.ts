import { randomUUID } from 'node:crypto';
import { ServiceError } from '../../errors/service-error.ts';
import type { EngineLimits } from '../../model/limits.ts';
import type { Schema } from '../../model/schema.ts';
import { branchKey } from '../../model/table.ts';
import type { SpooledChunk } from './spool.ts';
import type { WriteTarget } from '../../engine/engine.ts';
import type { WriteResult } from '../write.ts';

export type InsertMode = 'append' | 'overwrite';

/** An upload as its sender names it. That of another caller, or for another table, looks like one that is not there. */
export interface UploadKey {
  readonly id: string;
  readonly owner: string;
  readonly target: WriteTarget;
}

/** One stream of an upload. */
export interface UploadPart {
  readonly schema: Schema;
  readonly chunks: readonly SpooledChunk[];
}

/** All that has arrived. Without parts the mode is not known. */
export interface UploadData {
  readonly mode: InsertMode | undefined;
  readonly parts: readonly UploadPart[];
}

export interface PartOptions {
  readonly mode: InsertMode;
  /** A part that is sent again under its name replaces the first. */
  readonly name: string | undefined;
}

export interface UploadSettings {
  readonly limits: Pick<EngineLimits, 'uploadSessionsMax' | 'uploadPartsMax' | 'uploadIdleSeconds'>;
  /** Milliseconds on a clock that only runs forward. */
  readonly now: () => number;
  /** Removes chunks that are no longer needed. */
  readonly discard: (chunks: readonly SpooledChunk[]) => Promise<void>;
}

type CommitUpload = (data: UploadData) => Promise<WriteResult>;

interface Session {
  readonly owner: string;
  readonly tableKey: string;
  readonly parts: Map<string, UploadPart>;
  state: 'open' | 'completing' | 'completed' | 'aborted';
  mode: InsertMode | undefined;
  /** Parts that are being received. */
  arriving: number;
  touchedAt: number;
  outcome: Promise<WriteResult> | undefined;
}

/**
 * Writes that arrive in several requests and are committed together. They live in this process: after a crash their data
 * is swept, and their senders begin again. Those that ended are remembered for a while, because clients repeat the end.
 */
export class Uploads {
  readonly #settings: UploadSettings;
  readonly #sessions = new Map<string, Session>();

  constructor(settings: UploadSettings) {
    this.#settings = settings;
  }

  async begin({ owner, target }: Omit<UploadKey, 'id'>): Promise<string> {
    await this.expire();
    const { uploadSessionsMax } = this.#settings.limits;
    const running = [...this.#sessions.values()].filter(({ state }) => state === 'open' || state === 'completing');
    if (running.length >= uploadSessionsMax) {
      throw new ServiceError('ServiceUnavailable', `${uploadSessionsMax} uploads are already open.`, {
        hint: 'Complete or abort one, or try again later.',
        retryAfterSeconds: 5,
      });
    }
    const id = randomUUID();
    this.#sessions.set(id, {
      owner,
      tableKey: branchKey(target.location, target.branch),
      parts: new Map(),
      state: 'open',
      mode: undefined,
      arriving: 0,
      touchedAt: this.#settings.now(),
      outcome: undefined,
    });
    return id;
  }

  /** The part counts only when all of it has arrived before the upload ends. */
  async addPart(key: UploadKey, options: PartOptions, receive: () => Promise<UploadPart>): Promise<UploadPart> {
    const session = this.#require(key);
    if (session.state !== 'open') throw notOpen(session.state);
    this.#requireAcceptable(session, options);
    session.mode = options.mode;
    session.arriving += 1;
    let part: UploadPart;
    try {
      part = await receive();
    } finally {
      session.arriving -= 1;
      session.touchedAt = this.#settings.now();
    }
    if (session.state !== 'open') {
      await this.#settings.discard(part.chunks);
      throw notOpen(session.state);
    }
    const name = options.name ?? randomUUID();
    const replaced = session.parts.get(name);
    session.parts.set(name, part);
    if (replaced !== undefined) await this.#settings.discard(replaced.chunks);
    return part;
  }

  /** Asked again, it gives the same outcome; after a failure it may be tried again. */
  async complete(key: UploadKey, commit: CommitUpload): Promise<WriteResult> {
    const session = this.#require(key);
    if (session.outcome !== undefined) return session.outcome;
    if (session.state !== 'open') throw notOpen(session.state);
    if (session.arriving > 0) {
      throw new ServiceError('InvalidInput', `${session.arriving} parts of the upload are still arriving.`, {
        hint: 'Complete it when all of them are answered.',
      });
    }
    session.state = 'completing';
    session.outcome = this.#commit(session, commit);
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
      if (session.touchedAt > oldest || session.arriving > 0 || session.state === 'completing') continue;
      session.state = session.state === 'open' ? 'aborted' : session.state;
      this.#sessions.delete(id);
      await this.#empty(session);
    }
  }

  async #commit(session: Session, commit: CommitUpload): Promise<WriteResult> {
    let isCommitted = false;
    try {
      const result = await commit({ mode: session.mode, parts: [...session.parts.values()] });
      session.touchedAt = this.#settings.now();
      isCommitted = result.kind === 'committed' || result.kind === 'replayed';
      return result;
    } finally {
      session.state = isCommitted ? 'completed' : 'open';
      if (isCommitted) await this.#empty(session);
      else session.outcome = undefined;
    }
  }

  async #empty(session: Session): Promise<void> {
    const chunks = [...session.parts.values()].flatMap((part) => part.chunks);
    session.parts.clear();
    await this.#settings.discard(chunks);
  }

  #requireAcceptable({ parts, arriving, mode }: Session, options: PartOptions): void {
    const { uploadPartsMax } = this.#settings.limits;
    if (parts.size + arriving >= uploadPartsMax) {
      throw new ServiceError('InvalidInput', `An upload has at most ${uploadPartsMax} parts.`, {
        hint: 'Send fewer and larger parts.',
      });
    }
    if (mode === undefined || mode === options.mode) return;
    throw new ServiceError('InvalidInput', `The upload began with the mode ${mode}, which all of its parts must have.`);
  }

  #require({ id, owner, target }: UploadKey): Session {
    const session = this.#sessions.get(id);
    const isTheirs = session?.owner === owner && session.tableKey === branchKey(target.location, target.branch);
    if (session === undefined || !isTheirs) {
      throw new ServiceError('InvalidInput', 'The table has no such upload of this caller.', {
        hint: 'Begin one with multipart_write/create; one that was left alone for long, or while the service was restarted, is gone.',
      });
    }
    session.touchedAt = this.#settings.now();
    return session;
  }
}

function notOpen(state: Session['state']): ServiceError {
  const shown = state === 'completing' ? 'being completed' : state;
  return new ServiceError('InvalidInput', `The upload is ${shown} and takes nothing more.`);
}
