import { ServiceError } from '../../errors/service-error.ts';
import type { ArrowLimits } from '../../model/limits.ts';
import type { ByteSource } from './byte-source.ts';
import { FILE_MAGIC } from '../format/footer.ts';
import type { MessageHeader } from '../format/message-header.ts';
import { readMessageHeader } from '../format/message-header.ts';
import { MessageContext } from '../format/flatbuffer.ts';

/** A message whose body is still to come. */
export interface FramedMessage {
  /** Prefix and metadata. */
  readonly framed: Buffer;
  readonly prefixBytes: number;
  readonly header: MessageHeader;
  readonly place: MessageContext;
}

const CONTINUATION = 0xffffffff;
const STREAM_HINT = 'Send an Arrow IPC stream, such as pyarrow.ipc.new_stream writes.';

/** Reads prefix and metadata of the next message, or `undefined` at the end-of-stream marker. */
export async function readMessage(
  source: ByteSource,
  limits: ArrowLimits,
  messagesBefore: number,
): Promise<FramedMessage | undefined> {
  const place = new MessageContext(`Message ${messagesBefore + 1}`, source.offset);
  const prefix = await readPrefix(source, place);
  const metadataBytes = prefix.readUInt32LE(prefix.length - 4);
  if (metadataBytes === 0) return undefined;
  if (metadataBytes > limits.metadataBytesMax) {
    place.refuse(
      `declares ${metadataBytes} bytes of metadata where at most ${limits.metadataBytesMax} are allowed`,
      place.offset === 0 ? STREAM_HINT : undefined,
    );
  }
  if ((prefix.length + metadataBytes) % 8 !== 0) {
    place.refuse(`has ${metadataBytes} bytes of metadata`, 'Messages are padded to a multiple of 8 bytes.');
  }
  const framed = Buffer.allocUnsafe(prefix.length + metadataBytes);
  framed.set(prefix);
  if (!(await source.fill(framed, prefix.length))) refuseCutOff(place);
  const header = readMessageHeader(framed.subarray(prefix.length), place);
  if (framed.length + header.bodyBytes > limits.messageBytesMax) {
    place.refuse(
      `is ${framed.length + header.bodyBytes} bytes long where at most ${limits.messageBytesMax} are allowed`,
      'Send more and smaller batches.',
    );
  }
  return { framed, prefixBytes: prefix.length, header, place };
}

/** Nothing may follow the end of a stream, or two readers could disagree on what was sent. */
export async function requireEnd(source: ByteSource): Promise<void> {
  const { offset } = source;
  if ((await source.take(1)) === undefined) return;
  throw new ServiceError('InvalidInput', `The Arrow stream ends at byte ${offset}, but more bytes follow.`, {
    hint: 'Send one stream per request and nothing behind its end-of-stream marker.',
  });
}

export function refuseCutOff(place: MessageContext): never {
  return place.refuse('is cut off by the end of the body', 'Send the stream whole.');
}

/** Eight bytes, or the four of the format before version 0.15. */
async function readPrefix(source: ByteSource, place: MessageContext): Promise<Buffer> {
  const prefix = Buffer.allocUnsafe(8);
  const first = prefix.subarray(0, 4);
  if (!(await source.fill(first))) {
    return source.offset === place.offset ? refuseMissing(place.offset) : refuseCutOff(place);
  }
  if (place.offset === 0 && first.equals(FILE_MAGIC.subarray(0, 4))) refuseFile();
  if (first.readUInt32LE(0) !== CONTINUATION) return first;
  if (!(await source.fill(prefix, 4))) refuseCutOff(place);
  return prefix;
}

function refuseMissing(offset: number): never {
  if (offset === 0)
    throw new ServiceError('InvalidInput', 'The body is empty: it holds no schema.', { hint: STREAM_HINT });
  throw new ServiceError('InvalidInput', `The Arrow stream stops at byte ${offset} without its end-of-stream marker.`, {
    hint: 'Close the writer of the stream before sending; a stream without its end may lack rows.',
  });
}

function refuseFile(): never {
  throw new ServiceError('InvalidInput', 'The body is an Arrow IPC file, where a stream is wanted.', {
    hint: STREAM_HINT,
  });
}
