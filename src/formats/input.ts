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
