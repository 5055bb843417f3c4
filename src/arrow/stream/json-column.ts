import { readOffset } from '../format/column-layout.ts';
import type { OffsetBytes } from '../format/column-layout.ts';
import type { BatchBuffers, BodyBuffer } from './batch-buffers.ts';

export interface JsonColumn {
  readonly rows: number;
  readonly offsetBytes: OffsetBytes;
  readonly offsets: BodyBuffer;
  readonly data: BodyBuffer;
}

/** Why the texts of a JSON column cannot be handed to the engine, or `undefined`. */
export function jsonColumnFault(buffers: BatchBuffers, column: JsonColumn): string | undefined {
  const { rows, offsetBytes } = column;
  if (rows === 0) return undefined;
  const offsets = buffers.content(column.offsets, offsetBytes * (rows + 1));
  const data = buffers.content(column.data, column.data.decodedBytes);
  if (offsets === undefined || data === undefined) {
    return 'is JSON text in ZSTD, whose nesting cannot be checked; send it in LZ4 or without compression';
  }
  let start = readOffset(offsets, 0, offsetBytes);
  for (let row = 0; row < rows; row += 1) {
    const end = readOffset(offsets, row + 1, offsetBytes);
    if (start < 0 || end < start || end > data.length) {
      return `has offsets in row ${row} that do not ascend inside its data`;
    }
    const fault = jsonTextFault(data.subarray(start, end));
    if (fault !== undefined) return `in row ${row} ${fault}`;
    start = end;
  }
  return undefined;
}

/**
 * The engine converts JSON text to its binary form by recursion: about 3,000 levels end the process. The scan has to see
 * strings as the engine does, which accepts more than the standard (quotes of either kind, bare words). So outside of
 * double quotes nothing is allowed that could open a string, an escape or a comment.
 */
export const JSON_DEPTH_MAX = 128;

/** Why a text cannot be stored as JSON, or `undefined`. */
export function jsonTextFault(bytes: Buffer): string | undefined {
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      at = stringEnd(bytes, at + 1);
      continue;
    }
    const kind = BYTE_KINDS[byte];
    if (kind === FOREIGN) {
      return `holds ${JSON.stringify(String.fromCharCode(byte))} outside of a string, which is not JSON`;
    }
    if (kind === OPENING) depth += 1;
    else if (kind === CLOSING) depth -= 1;
    if (depth < 0) return 'closes more brackets than it opens, which is not JSON';
    if (depth > JSON_DEPTH_MAX) return `nests JSON more than ${JSON_DEPTH_MAX} levels deep`;
  }
  return undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [FOREIGN, HARMLESS, OPENING, CLOSING] = [0, 1, 2, 3];

const BYTE_KINDS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (character === '[' || character === '{') return OPENING;
  if (character === ']' || character === '}') return CLOSING;
  return byte < 128 && /[\w\s,:.+-]/.test(character) ? HARMLESS : FOREIGN;
});

/** Position of the closing quote, or the end of the text when there is none. */
function stringEnd(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return bytes.length;
}
