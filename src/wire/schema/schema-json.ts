import type { DataType, Field, Schema } from '../../model/schema.ts';
import type { Dialect } from '../shapes.ts';

export interface TypeJson {
  type: string;
  fields?: FieldJson[];
  length?: number;
}

interface FieldJson {
  name: string;
  type: TypeJson;
  nullable: boolean;
  metadata?: Record<string, string>;
}

export interface SchemaJson {
  fields: FieldJson[];
  metadata?: Record<string, string>;
}

export function toSchemaJson(schema: Schema, dialect: Dialect): SchemaJson {
  const fields = schema.fields.map((field) => toFieldJson(field, dialect));
  return schema.metadata.size === 0 ? { fields } : { fields, metadata: Object.fromEntries(schema.metadata) };
}

function toFieldJson(field: Field, dialect: Dialect): FieldJson {
  const json: FieldJson = { name: field.name, type: toTypeJson(field.type, dialect), nullable: field.nullable };
  if (field.metadata.size > 0) json.metadata = Object.fromEntries(field.metadata);
  return json;
}

export function toTypeJson(type: DataType, dialect: Dialect): TypeJson {
  switch (type.kind) {
    case 'list':
      return { type: type.layout === 'large' ? 'large_list' : 'list', fields: [toFieldJson(type.item, dialect)] };
    case 'fixed-size-list':
      return { type: 'fixed_size_list', fields: [toFieldJson(type.item, dialect)], length: type.length };
    case 'struct':
      return { type: 'struct', fields: type.children.map((child) => toFieldJson(child, dialect)) };
    case 'map':
      return { type: 'map', fields: [toFieldJson(type.entries, dialect)] };
    case 'fixed-size-binary':
      return { type: 'fixed_size_binary', length: type.bytes };
    default:
      return { type: dialect === 'lancedb' ? lanceDbName(type) : lanceName(type) };
  }
}

/** The type names of Lance's own JSON form; any other name makes the LanceDB client reject the whole schema. */
function lanceDbName(type: DataType): string {
  switch (type.kind) {
    case 'int':
      return `${type.signed ? '' : 'u'}int${type.bits}`;
    case 'float':
      return { 16: 'halffloat', 32: 'float', 64: 'double' }[type.bits];
    case 'utf8':
      return type.layout === 'large' ? 'large_string' : 'string';
    case 'binary':
      return type.layout === 'large' ? 'large_binary' : 'binary';
    case 'date':
      return type.unit === 'day' ? 'date32:day' : 'date64:ms';
    case 'time':
      return `time${type.bits}:${type.unit}`;
    case 'timestamp':
      return `timestamp:${type.unit}:${type.timezone ?? '-'}`;
    case 'duration':
      return `duration:${type.unit}`;
    case 'decimal':
      return `decimal:${type.bits}:${type.precision}:${type.scale}`;
    case 'dictionary':
      return `dict:${lanceDbName(type.value)}:${lanceDbName(type.index)}:false`;
    default:
      return type.kind.replaceAll('-', '_');
  }
}

function lanceName(type: DataType): string {
  switch (type.kind) {
    case 'float':
      return `float${type.bits}`;
    case 'utf8':
      return type.layout === 'large' ? 'large_utf8' : 'utf8';
    case 'date':
      return type.unit === 'day' ? 'date32' : 'date64';
    case 'decimal':
      return `decimal${type.bits}(${type.precision}, ${type.scale})`;
    case 'dictionary':
      return `dictionary<${lanceName(type.index)}, ${lanceName(type.value)}>`;
    default:
      return lanceDbName(type);
  }
}
