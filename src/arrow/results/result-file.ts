import { ServiceError } from '../../errors/service-error.ts';
import { Flatbuffer, MessageContext } from '../format/flatbuffer.ts';
import { createFooter, END_OF_STREAM, FILE_START, TRAILER_BYTES, toSchemaMessage } from '../format/footer.ts';
import type { Block, SchemaMessage } from '../format/footer.ts';
import { CONTINUATION, HEADER_KIND, PREFIX_BYTES, readMessageHeader } from '../format/message-header.ts';
import type { MessageHeader } from '../format/message-header.ts';

export interface ResultMessage {
  readonly header: MessageHeader;
  /** Prefix, metadata and body, as in the file. */
  readonly bytes: Buffer;
  /** Includes the prefix. */
  readonly metadataBytes: number;
  readonly body: Buffer;
}

/** The engine's result for one batch: a complete Arrow IPC file. */
export interface ResultFile {
  readonly schema: SchemaMessage;
  readonly dictionaries: readonly ResultMessage[];
  readonly batches: readonly ResultMessage[];
}

/** Finds the messages of a file without reading their bodies. */
export function readResultFile(file: Buffer): ResultFile {
  try {
    const messages = [...readMessages(file)];
    const ofKind = (kind: number): readonly ResultMessage[] => messages.filter(({ header }) => header.kind === kind);
    const [schema] = ofKind(HEADER_KIND.schema);
    if (schema === undefined) throw new Error('the file has no schema');
    return {
      schema: toSchemaMessage(schema.bytes.subarray(0, schema.metadataBytes), schema.header),
      dictionaries: ofKind(HEADER_KIND.dictionaryBatch),
      batches: ofKind(HEADER_KIND.recordBatch),
    };
  } catch (cause) {
    throw new ServiceError('Internal', 'A result of the storage engine could not be read.', { cause });
  }
}

type FramedMessage = Pick<ResultMessage, 'bytes' | 'metadataBytes'>;

interface FileParts {
  readonly schema: SchemaMessage;
  readonly dictionaries: readonly FramedMessage[];
  readonly batch: FramedMessage;
}

export function writeResultFile({ schema, dictionaries, batch }: FileParts): Buffer {
  let offset = FILE_START.length + schema.framed.length;
  const toBlock = ({ bytes, metadataBytes }: FramedMessage): Block => {
    const block = { offset, metadataBytes, bodyBytes: bytes.length - metadataBytes };
    offset += bytes.length;
    return block;
  };
  const footer = createFooter({ schema, dictionaries: dictionaries.map(toBlock), batches: [toBlock(batch)] });
  const messages = [...dictionaries, batch].map(({ bytes }) => bytes);
  return Buffer.concat([FILE_START, schema.framed, ...messages, END_OF_STREAM, footer]);
}

export function rowsOf({ flatbuffer, table }: MessageHeader): number {
  return flatbuffer.i64Field(table, 0);
}

export function dictionaryIdOf({ flatbuffer, table }: MessageHeader): number {
  return flatbuffer.i64Field(table, 0);
}

export function countResultRows(file: Buffer): number {
  let rows = 0;
  for (const { header } of readMessages(file)) if (header.kind === HEADER_KIND.recordBatch) rows += rowsOf(header);
  return rows;
}

function* readMessages(file: Buffer): Generator<ResultMessage> {
  let at = FILE_START.length;
  // The engine pads the magic at the start of a file to 64 bytes.
  while (file.readUInt32LE(at) === 0) at += 4;
  for (;;) {
    const metadataBytes = PREFIX_BYTES + file.readUInt32LE(at + 4);
    if (file.readUInt32LE(at) !== CONTINUATION || metadataBytes === PREFIX_BYTES) return;
    const context = new MessageContext('A message of a result', at);
    const bodyAt = at + metadataBytes;
    const header = readMessageHeader(file.subarray(at + PREFIX_BYTES, bodyAt), context);
    const end = bodyAt + header.bodyBytes;
    if (end > file.length) context.refuse('is truncated');
    yield { header, bytes: file.subarray(at, end), metadataBytes, body: file.subarray(bodyAt, end) };
    at = end;
  }
}

/**
 * Removes the last column, which must have plain numbers, by shortening the lists in the headers in place. Its bytes
 * remain in the body, unreferenced.
 */
export function hideLastColumn(file: Buffer): Buffer {
  return hideColumn(file, shorten);
}

/** Removes the first column in the same way. */
export function hideFirstColumn(file: Buffer): Buffer {
  return hideColumn(file, dropFirst);
}

function hideColumn(file: Buffer, remove: typeof shorten): Buffer {
  for (const { header } of readMessages(file)) {
    if (header.kind === HEADER_KIND.schema) remove(header, 'fields', 1);
    if (header.kind !== HEADER_KIND.recordBatch) continue;
    remove(header, 'nodes', 1);
    // Validity and values.
    remove(header, 'buffers', 2);
  }
  remove(readFooterSchema(file), 'fields', 1);
  return file;
}

type TableOf = Pick<MessageHeader, 'flatbuffer' | 'table'>;

function readFooterSchema(file: Buffer): TableOf {
  const footerEnd = file.length - TRAILER_BYTES;
  const footerAt = footerEnd - file.readInt32LE(footerEnd);
  const flatbuffer = new Flatbuffer(file.subarray(footerAt, footerEnd), new MessageContext('The footer', footerAt));
  const table = flatbuffer.tableField(flatbuffer.rootTable(), 1) ?? flatbuffer.refuse('has no schema');
  return { flatbuffer, table };
}

/** Slots of the lists in the tables of Schema.fbs and Message.fbs. */
const LIST_SLOT = { fields: 1, nodes: 1, buffers: 2 } as const;

const ELEMENT_BYTES = { fields: 4, nodes: 16, buffers: 16 } as const;

function dropFirst({ flatbuffer, table }: TableOf, name: keyof typeof LIST_SLOT, by: number): void {
  flatbuffer.dropFirst(table, LIST_SLOT[name], ELEMENT_BYTES[name], by);
}

function shorten({ flatbuffer, table }: TableOf, name: keyof typeof LIST_SLOT, by: number): void {
  const list = flatbuffer.vectorField(table, LIST_SLOT[name], 1);
  if (list === undefined || list.count < by) return flatbuffer.refuse('has no column to hide');
  flatbuffer.bytes.writeUInt32LE(list.count - by, list.start - 4);
}
