import { ServiceError } from '../errors/service-error.ts';
import type { Schema } from '../model/schema.ts';
import { Flatbuffer } from './flatbuffer.ts';
import { FILE_MAGIC } from './footer.ts';
import { MessagePlace } from './message-place.ts';
import { readSchema } from './schema-reader.ts';

const TRAILER_BYTES = 4 + FILE_MAGIC.length;

/** What the engine writes is trusted to be sane, but not without end. */
export const BOUNDS = { columnsMax: 1_000_000, depthMax: 256 } as const;

/** The schema of an Arrow IPC file that the engine made. It is read from the footer: the head may be padded. */
export function readFileSchema(file: Uint8Array): Schema {
  try {
    const place = new MessagePlace('The footer', 0);
    const footer = new Flatbuffer(footerOf(file, place), place);
    const table = footer.tableField(footer.rootTable(), 1);
    return table === undefined ? place.refuse('has no schema') : readSchema(footer, table, BOUNDS).schema;
  } catch (cause) {
    throw new ServiceError('Internal', 'The schema of the table could not be read.', { cause });
  }
}

function footerOf(file: Uint8Array, place: MessagePlace): Buffer {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const end = bytes.length - TRAILER_BYTES;
  if (end < 0 || !bytes.subarray(end + 4).equals(FILE_MAGIC)) return place.refuse('is missing');
  const length = bytes.readInt32LE(end);
  if (length < 0 || length > end) return place.refuse(`is ${length} bytes long`);
  return bytes.subarray(end - length, end);
}
