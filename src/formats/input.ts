import { ServiceError } from '../errors/service-error.ts';

/** A file of any origin: one on disk, one that a browser holds, bytes in memory. */
export interface Input {
  readonly size: number;
  slice(start: number, end: number): Promise<ArrayBuffer>;
}

/** What a browser's `File` offers; said here, because the types of the browser are not at hand in Node. */
interface BlobLike {
  readonly size: number;
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

const PIECE_BYTES = 1024 * 1024;

export function blobInput(blob: BlobLike): Input {
  return { size: blob.size, slice: async (start, end) => blob.slice(start, end).arrayBuffer() };
}

export function bytesInput(bytes: Uint8Array): Input {
  return {
    size: bytes.length,
    slice: async (start, end) => new Uint8Array(bytes.subarray(start, end)).buffer,
  };
}

/** The bytes in order, a piece at a time, so that a file of any size needs little memory. */
export async function* readPieces(input: Input, from = 0): AsyncGenerator<Uint8Array> {
  for (let at = from; at < input.size; at += PIECE_BYTES) {
    yield new Uint8Array(await input.slice(at, Math.min(at + PIECE_BYTES, input.size)));
  }
}

export interface TextPiece {
  readonly text: string;
  /** How many bytes of the input have been read with it. */
  readonly endByte: number;
}

/** The text of a file in UTF-8, a piece at a time. */
export async function* readText(input: Input): AsyncGenerator<TextPiece> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let endByte = 0;
  for await (const piece of readPieces(input)) {
    endByte += piece.length;
    yield { text: decode(decoder, piece, endByte), endByte };
  }
  yield { text: decode(decoder, undefined, endByte), endByte };
}

function decode(decoder: InstanceType<typeof TextDecoder>, piece: Uint8Array | undefined, endByte: number): string {
  try {
    return piece === undefined ? decoder.decode() : decoder.decode(piece, { stream: true });
  } catch (error) {
    throw new ServiceError('InvalidInput', `The input is not UTF-8, somewhere before its byte ${endByte}.`, {
      hint: 'Save it as UTF-8.',
      cause: error,
    });
  }
}
