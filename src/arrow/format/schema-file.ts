import { MessageContext } from './flatbuffer.ts';
import { END_OF_STREAM, FILE_START, createFooter, toSchemaMessage } from './footer.ts';
import { CONTINUATION, PREFIX_BYTES, readMessageHeader } from './message-header.ts';

/** An Arrow file with the schema of another, and without its batches. The other is one that the service has made. */
export function toSchemaFile(file: Buffer): Buffer {
  const isOld = file.readUInt32LE(FILE_START.length) !== CONTINUATION;
  const metadataAt = FILE_START.length + (isOld ? 4 : PREFIX_BYTES);
  const end = metadataAt + file.readInt32LE(metadataAt - 4);
  const framed = file.subarray(FILE_START.length, end);
  const header = readMessageHeader(file.subarray(metadataAt, end), new MessageContext('The schema', FILE_START.length));
  const footer = createFooter({ schema: toSchemaMessage(framed, header), dictionaries: [], batches: [] });
  return Buffer.concat([FILE_START, framed, END_OF_STREAM, footer]);
}
