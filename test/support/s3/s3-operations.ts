import type { IncomingHttpHeaders } from 'node:http';
import type { BucketObjects, S3Object } from './bucket-objects.ts';

export interface S3Call {
  readonly method: string;
  /** `bucket/key`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Larger objects must be copied in parts. */
  readonly copyBytesMax: number;
}

export interface S3Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: Buffer;
}

/** The part of S3 that the engine and the service use. */
export function answer(objects: BucketObjects, call: S3Call): S3Reply {
  const { method, query } = call;
  if (query.has('list-type')) return list(objects, call);
  if (query.has('uploads')) return method === 'POST' ? startUpload(objects, call) : listUploads(objects, call);
  if (query.has('uploadId')) return continueUpload(objects, call);
  if (query.has('delete')) return removeMany(objects, call);
  if (method === 'PUT') return put(objects, call);
  if (method === 'DELETE') {
    objects.remove(call.path);
    return { status: 204 };
  }
  return read(objects, call);
}

function put(objects: BucketObjects, call: S3Call): S3Reply {
  const content = contentOf(objects, call);
  if (content === undefined) return error(404, 'NoSuchKey');
  const isCopy = call.headers['x-amz-copy-source'] !== undefined;
  if (isCopy && content.length > call.copyBytesMax) return error(400, 'InvalidRequest');
  const { tag } = objects.put(call.path, content);
  if (!isCopy) return { status: 200, headers: { etag: tag } };
  return xml(`<CopyObjectResult><ETag>${escape(tag)}</ETag></CopyObjectResult>`);
}

/** Of the body, or of the object that is to be copied. */
function contentOf(objects: BucketObjects, { headers, body }: S3Call): Buffer | undefined {
  const source = headers['x-amz-copy-source'];
  if (typeof source !== 'string') return body;
  const content = objects.get(decodeURIComponent(source.replace(/^\//, '')))?.content;
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(String(headers['x-amz-copy-source-range'])) ?? [];
  return from === undefined ? content : content?.subarray(Number(from), Number(to) + 1);
}

function read(objects: BucketObjects, { path, headers }: S3Call): S3Reply {
  const object = objects.get(path);
  if (object === undefined) return error(404, 'NoSuchKey');
  const { content } = object;
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? [];
  if (first === undefined || last === undefined) {
    return { status: 200, headers: { ...described(object), 'content-length': content.length }, body: content };
  }
  const start = first === '' ? Math.max(0, content.length - Number(last)) : Number(first);
  const end = first === '' || last === '' ? content.length : Math.min(Number(last) + 1, content.length);
  if (start >= content.length)
    return { ...error(416, 'InvalidRange'), headers: { 'content-range': `bytes */${content.length}` } };
  const part = content.subarray(start, end);
  const range = `bytes ${start}-${end - 1}/${content.length}`;
  return {
    status: 206,
    headers: { ...described(object), 'content-length': part.length, 'content-range': range },
    body: part,
  };
}

function described({ tag, generation, modifiedAt }: S3Object) {
  const identity = { etag: tag, 'x-goog-generation': generation };
  return { ...identity, 'last-modified': modifiedAt.toUTCString(), 'accept-ranges': 'bytes' };
}

function list(objects: BucketObjects, { path, query }: S3Call): S3Reply {
  const bucket = path.replace(/\/$/, '');
  const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
  const { keys, prefixes, isTruncated } = objects.list(bucket, {
    prefix: query.get('prefix') ?? '',
    delimiter: query.get('delimiter') ?? undefined,
    after,
    max: Number(query.get('max-keys') ?? 1000),
  });
  const last = [...keys, ...prefixes].toSorted().at(-1) ?? '';
  const contents = keys.map((key) => {
    const { content, tag, modifiedAt } = objects.get(`${bucket}/${key}`) ?? missing();
    const fields = `<LastModified>${modifiedAt.toISOString()}</LastModified><ETag>${escape(tag)}</ETag><Size>${content.length}</Size>`;
    return `<Contents><Key>${escape(key)}</Key>${fields}</Contents>`;
  });
  const commons = [...prefixes].map((prefix) => `<CommonPrefixes><Prefix>${escape(prefix)}</Prefix></CommonPrefixes>`);
  // The last name of a page of folders would be listed again: everything below it comes before the character after `/`.
  const next = isTruncated ? `<NextContinuationToken>${escape(last.replace(/\/$/, '0'))}</NextContinuationToken>` : '';
  return xml(
    `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join('')}${commons.join('')}</ListBucketResult>`,
  );
}

function missing(): never {
  throw new Error('A listed object is missing.');
}

function startUpload(objects: BucketObjects, { path }: S3Call): S3Reply {
  const id = objects.startUpload(path);
  return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
}

function listUploads(objects: BucketObjects, { path, query }: S3Call): S3Reply {
  const bucket = path.replace(/\/$/, '');
  const uploads = objects.uploads(`${bucket}/${query.get('prefix') ?? ''}`).map(({ id, path: at, startedAt }) => {
    const key = escape(at.slice(bucket.length + 1));
    return `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${startedAt.toISOString()}</Initiated></Upload>`;
  });
  return xml(
    `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${uploads.join('')}</ListMultipartUploadsResult>`,
  );
}

function continueUpload(objects: BucketObjects, call: S3Call): S3Reply {
  const { method, path, query, headers } = call;
  const id = query.get('uploadId') ?? '';
  if (method === 'PUT') {
    const content = contentOf(objects, call);
    if (content === undefined || !objects.putPart(id, Number(query.get('partNumber')), content))
      return error(404, 'NoSuchUpload');
    const isCopy = headers['x-amz-copy-source'] !== undefined;
    return isCopy
      ? xml('<CopyPartResult><ETag>"part"</ETag></CopyPartResult>')
      : { status: 200, headers: { etag: '"part"' } };
  }
  const content = objects.endUpload(id);
  if (method === 'DELETE') return { status: 204 };
  if (content === undefined) return error(404, 'NoSuchUpload');
  const { tag } = objects.put(path, content);
  return xml(`<CompleteMultipartUploadResult><ETag>${escape(tag)}</ETag></CompleteMultipartUploadResult>`);
}

function removeMany(objects: BucketObjects, { path, body }: S3Call): S3Reply {
  const bucket = path.replace(/\/$/, '');
  const keys = Array.from(body.toString().matchAll(/<Key>([^<]*)<\/Key>/g), ([, key = '']) => unescape(key));
  for (const key of keys) objects.remove(`${bucket}/${key}`);
  const removed = keys.map((key) => `<Deleted><Key>${escape(key)}</Key></Deleted>`);
  return xml(`<DeleteResult>${body.includes('<Quiet>true') ? '' : removed.join('')}</DeleteResult>`);
}

function unescape(text: string): string {
  const named = text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
  return named
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&');
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function xml(content: string): S3Reply {
  const body = Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>${content}`);
  return { status: 200, headers: { 'content-type': 'application/xml' }, body };
}

function error(status: number, code: string): S3Reply {
  return { ...xml(`<Error><Code>${code}</Code></Error>`), status };
}
