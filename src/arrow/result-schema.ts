import { Flatbuffer } from './flatbuffer.ts';
import { MessagePlace } from './message-place.ts';
import type { SchemaMessage } from './schema-message.ts';
import { readSchema } from './schema-reader.ts';
import type { ReadSchema } from './schema-reader.ts';

/** What the engine writes is trusted to be sane, but not without end. */
const BOUNDS = { columnsMax: 1_000_000, depthMax: 256 } as const;

export function readSchemaMessage(message: SchemaMessage): ReadSchema {
  const flatbuffer = new Flatbuffer(message.metadata, new MessagePlace('The schema of a result', 0));
  return readSchema(flatbuffer, message.table, BOUNDS);
}
