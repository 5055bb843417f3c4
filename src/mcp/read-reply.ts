import { invalidInput } from '../errors/service-error.ts';
import { formatByteLimit } from '../model/value-text.ts';

/** The pieces of a reply, up to a limit. */
export async function* readBounded({ body }: Response, bytesMax: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > bytesMax) {
      throw invalidInput(
        `The reply is larger than ${formatByteLimit(bytesMax)}, the maximum for a tool.`,
        'Request fewer rows or columns.',
      );
    }
    yield piece;
  }
}

export async function readReply(reply: Response, bytesMax: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of readBounded(reply, bytesMax)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}
