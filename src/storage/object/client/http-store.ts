import { ServiceError } from '../../../errors/service-error.ts';
import type { PartedContent } from '../../clone/clone-folder.ts';
import { passParts } from '../../clone/parts.ts';
import { STORE_REFUSALS, findStoreRefusal } from '../../../model/storage/store-refusals.ts';
import { storeUnreachable } from '../object-store.ts';
import type { Condition, FoundObject, ObjectPart } from '../object-store.ts';
import { findCode, toRefusal } from './http.ts';
import type { StoreHttp, StoreReply, StoreRequest } from './http.ts';

/** Operations on objects that are the same for all stores. */
export abstract class HttpStore {
  readonly #http: StoreHttp;

  constructor(http: StoreHttp) {
    this.#http = http;
  }

  protected abstract url(key: string): string;
  /** Headers of a PUT of an object. */
  protected abstract readonly putHeaders: Readonly<Record<string, string>>;
  /** Makes a PUT fail if the object exists. */
  protected abstract readonly ifAbsent: Condition;
  /** Makes a PUT or DELETE fail if the object has changed since it was read with these headers. */
  protected abstract ifUnchanged(headers: Headers): Condition;
  /** Headers of a DELETE of an object. */
  protected abstract readonly removeHeaders: Readonly<Record<string, string>>;

  /** Larger objects are uploaded in parts. */
  protected abstract readonly partBytes: number;
  protected abstract uploadParts(key: string, content: PartedContent): Promise<void>;

  async get(key: string): Promise<Buffer | undefined> {
    const { status, body } = await this.send({ method: 'GET', url: this.url(key) }, [200, 404]);
    return status === 404 ? undefined : body;
  }

  async getRange(key: string, start: number, length: number): Promise<ObjectPart | undefined> {
    const headers = { range: `bytes=${start}-${start + length - 1}` };
    return toPart(await this.send({ method: 'GET', url: this.url(key), headers }, [206, 404, 416]));
  }

  async measure(key: string): Promise<number | undefined> {
    const { status, headers } = await this.send({ method: 'HEAD', url: this.url(key) }, [200, 404]);
    return status === 404 ? undefined : Number(headers.get('content-length'));
  }

  async findETag(key: string): Promise<string | undefined> {
    const { headers } = await this.send({ method: 'HEAD', url: this.url(key) }, [200, 404]);
    return headers.get('etag') ?? undefined;
  }

  async put(key: string, content: Buffer): Promise<void> {
    const request = { method: 'PUT', url: this.url(key), headers: this.putHeaders, body: content } as const;
    await this.send(request, [...CREATED]);
  }

  async upload(key: string, content: PartedContent): Promise<void> {
    if (content.bytes > this.partBytes) await this.uploadParts(key, content);
    else if (content.bytes === 0) await this.put(key, Buffer.alloc(0));
    else await passParts(content, content.bytes, async (body) => this.put(key, body));
  }

  /** 409 and 412 mean that the object exists. */
  async putIfAbsent(key: string, content: Buffer): Promise<boolean> {
    const headers = { ...this.putHeaders, ...this.ifAbsent };
    const request = { method: 'PUT', url: this.url(key), headers, body: content } as const;
    const put = async (): Promise<StoreReply> => this.send(request, [...CREATED, 409, 412]);
    return resolveCreated(put, async () => this.get(key), content);
  }

  async find(key: string): Promise<FoundObject | undefined> {
    const { status, headers, body } = await this.send({ method: 'GET', url: this.url(key) }, [200, 404]);
    return status === 404 ? undefined : { content: body, isUnchanged: this.ifUnchanged(headers) };
  }

  async putIf(key: string, content: Buffer, condition: Condition): Promise<boolean> {
    const request = { method: 'PUT', url: this.url(key), headers: this.putHeaders, body: content } as const;
    return this.#sendIf(request, condition, async () => (await this.get(key))?.equals(content) === true);
  }

  async removeIf(key: string, condition: Condition): Promise<boolean> {
    const request = { method: 'DELETE', url: this.url(key), headers: this.removeHeaders } as const;
    return this.#sendIf(request, condition, async () => (await this.get(key)) === undefined);
  }

  /** Whether the request was executed; throws if that is unknown. */
  async #sendIf(request: StoreRequest, condition: Condition, isDone: () => Promise<boolean>): Promise<boolean> {
    const conditional = { ...request, headers: { ...request.headers, ...condition } };
    let reply: StoreReply;
    try {
      reply = await this.send(conditional, [...EXECUTED, 404, 412, NOT_IMPLEMENTED]);
      if (reply.status === NOT_IMPLEMENTED) reply = await this.send(request, [...EXECUTED, 404]);
    } catch (error) {
      if (await isDone()) return true;
      throw error;
    }
    if (EXECUTED.has(reply.status)) return true;
    if (!reply.isRepeated) return false;
    if (await isDone()) return true;
    throw storeUnreachable(new Error('A request without a reply may have been executed, and its result replaced.'));
  }

  protected async send(request: StoreRequest, expected: readonly number[]): Promise<StoreReply> {
    const reply = await this.#http.send(request, expected);
    // Without the bucket, it is not known whether the object exists.
    if (reply.status === 404 && isBucketMissing(reply)) throw toRefusal(request, reply);
    return reply;
  }
}

function isBucketMissing(reply: StoreReply): boolean {
  const code = findCode(reply);
  return code !== undefined && findStoreRefusal(code) === STORE_REFUSALS.bucket;
}

const CREATED: ReadonlySet<number> = new Set([200, 201]);
const EXECUTED: ReadonlySet<number> = new Set([200, 201, 202, 204]);
/** S3's status for a condition that this kind of request does not support. */
const NOT_IMPLEMENTED = 501;

/** Empty for a store that does not identify its objects. */
export function toCondition(header: string, identity: string | null): Condition {
  return identity === null ? {} : { [header]: identity };
}

/**
 * Whether a conditional PUT created the object. If an earlier attempt may have been executed without a reply, a refusal
 * proves nothing: the content shows whose object it is.
 */
async function resolveCreated(
  put: () => Promise<StoreReply>,
  read: () => Promise<Buffer | undefined>,
  content: Buffer,
): Promise<boolean> {
  let reply: StoreReply;
  try {
    reply = await put();
  } catch (error) {
    const found = await read();
    // Not found yet: the request may still be on its way.
    if (found === undefined) throw error;
    return found.equals(content);
  }
  if (CREATED.has(reply.status)) return true;
  if (!reply.isRepeated) return false;
  const found = await read();
  // S3 refuses a write with 409 while an earlier one of the same key, possibly ours, is running.
  if (found === undefined) throw storeUnreachable(new Error('A request without a reply may still be executed.'));
  return found.equals(content);
}

/** The reply to a range request. Some stores return an empty part for a range past the end instead of 416. */
function toPart({ status, headers, body }: StoreReply): ObjectPart | undefined {
  if (status !== 206 || body.length === 0) return undefined;
  const [, size] = /\/(\d+)$/.exec(headers.get('content-range') ?? '') ?? [];
  if (size === undefined) throw new ServiceError('Internal', 'The object store sent a part without its size.');
  return { content: body, objectBytes: Number(size) };
}
