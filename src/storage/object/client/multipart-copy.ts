import pLimit from 'p-limit';
import { encodeQuery } from './http.ts';
import type { StoreReply, StoreRequest } from './http.ts';
import { escapeXml, requireText } from './xml.ts';

interface CopyTarget {
  readonly send: (request: StoreRequest) => Promise<StoreReply>;
  /** Of the new object. */
  readonly url: string;
  readonly headerPrefix: string;
  readonly partBytes: number;
}

const CONCURRENT_MAX = 8;

/** Copies an object that is too large for one request: S3 copies 5 GiB at most. */
export class MultipartCopy {
  readonly #target: CopyTarget;

  constructor(target: CopyTarget) {
    this.#target = target;
  }

  async run(source: string, bytes: number): Promise<void> {
    const { send, url } = this.#target;
    const started = await send({ method: 'POST', url: `${url}${encodeQuery({ uploads: '' })}` });
    const uploadId = requireText(started.body.toString('utf8'), 'UploadId');
    try {
      const tags = await this.#copyParts(uploadId, source, bytes);
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

  async #copyParts(uploadId: string, source: string, bytes: number): Promise<readonly string[]> {
    const { send, url, headerPrefix, partBytes } = this.#target;
    const starts = Array.from({ length: Math.ceil(bytes / partBytes) }, (_, index) => index * partBytes);
    return pLimit(CONCURRENT_MAX).map(starts, async (start, index) => {
      const headers = {
        [`${headerPrefix}copy-source`]: source,
        [`${headerPrefix}copy-source-range`]: `bytes=${start}-${Math.min(start + partBytes, bytes) - 1}`,
      };
      const query = encodeQuery({ partNumber: String(index + 1), uploadId });
      const { body } = await send({ method: 'PUT', url: `${url}${query}`, headers });
      return requireText(body.toString('utf8'), 'ETag');
    });
  }
}
