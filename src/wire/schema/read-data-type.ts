import { invalidInput } from '../../errors/service-error.ts';
import type { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { DataType, Field } from '../../model/schema.ts';
import { isObject } from '../../model/strict-json.ts';
import { parseTypeName } from './type-names.ts';

const DEPTH_MAX = 32;
const CHARACTERS_MAX = 65_536;

/**
 * Parses a type as callers write it: a name of either client family, an object with `type`, `fields` and `length`, or
 * its JSON.
 */
export function readDataType(value: unknown, field: string): DataType {
  return readType(value, { field, depth: 0 });
}

interface Reading {
  readonly field: string;
  readonly depth: number;
}

function readType(value: unknown, reading: Reading): DataType {
  if (reading.depth > DEPTH_MAX) throw typeFault(reading, `is nested more than ${DEPTH_MAX} levels deep`);
  if (typeof value === 'string') return readText(value, reading);
  if (!isObject(value)) throw typeFault(reading, 'is neither a name nor an object');
  const { type } = value;
  if (isObject(type)) return readType(type, { ...reading, depth: reading.depth + 1 });
  if (typeof type !== 'string') throw typeFault(reading, 'has no type');
  return readNested(type, value, reading) ?? readName(type, reading);
}

function readText(text: string, reading: Reading): DataType {
  if (text.length > CHARACTERS_MAX) throw typeFault(reading, `is longer than ${CHARACTERS_MAX} characters`);
  if (!text.trimStart().startsWith('{')) return readName(text, reading);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw typeFault(reading, 'is not valid JSON', cause);
  }
  return readType(parsed, { ...reading, depth: reading.depth + 1 });
}

function readName(name: string, reading: Reading): DataType {
  const type = parseTypeName(name);
  if (type !== undefined) return type;
  throw typeFault(reading, `has the type ${quoteForMessage(name)}, which is unknown or incomplete`);
}

type Json = Readonly<Record<string, unknown>>;

function readNested(name: string, json: Json, reading: Reading): DataType | undefined {
  switch (name) {
    case 'list':
    case 'large_list':
      return { kind: 'list', layout: name === 'list' ? 'plain' : 'large', item: readItem(json, reading) };
    case 'fixed_size_list':
      return { kind: 'fixed-size-list', length: readLength(json, reading), item: readItem(json, reading) };
    case 'struct':
      return { kind: 'struct', children: readFields(json, reading) };
    case 'fixed_size_binary':
      return { kind: 'fixed-size-binary', bytes: readLength(json, reading) };
    default:
      return undefined;
  }
}

function readItem(json: Json, reading: Reading): Field {
  const [item, ...others] = readFields(json, reading);
  if (item === undefined || others.length > 0) throw typeFault(reading, 'is a list without exactly one field');
  return item;
}

function readFields(json: Json, reading: Reading): readonly Field[] {
  const { fields } = json;
  if (!Array.isArray(fields) || fields.length === 0) throw typeFault(reading, 'has no fields');
  return fields.map((field: unknown) => readField(field, { ...reading, depth: reading.depth + 1 }));
}

function readField(value: unknown, reading: Reading): Field {
  if (!isObject(value) || typeof value['name'] !== 'string') throw typeFault(reading, 'has a field without a name');
  const nullable = value['nullable'] ?? true;
  if (typeof nullable !== 'boolean') throw typeFault(reading, 'has a field whose nullable is neither true nor false');
  return { name: value['name'], nullable, type: readType(value['type'], reading), metadata: new Map() };
}

function readLength({ length }: Json, reading: Reading): number {
  if (typeof length === 'number' && Number.isInteger(length) && length >= 1 && length <= LENGTH_MAX) return length;
  throw typeFault(reading, `needs a length from 1 to ${LENGTH_MAX}`);
}

const LENGTH_MAX = 1_048_576;

function typeFault({ field }: Reading, fault: string, cause?: unknown): ServiceError {
  const hint = 'Give a type such as {"type": "int64"}, {"type": "string"} or {"type": "timestamp:us:UTC"}.';
  return invalidInput(`${field} ${fault}.`, hint, cause);
}
