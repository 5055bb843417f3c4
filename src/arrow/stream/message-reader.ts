import { invalidInput } from '../../errors/service-error.ts';
import type { ArrowLimits } from '../../model/limits.ts';
import { MessageContext } from '../format/flatbuffer.ts';
import { FILE_MAGIC } from '../format/footer.ts';
import { CONTINUATION, PREFIX_BYTES, readMessageHeader } from '../format/message-header.ts';
import type { MessageHeader } from '../format/message-header.ts';
import type { ByteSource } from './byte-source.ts';

/** A message whose body is not read yet. */
export interface FramedMessage {
  /** Prefix and metadata. */
  readonly framed: Buffer;
  readonly header: MessageHeader;
  readonly context: MessageContext;
}

const STREAM_HINT = 'Send an Arrow IPC stream, such as pyarrow.ipc.new_stream writes.';

/** Reads prefix and metadata of the next message, or `undefined` at the end-of-stream marker. */
export async function readMessage(
  source: ByteSource,
  limits: ArrowLimits,
  messagesBefore: number,
): Promise<FramedMessage | undefined> {
  const context = new MessageContext(`Message ${messagesBefore + 1}`, source.offset);
  const prefix = await readPrefix(source, context);
  const metadataBytes = prefix.readUInt32LE(prefix.length - 4);
  if (metadataBytes === 0) return undefined;
  if (metadataBytes > limits.metadataBytesMax) {
    const fault = `declares ${metadataBytes} bytes of metadata where at most ${limits.metadataBytesMax} are allowed`;
    context.refuse(fault, context.offset === 0 ? STREAM_HINT : undefined);
  }
  if ((prefix.length + metadataBytes) % 8 !== 0) {
    context.refuse(`has ${metadataBytes} bytes of metadata`, 'Messages are padded to a multiple of 8 bytes.');
  }
  const framed = Buffer.allocUnsafe(prefix.length + metadataBytes);
  framed.set(prefix);
  if (!(await source.fill(framed, prefix.length))) refuseCutOff(context);
  const header = readMessageHeader(framed.subarray(prefix.length), context);
  const bytes = framed.length + header.bodyBytes;
  if (bytes > limits.messageBytesMax) {
    const fault = `is ${bytes} bytes long where at most ${limits.messageBytesMax} are allowed`;
    context.refuse(fault, 'Send more and smaller batches.');
  }
  return { framed, header, context };
}

/** Nothing may follow the end of a stream, or two readers could disagree on what was sent. */
export async function requireEnd(source: ByteSource): Promise<void> {
  const { offset } = source;
  if ((await source.take(1)) === undefined) return;
  const hint = 'Send one stream per request and nothing behind its end-of-stream marker.';
  throw invalidInput(`The Arrow stream ends at byte ${offset}, but more bytes follow.`, hint);
}

export function refuseCutOff(context: MessageContext): never {
  return context.refuse('is cut off by the end of the body', 'Send the stream whole.');
}

/** Eight bytes, or the four of the format before version 0.15. */
async function readPrefix(source: ByteSource, context: MessageContext): Promise<Buffer> {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  const first = prefix.subarray(0, 4);
  if (!(await source.fill(first))) {
    return source.offset === context.offset ? refuseMissing(context.offset) : refuseCutOff(context);
  }
  if (context.offset === 0 && first.equals(FILE_MAGIC.subarray(0, 4))) {
    throw invalidInput('The body is an Arrow IPC file, where a stream is wanted.', STREAM_HINT);
  }
  if (first.readUInt32LE(0) !== CONTINUATION) return first;
  if (!(await source.fill(prefix, 4))) refuseCutOff(context);
  return prefix;
}

function refuseMissing(offset: number): never {
  if (offset === 0) throw invalidInput('The body is empty: it holds no schema.', STREAM_HINT);
  const hint = 'Close the writer of the stream before sending; a stream without its end may lack rows.';
  throw invalidInput(`The Arrow stream stops at byte ${offset} without its end-of-stream marker.`, hint);
}
