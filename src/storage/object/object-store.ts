import { ServiceError } from '../../errors/service-error.ts';
import type { PartedContent } from '../clone/clone-folder.ts';

export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  readonly modifiedAtMilliseconds: number;
}

/** A part of an object, and the size of the whole. */
export interface ObjectPart {
  readonly content: Buffer;
  readonly objectBytes: number;
}

/** What must hold when the store executes a request, as headers. */
export type Condition = Readonly<Record<string, string>>;

export interface FoundObject {
  readonly content: Buffer;
  /** That the object has not been replaced or removed since. */
  readonly isUnchanged: Condition;
}

/** One bucket or container. Every call is tried again after transient faults, within bounds. */
export interface ObjectStore {
  /** As an address, without a path: names the store in messages. */
  readonly name: string;
  /** `undefined`: no such object. */
  get(key: string): Promise<Buffer | undefined>;
  /** `undefined`: no such object, or it is shorter than `start`. */
  getRange(key: string, start: number, length: number): Promise<ObjectPart | undefined>;
  /** The size in bytes; `undefined`: no such object. */
  measure(key: string): Promise<number | undefined>;
  /** Of an object, as the store gives it. `undefined`: no such object, or the store gives none. */
  findETag(key: string): Promise<string | undefined>;
  put(key: string, content: Buffer): Promise<void>;
  /** In parts, of which only a few are in memory. The object is there when the last one is. */
  upload(key: string, content: PartedContent): Promise<void>;
  /**
   * Whether the object was created. A lost reply is resolved by reading the object back, so writers that compete for one
   * key must bring different contents.
   */
  putIfAbsent(key: string, content: Buffer): Promise<boolean>;
  /** To change it. `undefined`: no such object. */
  find(key: string): Promise<FoundObject | undefined>;
  /**
   * False: the condition does not hold, and nothing was changed. Contents must be unique, also because some stores derive
   * conditions from them. A store that does not know such conditions, and says so, gets the request without.
   */
  putIf(key: string, content: Buffer, condition: Condition): Promise<boolean>;
  /** As `putIf`. Some stores ignore conditions of removals. */
  removeIf(key: string, condition: Condition): Promise<boolean>;
  /** By key, in the order of their bytes. */
  list(prefix: string, limit?: number): AsyncGenerator<StoredObject>;
  /** On the side of the store; the source may be in another bucket of the same store. */
  copy(source: CopySource, key: string): Promise<void>;
  /** Missing ones are fine. */
  remove(keys: readonly string[]): Promise<void>;
  /** Removes uploads that were never completed, and gives how many. */
  removeUnfinished(prefix: string, startedBeforeMilliseconds: number): Promise<number>;
}

export interface CopySource {
  readonly bucket: string;
  readonly key: string;
  readonly bytes: number;
}

/** Not now: a fault of the network or of the store itself. */
export function storeUnreachable(cause: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The object store cannot be reached.', { cause, retryAfterSeconds: 5 });
}

/** The store answers, and refuses: wrong credentials, no permission, no such bucket. `details` are for the log. */
export function storeRefused(reason: string, details?: string): ServiceError {
  const message = `The object store refuses access: ${reason}.`;
  const cause = details === undefined ? undefined : new Error(details);
  return new ServiceError('ServiceUnavailable', message, { cause, retryAfterSeconds: 30 });
}

/** The storage options do not fit: the server must be started with others. */
export function storeMisconfigured(message: string, hint: string): ServiceError {
  return new ServiceError('Unsupported', message, { hint });
}
