import { HEADER_KIND } from './message-header.ts';
import type { MessageHeader } from './message-header.ts';
import { readMessages } from './result-file.ts';

/** Where the lists stand in the tables of Schema.fbs and Message.fbs. */
const FIELDS_SLOT = 1;
const NODES_SLOT = 1;
const BUFFERS_SLOT = 2;
/** Of a column of plain numbers: validity and values. */
const BUFFERS_HIDDEN = 2;

/**
 * Takes the last column, one of plain numbers, out of a file that the engine made, by making the lists of the headers
 * shorter in place. Its bytes stay in the body, where nothing points at them. The file's own footer is left as it is.
 */
export function hideLastColumn(file: Buffer): Buffer {
  for (const { header } of readMessages(file)) {
    if (header.kind === HEADER_KIND.schema) shorten(header, FIELDS_SLOT, 1);
    if (header.kind !== HEADER_KIND.recordBatch) continue;
    shorten(header, NODES_SLOT, 1);
    shorten(header, BUFFERS_SLOT, BUFFERS_HIDDEN);
  }
  return file;
}

function shorten({ flatbuffer, table }: MessageHeader, slot: number, by: number): void {
  const list = flatbuffer.vectorField(table, slot, 1);
  if (list === undefined || list.count < by) return flatbuffer.place.refuse('has no column to hide');
  flatbuffer.bytes.writeUInt32LE(list.count - by, list.start - 4);
}
