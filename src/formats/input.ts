import { invalidInput } from '../errors/service-error.ts';

/** A file of any origin: on disk, in a browser, or in memory. */
export interface Input {
  readonly size: number;
  slice(start: number, end: number): Promise<ArrayBuffer>;
}

const PIECE_BYTES = 1024 * 1024;

export function blobInput(blob: Blob): Input {
  return { size: blob.size, slice: async (start, end) => blob.slice(start, end).arrayBuffer() };
}

/** The bytes in order, a piece at a time, so that a file of any size needs little memory. */
export async function* readPieces(input: Input): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < input.size; at += PIECE_BYTES) {
    yield new Uint8Array(await input.slice(at, Math.min(at + PIECE_BYTES, input.size)));
  }
}

export interface TextPiece {
  readonly text: string;
  /** How many bytes of the input have been read, including this piece. */
  readonly endByte: number;
}

/** The text of a UTF-8 file, a piece at a time; the last piece is empty. */
export async function* readText(input: Input): AsyncGenerator<TextPiece> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let endByte = 0;
  const decode = (piece: Uint8Array, stream: boolean): TextPiece => {
    endByte += piece.length;
    try {
      return { text: decoder.decode(piece, { stream }), endByte };
    } catch (cause) {
      throw invalidInput(`The input is not valid UTF-8, somewhere before byte ${endByte}.`, 'Save it as UTF-8.', cause);
    }
  };
  for await (const piece of readPieces(input)) yield decode(piece, true);
  yield decode(new Uint8Array(), false);
}
