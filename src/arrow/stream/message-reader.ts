import { invalidInput } from '../../errors/service-error.ts';
import type { ArrowLimits } from '../../model/limits.ts';
import { formatByteLimit, formatCount } from '../../model/value-text.ts';
import { MessageContext } from '../format/flatbuffer.ts';
import { FILE_MAGIC } from '../format/footer.ts';
import { CONTINUATION, PREFIX_BYTES, readMessageHeader } from '../format/message-header.ts';
import type { MessageHeader } from '../format/message-header.ts';
import type { ByteSource } from './byte-source.ts';

/** A message whose body was not read yet. */
export interface FramedMessage {
  /** Prefix and metadata. */
  readonly framed: Buffer;
  readonly header: MessageHeader;
  readonly context: MessageContext;
}

const STREAM_HINT = 'Send an Arrow IPC stream, such as pyarrow.ipc.new_stream writes.';

/** Reads prefix and metadata of the next message; `undefined` at the end-of-stream marker. */
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
    const fault = `declares ${formatCount(metadataBytes)} bytes of metadata; at most ${formatByteLimit(limits.metadataBytesMax)} are allowed`;
    context.refuse(fault, context.offset === 0 ? STREAM_HINT : undefined);
  }
  if ((prefix.length + metadataBytes) % 8 !== 0) {
    context.refuse(`has ${metadataBytes} bytes of metadata`, 'Pad messages to a multiple of 8 bytes.');
  }
  const framed = Buffer.allocUnsafe(prefix.length + metadataBytes);
  framed.set(prefix);
  if (!(await source.fill(framed, prefix.length))) refuseCutOff(context);
  const header = readMessageHeader(framed.subarray(prefix.length), context);
  const bytes = framed.length + header.bodyBytes;
  if (bytes > limits.messageBytesMax) {
    const fault = `is ${formatCount(bytes)} bytes long; at most ${formatByteLimit(limits.messageBytesMax)} are allowed`;
    context.refuse(fault, 'Send more, smaller batches.');
  }
  return { framed, header, context };
}

/** Nothing may follow the end of a stream; otherwise two readers could disagree on what was sent. */
export async function requireEnd(source: ByteSource): Promise<void> {
  const { offset } = source;
  if ((await source.take(1)) === undefined) return;
  const hint = 'Send one stream per request, and nothing after its end-of-stream marker.';
  throw invalidInput(`The Arrow stream ends at byte ${offset}, but more bytes follow.`, hint);
}

export function refuseCutOff(context: MessageContext): never {
  return context.refuse('is truncated by the end of the body', 'Send the complete stream.');
}

/** Eight bytes, or four in the format before version 0.15. */
async function readPrefix(source: ByteSource, context: MessageContext): Promise<Buffer> {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  const first = prefix.subarray(0, 4);
  if (!(await source.fill(first))) {
    return source.offset === context.offset ? refuseMissing(context.offset) : refuseCutOff(context);
  }
  if (context.offset === 0 && first.equals(FILE_MAGIC.subarray(0, 4))) {
    throw invalidInput('The body is an Arrow IPC file instead of a stream.', STREAM_HINT);
  }
  if (first.readUInt32LE(0) !== CONTINUATION) return first;
  if (!(await source.fill(prefix, 4))) refuseCutOff(context);
  return prefix;
}

function refuseMissing(offset: number): never {
  if (offset === 0) throw invalidInput('The body is empty: it has no schema.', STREAM_HINT);
  const hint = 'Close the stream writer before you send the body; a stream without an end marker may be missing rows.';
  throw invalidInput(`The Arrow stream ends at byte ${offset} without an end-of-stream marker.`, hint);
}
