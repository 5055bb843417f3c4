import { childFields } from '../model/schema.ts';
import type { DataType, Schema } from '../model/schema.ts';

/** Maps and fixed-size lists of structs are held only by the storage format 2.2, which is not the engine's default. */
export function needsStorageVersion22(schema: Schema): boolean {
  return schema.fields.some((field) => isNewIn22(field.type));
}

function isNewIn22(type: DataType): boolean {
  if (type.kind === 'map') return true;
  if (type.kind === 'fixed-size-list' && type.item.type.kind === 'struct') return true;
  return childFields(type).some((child) => isNewIn22(child.type));
}
