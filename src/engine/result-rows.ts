import { HEADER_KIND, readMessageHeader } from '../arrow/message-header.ts';
import { MessagePlace } from '../arrow/message-place.ts';

const MAGIC_BYTES = 8;
const CONTINUATION = 0xffffffff;
const PREFIX_BYTES = 8;

/** How many rows an Arrow IPC file of the engine holds, from the headers of its batches. */
export function countResultRows(file: Buffer): number {
  let rows = 0;
  let at = skipPadding(file, MAGIC_BYTES);
  for (;;) {
    const metadataBytes = file.readUInt32LE(at + 4);
    if (file.readUInt32LE(at) !== CONTINUATION || metadataBytes === 0) return rows;
    const bodyAt = at + PREFIX_BYTES + metadataBytes;
    const header = readMessageHeader(file.subarray(at + PREFIX_BYTES, bodyAt), new MessagePlace('A result', at));
    if (header.kind === HEADER_KIND.recordBatch) rows += header.flatbuffer.i64Field(header.table, 0, 0);
    at = bodyAt + header.bodyBytes;
  }
}

/** The engine pads the magic at the start of a file to 64 bytes. */
function skipPadding(file: Buffer, start: number): number {
  let at = start;
  while (file.readUInt32LE(at) === 0) at += 4;
  return at;
}
