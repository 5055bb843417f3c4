import { snappyUncompress as uncompressInto } from 'hyparquet';

/** Replaces `hysnappy`: the content security policy of the console forbids WebAssembly. */
export function snappyUncompress(input: Uint8Array, outputLength: number): Uint8Array {
  const output = new Uint8Array(outputLength);
  uncompressInto(input, output);
  return output;
}

export function snappyUncompressor(): typeof snappyUncompress {
  return snappyUncompress;
}
