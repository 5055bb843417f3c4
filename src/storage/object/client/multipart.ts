import pLimit from 'p-limit';
import type { PartedContent } from '../../clone/clone-folder.ts';
import { mapAll, passParts, startsOf } from '../../clone/parts.ts';
import { storeRefused } from '../object-store.ts';
import { encodeQuery } from './http.ts';
import type { StoreReply, StoreRequest } from './http.ts';
import { escapeXml, requireText } from './xml.ts';

interface NewObject {
  readonly send: (request: StoreRequest) => Promise<StoreReply>;
  readonly url: string;
}

interface CopyParts {
  readonly source: string;
  readonly bytes: number;
  readonly headerPrefix: string;
  readonly partBytes: number;
}

const CONCURRENT_MAX = 8;
const PARTS_MAX = 10_000;

/** Copies an object that is too large for one request: S3 copies at most 5 GiB. */
export async function copyInParts(object: NewObject, { source, bytes, headerPrefix, partBytes }: CopyParts) {
  await write(object, async (urlOf) =>
    mapAll(pLimit(CONCURRENT_MAX), startsOf(bytes, partBytes), async (start, index) => {
      const headers = {
        [`${headerPrefix}copy-source`]: source,
        [`${headerPrefix}copy-source-range`]: `bytes=${start}-${Math.min(start + partBytes, bytes) - 1}`,
      };
      const { body } = await object.send({ method: 'PUT', url: urlOf(index), headers });
      return requireText(body.toString('utf8'), 'ETag');
    }),
  );
}

export async function uploadInParts(object: NewObject, content: PartedContent, partBytesMin: number): Promise<void> {
  const partBytes = Math.max(partBytesMin, Math.ceil(content.bytes / PARTS_MAX));
  await write(object, async (urlOf) =>
    passParts(content, partBytes, async (body, _, index) => {
      const { headers } = await object.send({ method: 'PUT', url: urlOf(index), body });
      const tag = headers.get('etag');
      if (tag === null) throw storeRefused('a part has no ETag');
      return tag;
    }),
  );
}

/** Returns the tags of all parts, in order. */
type PutParts = (urlOf: (index: number) => string) => Promise<readonly string[]>;

async function write({ send, url }: NewObject, putParts: PutParts): Promise<void> {
  const started = await send({ method: 'POST', url: `${url}${encodeQuery({ uploads: '' })}` });
  const uploadId = requireText(started.body.toString('utf8'), 'UploadId');
  try {
    const tags = await putParts((index) => `${url}${encodeQuery({ partNumber: String(index + 1), uploadId })}`);
    const parts = tags.map(
      (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(tag)}</ETag></Part>`,
    );
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
    const { body: reply } = await send({ method: 'POST', url: `${url}${encodeQuery({ uploadId })}`, body });
    requireText(reply.toString('utf8'), 'ETag');
  } catch (error) {
    await send({ method: 'DELETE', url: `${url}${encodeQuery({ uploadId })}` }).catch(() => {});
    throw error;
  }
}
