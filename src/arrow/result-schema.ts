import { BOUNDS } from './schema-file.ts';
import { Flatbuffer } from './flatbuffer.ts';
import { MessagePlace } from './message-place.ts';
import type { SchemaMessage } from './schema-message.ts';
import { readSchema } from './schema-reader.ts';
import type { ReadSchema } from './schema-reader.ts';

export function readSchemaMessage(message: SchemaMessage): ReadSchema {
  const flatbuffer = new Flatbuffer(message.metadata, new MessagePlace('The schema of a result', 0));
  return readSchema(flatbuffer, message.table, BOUNDS);
}
