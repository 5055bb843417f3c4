import { ServiceError } from '../../errors/service-error.ts';
import { HEADER_KIND, readMessageHeader } from '../format/message-header.ts';
import type { MessageHeader } from '../format/message-header.ts';
import { MessageContext } from '../format/flatbuffer.ts';
import type { SchemaMessage } from '../format/footer.ts';

/** One message of a file that the engine made. */
export interface ResultMessage {
  readonly header: MessageHeader;
  /** Prefix, metadata and body, as they stand in the file. */
  readonly bytes: Buffer;
  /** Prefix included. */
  readonly metadataBytes: number;
  readonly body: Buffer;
}

/** What the engine hands over for one batch of a result: a whole Arrow IPC file. */
export interface ResultFile {
  readonly schema: SchemaMessage;
  readonly dictionaries: readonly ResultMessage[];
  readonly batches: readonly ResultMessage[];
}

const MAGIC_BYTES = 8;
const CONTINUATION = 0xffffffff;
const PREFIX_BYTES = 8;

/** Finds the messages of a file without looking into their bodies. */
export function readResultFile(file: Buffer): ResultFile {
  try {
    const messages = [...readMessages(file)];
    const schema = messages.find(({ header }) => header.kind === HEADER_KIND.schema);
    if (schema === undefined) throw new Error('the file has no schema');
    return {
      schema: toSchemaMessage(schema),
      dictionaries: messages.filter(({ header }) => header.kind === HEADER_KIND.dictionaryBatch),
      batches: messages.filter(({ header }) => header.kind === HEADER_KIND.recordBatch),
    };
  } catch (cause) {
    throw new ServiceError('Internal', 'A result of the storage engine could not be read.', { cause });
  }
}

export function* readMessages(file: Buffer): Generator<ResultMessage> {
  let at = skipPadding(file);
  for (;;) {
    const metadataBytes = PREFIX_BYTES + file.readUInt32LE(at + 4);
    if (file.readUInt32LE(at) !== CONTINUATION || metadataBytes === PREFIX_BYTES) return;
    const place = new MessageContext('A message of a result', at);
    const bodyAt = at + metadataBytes;
    const header = readMessageHeader(file.subarray(at + PREFIX_BYTES, bodyAt), place);
    const end = bodyAt + header.bodyBytes;
    if (end > file.length) place.refuse('is cut off');
    yield { header, bytes: file.subarray(at, end), metadataBytes, body: file.subarray(bodyAt, end) };
    at = end;
  }
}

function toSchemaMessage({ header, bytes, metadataBytes }: ResultMessage): SchemaMessage {
  const framed = bytes.subarray(0, metadataBytes);
  return { framed, metadata: framed.subarray(PREFIX_BYTES), table: header.table, version: header.version };
}

/** The engine pads the magic at the start of a file to 64 bytes. */
function skipPadding(file: Buffer): number {
  let at = MAGIC_BYTES;
  while (file.readUInt32LE(at) === 0) at += 4;
  return at;
}

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
