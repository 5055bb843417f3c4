import { invalidInput } from '../../errors/service-error.ts';
import { toPlainTypes } from '../arrow/plain-types.ts';
import type { Input } from '../input.ts';
import { fromBase64, toBase64 } from '../types/values-of.ts';

/** The length of the footer, then the letters PAR1. */
const TAIL_BYTES = 8;
const MAGIC = 'PAR1';
const FOOTER_BYTES_MAX = 256 * 1024 * 1024;
const SCHEMA_KEY = new TextEncoder().encode('ARROW:schema');
/** In Thrift's compact form: the next field is a text. */
const NEXT_TEXT = 0x18;

export interface ParquetFooter {
  readonly bytes: Uint8Array;
  /** Whether the file contains the Arrow schema, as written by Arrow libraries. */
  readonly hasArrowSchema: boolean;
}

/** The footer, with an Arrow schema that only has types readable here. */
export async function readFooter(input: Input): Promise<ParquetFooter> {
  const end = input.size - TAIL_BYTES;
  const tail = new DataView(await input.slice(Math.max(0, end), input.size));
  const length = tail.byteLength === TAIL_BYTES ? tail.getUint32(0, true) : 0;
  const start = end - length;
  if (length === 0 || start < MAGIC.length || readMagic(tail) !== MAGIC) throw notParquet();
  if (length > FOOTER_BYTES_MAX) {
    throw invalidInput('The footer of the Parquet file is larger than 256 MiB.', 'Write it with fewer row groups.');
  }
  const bytes = new Uint8Array(await input.slice(start, end));
  return { bytes, hasArrowSchema: rewriteArrowSchema(bytes) };
}

export function notParquet(cause?: unknown): Error {
  const hint = 'A Parquet file must end with its schema and the letters PAR1.';
  return invalidInput('The input is not a Parquet file, or it is truncated.', hint, cause);
}

function readMagic(tail: DataView): string {
  return String.fromCharCode(...new Uint8Array(tail.buffer, tail.byteOffset + TAIL_BYTES - MAGIC.length));
}

/** Returns false if no Arrow schema can be used; then the types of Parquet are used. */
function rewriteArrowSchema(footer: Uint8Array): boolean {
  const key = findBytes(footer, SCHEMA_KEY);
  if (key === -1) return false;
  try {
    const { start, end } = readTextRange(footer, key + SCHEMA_KEY.length);
    const schema = fromBase64(new TextDecoder().decode(footer.subarray(start, end)));
    if (schema === undefined) throw new Error('no base64');
    toPlainTypes(schema);
    const text = new TextEncoder().encode(toBase64(schema));
    if (text.length !== end - start) throw new Error('another length');
    footer.set(text, start);
    return true;
  } catch {
    // Under another key, the library ignores it.
    footer[key] = 'X'.charCodeAt(0);
    return false;
  }
}

function findBytes(bytes: Uint8Array, wanted: Uint8Array): number {
  const [first = 0] = wanted;
  for (let at = bytes.indexOf(first); at !== -1; at = bytes.indexOf(first, at + 1)) {
    if (wanted.every((byte, index) => bytes[at + index] === byte)) return at;
  }
  return -1;
}

/** The range of the text of a Thrift field that begins here. */
function readTextRange(bytes: Uint8Array, at: number): { readonly start: number; readonly end: number } {
  if (bytes[at] !== NEXT_TEXT) throw new Error('no text');
  let [length, shift, next] = [0, 0, at + 1];
  for (let byte = 0x80; (byte & 0x80) !== 0; shift += 7, next += 1) {
    byte = bytes[next] ?? 0;
    length |= (byte & 0x7f) << shift;
    if (shift > 28) throw new Error('a length that cannot be');
  }
  if (length <= 0 || next + length > bytes.length) throw new Error('cut off');
  return { start: next, end: next + length };
}
