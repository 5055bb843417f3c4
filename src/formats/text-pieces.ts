import { ServiceError } from '../errors/service-error.ts';
import { readPieces } from './input.ts';
import type { Input } from './input.ts';

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
