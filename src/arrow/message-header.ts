import { Flatbuffer } from './flatbuffer.ts';
import type { MessagePlace } from './message-place.ts';

/** The union tags of `MessageHeader` in the format's Message.fbs that a stream of tables may hold. */
export const HEADER_KIND = { schema: 1, dictionaryBatch: 2, recordBatch: 3 } as const;

/** What a message says of itself. `table` is where its header stands in the flatbuffer. */
export interface MessageHeader {
  readonly flatbuffer: Flatbuffer;
  readonly kind: number;
  readonly table: number;
  readonly version: number;
  readonly bodyBytes: number;
}

export function readMessageHeader(metadata: Buffer, place: MessagePlace): MessageHeader {
  const flatbuffer = new Flatbuffer(metadata, place);
  const root = flatbuffer.rootTable();
  const table = flatbuffer.tableField(root, 2);
  if (table === undefined) return place.refuse('has no header');
  const bodyBytes = flatbuffer.i64Field(root, 3, 0);
  if (bodyBytes < 0 || bodyBytes % 8 !== 0) {
    place.refuse(`declares a body of ${bodyBytes} bytes`, 'Bodies are padded to a multiple of 8 bytes.');
  }
  const kind = flatbuffer.u8Field(root, 1, 0);
  return { flatbuffer, kind, table, version: flatbuffer.i16Field(root, 0, 0), bodyBytes };
}
