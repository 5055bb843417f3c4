import { createHash } from 'node:crypto';
import pLimit from 'p-limit';
import { PART_BYTES } from '../../clone/parts.ts';
import type { PartedContent } from '../../clone/clone-folder.ts';
import { storeRefused } from '../object-store.ts';
import type { Condition, CopySource, ObjectStore, StoredObject } from '../object-store.ts';
import { encodeKey, encodeQuery } from './http.ts';
import type { StoreHttp, StoreReply, StoreRequest } from './http.ts';
import { HttpStore, toCondition } from './http-store.ts';
import { copyInParts, uploadInParts } from './multipart.ts';
import { escapeXml, findElements, findText, requireText } from './xml.ts';

/** The differences between S3 and Google Cloud Storage's XML API, which is modeled on it. */
export interface Dialect {
  /** The prefix of headers, such as `x-amz-`. */
  readonly headerPrefix: string;
  /** Makes a PUT fail with 412 if the object exists. */
  readonly ifAbsent: Condition;
  /** The reply header that identifies this content of the object. */
  readonly identityHeader: string;
  /** The request header that makes it fail with 412 if the object has another identity. */
  readonly conditionHeader: string;
  /** Whether up to a thousand objects can be deleted with one request. */
  readonly hasBulkRemoval: boolean;
  /** Larger objects are copied in parts. */
  readonly copyBytesMax: number;
}

export interface BucketSettings {
  readonly name: string;
  readonly bucket: string;
  /** The address of the bucket, without a trailing slash. */
  readonly url: string;
  readonly dialect: Dialect;
  readonly http: StoreHttp;
}

const PAGE_KEYS = 1000;
/** Concurrent requests per call. */
const CONCURRENT_MAX = 16;

/** A bucket of S3, of a compatible store, or of Google Cloud Storage. */
export class BucketStore extends HttpStore implements ObjectStore {
  protected readonly putHeaders = {};
  protected readonly removeHeaders = {};
  readonly #settings: BucketSettings;

  constructor(settings: BucketSettings) {
    super(settings.http);
    this.#settings = settings;
  }

  protected get ifAbsent(): Condition {
    return this.#settings.dialect.ifAbsent;
  }

  protected ifUnchanged(headers: Headers): Condition {
    const { identityHeader, conditionHeader } = this.#settings.dialect;
    return toCondition(conditionHeader, headers.get(identityHeader));
  }

  get name(): string {
    return this.#settings.name;
  }

  async *list(prefix: string, limit = Infinity): AsyncGenerator<StoredObject> {
    let left = limit;
    let token: string | undefined;
    do {
      const page = await this.#listPage(prefix, Math.min(left, PAGE_KEYS), token);
      for (const entry of findElements(page, 'Contents')) {
        yield {
          key: requireText(entry, 'Key'),
          bytes: Number(requireText(entry, 'Size')),
          modifiedAtMilliseconds: Date.parse(requireText(entry, 'LastModified')),
        };
        left -= 1;
      }
      token = findText(page, 'IsTruncated') === 'true' ? requireText(page, 'NextContinuationToken') : undefined;
    } while (token !== undefined && left > 0);
  }

  async copy({ bucket, key: source, bytes }: CopySource, key: string): Promise<void> {
    const { headerPrefix, copyBytesMax } = this.#settings.dialect;
    const from = `/${bucket}/${encodeKey(source)}`;
    if (bytes > copyBytesMax) {
      await copyInParts(this.#newObject(key), { source: from, bytes, headerPrefix, partBytes: copyBytesMax });
      return;
    }
    const headers = { [`${headerPrefix}copy-source`]: from };
    const { body } = await this.send({ method: 'PUT', url: this.url(key), headers }, [200]);
    requireNoError(body, 'a copy failed');
  }

  protected get partBytes(): number {
    return Math.min(PART_BYTES, this.#settings.dialect.copyBytesMax);
  }

  protected async uploadParts(key: string, content: PartedContent): Promise<void> {
    await uploadInParts(this.#newObject(key), content, this.partBytes);
  }

  async remove(keys: readonly string[]): Promise<void> {
    if (this.#settings.dialect.hasBulkRemoval && keys.length > 1) {
      for (let at = 0; at < keys.length; at += PAGE_KEYS) await this.#removePage(keys.slice(at, at + PAGE_KEYS));
      return;
    }
    const limit = pLimit(CONCURRENT_MAX);
    await limit.map([...keys], async (key) => this.send({ method: 'DELETE', url: this.url(key) }, [200, 204, 404]));
  }

  async removeUnfinished(prefix: string, startedBeforeMilliseconds: number): Promise<number> {
    let removed = 0;
    let marker: Readonly<Record<string, string>> | undefined = {};
    while (marker !== undefined) {
      const request = {
        method: 'GET',
        url: `${this.url('')}${encodeQuery({ uploads: '', prefix, ...marker })}`,
      } as const;
      const page = (await this.send(request, [200])).body.toString('utf8');
      for (const upload of findElements(page, 'Upload')) {
        if (Date.parse(requireText(upload, 'Initiated')) >= startedBeforeMilliseconds) continue;
        const uploadId = requireText(upload, 'UploadId');
        const url = `${this.url(requireText(upload, 'Key'))}${encodeQuery({ uploadId })}`;
        await this.send({ method: 'DELETE', url }, [204, 404]);
        removed += 1;
      }
      marker = nextUploads(page);
    }
    return removed;
  }

  #newObject(key: string) {
    const send = async (request: StoreRequest): Promise<StoreReply> => this.send(request, [200, 204]);
    return { send, url: this.url(key) };
  }

  async #listPage(prefix: string, keysMax: number, token: string | undefined): Promise<string> {
    const query = encodeQuery({
      'list-type': '2',
      'max-keys': String(keysMax),
      prefix,
      ...(token === undefined ? {} : { 'continuation-token': token }),
    });
    const { body } = await this.send({ method: 'GET', url: `${this.url('')}${query}` }, [200]);
    return body.toString('utf8');
  }

  async #removePage(keys: readonly string[]): Promise<void> {
    const objects = keys.map((key) => `<Object><Key>${escapeXml(key)}</Key></Object>`).join('');
    const body = Buffer.from(`<Delete xmlns="${S3_NAMESPACE}">${objects}<Quiet>true</Quiet></Delete>`);
    const headers = {
      'content-type': 'application/xml',
      'content-md5': createHash('md5').update(body).digest('base64'),
    };
    const url = `${this.url('')}${encodeQuery({ delete: '' })}`;
    const reply = await this.send({ method: 'POST', url, headers, body }, [200]);
    requireNoError(reply.body, 'an object was not removed');
  }

  protected url(key: string): string {
    return `${this.#settings.url}/${encodeKey(key)}`;
  }
}

const S3_NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

/** Long copies and removals start their reply, with status 200, before their outcome is known. */
export function requireNoError(body: Buffer, what: string): void {
  const [error] = findElements(body.toString('utf8'), 'Error');
  if (error !== undefined) throw storeRefused(`${what} (${findText(error, 'Code') ?? 'no code'})`);
}

function nextUploads(page: string): Readonly<Record<string, string>> | undefined {
  if (findText(page, 'IsTruncated') !== 'true') return undefined;
  return {
    'key-marker': requireText(page, 'NextKeyMarker'),
    'upload-id-marker': requireText(page, 'NextUploadIdMarker'),
  };
}
