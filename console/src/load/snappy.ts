import { snappyUncompress as uncompressInto } from 'hyparquet';

/**
 * In place of `hysnappy`, which the Parquet reader's package brings: that one is WebAssembly, which the console's content
 * security policy does not let run.
 */
export function snappyUncompress(input: Uint8Array, outputLength: number): Uint8Array {
  const output = new Uint8Array(outputLength);
  uncompressInto(input, output);
  return output;
}

export function snappyUncompressor(): typeof snappyUncompress {
  return snappyUncompress;
}
