import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { childFields } from '../../model/schema.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';
import { describeType } from './type-name.ts';

/** Maps and fixed-size lists of structs need the storage format 2.2, which is not the engine's default. */
export function needsStorageVersion22(schema: Schema): boolean {
  return schema.fields.some((field) => reaches(field.type, (type) => type.kind === 'map' || isStructVector(type)));
}

/** Refuses a type that Lance 8.0 cannot write, or can write but not read. The caller checks its children. */
export function checkType(field: Field, path: readonly string[], needsVersion22: boolean): void {
  const remedy = remedyFor(field.type) ?? (needsVersion22 ? remedyInVersion22(field.type) : undefined);
  if (remedy === undefined) return;
  const column = quoteForMessage(path.join('.'));
  const sentence = `The column ${column} has the type ${describeType(field.type)}, which the storage format cannot hold.`;
  throw new ServiceError('TableSchemaValidationError', sentence, { hint: remedy });
}

/** What to send instead, or `undefined` when the type is fine. */
function remedyFor(type: DataType): string | undefined {
  switch (type.kind) {
    case 'decimal':
      return type.bits < 128 ? 'Cast it to decimal128.' : undefined;
    case 'union':
      return 'Send a struct with one nullable field per alternative.';
    case 'interval':
      return 'Send a duration, or the parts as integers.';
    case 'run-end-encoded':
      return 'Send the values plain or dictionary-encoded.';
    case 'timestamp':
      return type.timezone?.includes(':')
        ? 'Name the zone, such as "UTC" or "Etc/GMT-5"; an offset is not stored.'
        : undefined;
    case 'fixed-size-binary':
      return type.bytes === 0 ? 'A fixed-size binary has at least one byte.' : undefined;
    case 'dictionary':
      return ['bool', 'int', 'float', 'utf8', 'binary'].includes(type.value.kind)
        ? undefined
        : 'Dictionaries hold strings, binary, booleans, integers or floats; send other values plain.';
    case 'list':
      return type.layout === 'view' || type.layout === 'large-view'
        ? 'Cast it to list or large list.'
        : remedyForItem(type.item.type);
    case 'map':
      return remedyForMap(type.entries.type, type.keysSorted);
    case 'fixed-size-list':
      return remedyForFixedSizeList(type.length, type.item.type);
    default:
      return undefined;
  }
}

function remedyForMap(entries: DataType, keysSorted: boolean): string | undefined {
  if (keysSorted) return 'Send the map without the mark that its keys are sorted.';
  const [key] = entries.kind === 'struct' ? entries.children : [];
  return remedyForItem(entries) ?? (key?.nullable === true ? 'Mark the keys of the map as not null.' : undefined);
}

/** Repetition levels cannot represent structs without fields, nor fixed-size lists of structs. */
function remedyForItem(item: DataType): string | undefined {
  if (reaches(item, isEmptyStruct)) return 'A struct inside a list or map has at least one field.';
  if (reaches(item, isStructVector)) return 'A fixed-size list of structs cannot stand inside a list or map.';
  return undefined;
}

const FIXED_WIDTH_KINDS: readonly DataType['kind'][] = [
  'bool',
  'int',
  'float',
  'decimal',
  'date',
  'time',
  'timestamp',
  'duration',
  'fixed-size-binary',
];

function remedyForFixedSizeList(length: number, item: DataType): string | undefined {
  if (length === 0) return 'A fixed-size list has at least one item.';
  if (item.kind === 'struct') {
    if (reaches(item, isEmptyStruct)) return 'A struct inside a list has at least one field.';
    const hasLists = reaches(item, ({ kind }) => kind === 'list' || kind === 'map');
    return hasLists ? 'A struct inside a fixed-size list cannot hold lists or maps.' : undefined;
  }
  if (item.kind === 'fixed-size-list') {
    return reaches(item, ({ kind }) => kind === 'struct') ? 'Make the inner fixed-size list a list.' : undefined;
  }
  if (FIXED_WIDTH_KINDS.includes(item.kind)) return undefined;
  return 'Items of a fixed-size list have a fixed width; send a list instead.';
}

/** Numbers in dictionaries are written by storage version 2.2 in a form that it does not read. */
function remedyInVersion22(type: DataType): string | undefined {
  if (type.kind !== 'dictionary' || (type.value.kind !== 'int' && type.value.kind !== 'float')) return undefined;
  return 'A table with maps or fixed-size lists of structs cannot hold dictionaries of numbers; send them plain.';
}

function reaches(type: DataType, isMatch: (type: DataType) => boolean): boolean {
  return isMatch(type) || childFields(type).some((child) => reaches(child.type, isMatch));
}

function isEmptyStruct(type: DataType): boolean {
  return type.kind === 'struct' && type.children.length === 0;
}

function isStructVector(type: DataType): boolean {
  return type.kind === 'fixed-size-list' && type.item.type.kind === 'struct';
}
