import { ServiceError } from '../../errors/service-error.ts';
import { findStoreRefusal } from '../../model/storage/store-refusals.ts';
import type { PartedContent } from '../clone/clone-folder.ts';

export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  readonly modifiedAtMilliseconds: number;
}

/** A part of an object, and the size of the whole object. */
export interface ObjectPart {
  readonly content: Buffer;
  readonly objectBytes: number;
}

/** Headers with a condition that must hold when the store executes a request. */
export type Condition = Readonly<Record<string, string>>;

export interface FoundObject {
  readonly content: Buffer;
  /** Requires that the object was not replaced or removed since. */
  readonly isUnchanged: Condition;
}

/** One bucket or container. Every call is retried after transient faults, within limits. */
export interface ObjectStore {
  /** An address without a path, to name the store in messages. */
  readonly name: string;
  /** `undefined` if there is no such object. */
  get(key: string): Promise<Buffer | undefined>;
  /** `undefined` if there is no such object, or it is shorter than `start`. */
  getRange(key: string, start: number, length: number): Promise<ObjectPart | undefined>;
  /** The size in bytes; `undefined` if there is no such object. */
  measure(key: string): Promise<number | undefined>;
  /** The object's ETag from the store; `undefined` if there is no such object or no ETag. */
  findETag(key: string): Promise<string | undefined>;
  put(key: string, content: Buffer): Promise<void>;
  /** Uploads in parts, of which only a few are in memory. The object exists once the last part is stored. */
  upload(key: string, content: PartedContent): Promise<void>;
  /**
   * Whether the object was created. A lost reply is resolved by reading the object back, so writers that compete for a
   * key must write different contents.
   */
  putIfAbsent(key: string, content: Buffer): Promise<boolean>;
  /** Reads an object in order to change it. `undefined` if there is no such object. */
  find(key: string): Promise<FoundObject | undefined>;
  /**
   * False if the condition does not hold; nothing was changed. Contents must be unique, also because some stores derive
   * conditions from them. If a store reports that it does not support such conditions, the request is sent without.
   */
  putIf(key: string, content: Buffer, condition: Condition): Promise<boolean>;
  /** Like `putIf`. Some stores ignore conditions on removals. */
  removeIf(key: string, condition: Condition): Promise<boolean>;
  /** Sorted by key, byte by byte. */
  list(prefix: string, limit?: number): AsyncGenerator<StoredObject>;
  /** Copies inside the store; the source may be in another bucket of the same store. */
  copy(source: CopySource, key: string): Promise<void>;
  /** Missing objects are ignored. */
  remove(keys: readonly string[]): Promise<void>;
  /** Removes uploads that were never completed, and returns how many. */
  removeUnfinished(prefix: string, startedBeforeMilliseconds: number): Promise<number>;
}

export interface CopySource {
  readonly bucket: string;
  readonly key: string;
  readonly bytes: number;
}

/** A transient fault of the network or the store. */
export function storeUnreachable(cause: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The object store cannot be reached.', { cause, retryAfterSeconds: 5 });
}

/** The store answers, and refuses: no permission, or something that it does not expect. */
export function storeRefused(reason: string): ServiceError {
  return refused(`The object store refuses access: ${reason}.`);
}

/** `code` is that of the store. `details` are for the log. */
export function storeRefusedBy(status: number, code: string | undefined, details: string): ServiceError {
  const known = code === undefined ? undefined : findStoreRefusal(code);
  const suffix = code === undefined ? '' : ` (${code})`;
  const message = known?.message ?? `The object store refuses access: status ${status}`;
  return refused(`${message}${suffix}.`, new Error(details));
}

export function storeCredentialsMissing(cause: unknown): ServiceError {
  return refused('The server cannot get its credentials for the object store.', cause);
}

function refused(message: string, cause?: unknown): ServiceError {
  return new ServiceError('ServiceUnavailable', message, { cause, retryAfterSeconds: 30 });
}

/** The storage options are wrong: the server must be started with others. */
export function storeMisconfigured(message: string, hint: string): ServiceError {
  return new ServiceError('Unsupported', message, { hint });
}
