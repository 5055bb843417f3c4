import { createHash, randomUUID } from 'node:crypto';

export interface S3Object {
  readonly content: Buffer;
  readonly tag: string;
  /** Never used twice. */
  readonly generation: number;
  readonly modifiedAt: Date;
}

interface Upload {
  readonly key: string;
  readonly startedAt: Date;
  readonly parts: Map<number, Buffer>;
}

export interface ListRequest {
  readonly prefix: string;
  readonly delimiter: string | undefined;
  readonly after: string;
  readonly max: number;
}

/** The objects of all buckets, by `bucket/key`, in memory. */
export class BucketObjects {
  readonly #objects = new Map<string, S3Object>();
  #generation = 0;
  readonly #uploads = new Map<string, Upload>();

  get(path: string): S3Object | undefined {
    return this.#objects.get(path);
  }

  put(path: string, content: Buffer): S3Object {
    const tag = `"${createHash('md5').update(content).digest('hex')}"`;
    const object = { content, tag, generation: (this.#generation += 1), modifiedAt: new Date() };
    this.#objects.set(path, object);
    return object;
  }

  remove(path: string): void {
    this.#objects.delete(path);
  }

  /** In the order of their bytes. */
  paths(prefix = ''): readonly string[] {
    return [...this.#objects.keys()].filter((path) => path.startsWith(prefix)).toSorted();
  }

  /** `after` and the names are below the bucket. */
  list(bucket: string, { prefix, delimiter, after, max }: ListRequest) {
    const keys: string[] = [];
    const prefixes = new Set<string>();
    for (const path of this.paths(`${bucket}/${prefix}`)) {
      const key = path.slice(bucket.length + 1);
      if (key <= after) continue;
      const cut = delimiter === undefined ? -1 : key.indexOf(delimiter, prefix.length);
      const common = cut < 0 ? undefined : key.slice(0, cut + 1);
      if (common !== undefined && prefixes.has(common)) continue;
      if (keys.length + prefixes.size === max) return { keys, prefixes, isTruncated: true };
      if (common === undefined) keys.push(key);
      else prefixes.add(common);
    }
    return { keys, prefixes, isTruncated: false };
  }

  startUpload(key: string, startedAt = new Date()): string {
    const id = randomUUID();
    this.#uploads.set(id, { key, startedAt, parts: new Map() });
    return id;
  }

  putPart(uploadId: string, part: number, content: Buffer): boolean {
    return this.#uploads.get(uploadId)?.parts.set(part, content) !== undefined;
  }

  /** The content of a complete upload, which is then over; `undefined` for an unknown one. */
  endUpload(uploadId: string): Buffer | undefined {
    const upload = this.#uploads.get(uploadId);
    this.#uploads.delete(uploadId);
    if (upload === undefined) return undefined;
    return Buffer.concat([...upload.parts].toSorted(([one], [other]) => one - other).map(([, content]) => content));
  }

  uploads(prefix = '') {
    return [...this.#uploads]
      .map(([id, { key, startedAt }]) => ({ id, path: key, startedAt }))
      .filter(({ path }) => path.startsWith(prefix));
  }
}
