import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { childFields } from '../../model/schema.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';
import { findFixedWidth } from '../format/column-layout.ts';
import { describeType } from './type-name.ts';

/**
 * Limits of tables in addition to those of Arrow. The engine would accept most violations, but could never read the
 * table again.
 */
export function checkSchemaRules(schema: Schema): void {
  if (schema.fields.length === 0) refuse('The schema has no columns.', 'A table needs at least one column.');
  for (const field of schema.fields) checkColumnName(field.name, 'Rename the column in the stream.');
  checkSiblings(schema.fields, []);
  const needsVersion22 = needsStorageVersion22(schema);
  for (const field of schema.fields) checkField(field, [field.name], needsVersion22);
}

/** The engine adds columns with these names to what it reads. */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  '_rowid',
  '_rowaddr',
  '_rowoffset',
  '_row_created_at_version',
  '_row_last_updated_at_version',
  '_distance',
  '_score',
  '_relevance_score',
]);

/** For a top-level column. */
export function checkColumnName(name: string, hint = 'Choose another name.'): void {
  const fault = topLevelNameFault(name);
  if (fault !== undefined) refuse(`The column name ${quoteForMessage(name)} ${fault}.`, hint);
}

function topLevelNameFault(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name.includes('.')) return 'contains a dot, which separates a struct from its fields';
  if (name.includes('`')) return 'contains a backtick, which the storage engine cannot read back';
  if (RESERVED_NAMES.has(name)) return 'is reserved for a column that queries add';
  return undefined;
}

function checkSiblings(fields: readonly Field[], parent: readonly string[]): void {
  const names = new Set<string>();
  for (const { name } of fields) {
    if (names.has(name)) {
      const sentence = `The schema has more than one column named ${quotePath([...parent, name])}.`;
      refuse(sentence, 'Columns at the same level need different names.');
    }
    names.add(name);
  }
}

function checkField(field: Field, path: readonly string[], needsVersion22: boolean): void {
  checkFieldMetadata(field, path);
  checkType(field, path, needsVersion22);
  const children = childFields(field.type);
  if (field.type.kind === 'struct') {
    checkSiblings(children, path);
    // Items of lists may have an empty name, because they are never addressed by name.
    if (children.some(({ name }) => name === '')) {
      refuse(`The struct ${quotePath(path)} has a field with an empty name.`, 'Give every field of a struct a name.');
    }
  }
  for (const child of children) checkField(child, [...path, child.name], needsVersion22);
}

export const EXTENSION_NAME_KEY = 'ARROW:extension:name';
export const JSON_EXTENSION = 'arrow.json';

const EXTENSION_METADATA_KEY = 'ARROW:extension:metadata';
const EXTENSION_PREFIX = 'ARROW:extension:';

/** Metadata keys that control the storage format would make tables unreadable if a stream set them. */
function checkFieldMetadata(field: Field, path: readonly string[]): void {
  const refuseHaving = (what: string, hint = 'Remove it from the field in the stream.'): never =>
    refuse(`The column ${quotePath(path)} has ${what}.`, hint);
  for (const key of field.metadata.keys()) {
    const fault = keyFault(key, field);
    if (fault !== undefined) refuseHaving(`the metadata key ${quoteForMessage(key)}, which ${fault}`);
  }
  const extension = field.metadata.get(EXTENSION_NAME_KEY);
  if (extension === undefined) return;
  if (extension === '') refuseHaving('an extension type without a name');
  if (extension.startsWith('lance.')) {
    refuseHaving(`the extension type ${quoteForMessage(extension)}, which belongs to the storage format`);
  }
  if (extension === JSON_EXTENSION && field.type.kind === 'utf8' && field.type.layout === 'view') {
    refuseHaving('JSON text as string views', 'Send JSON as utf8 or large utf8.');
  }
}

function keyFault(key: string, field: Field): string | undefined {
  if (key.startsWith('lance-') || key.startsWith('lance:') || key === 'packed') return 'belongs to the storage format';
  if (!key.startsWith(EXTENSION_PREFIX) || key === EXTENSION_NAME_KEY) return undefined;
  if (key !== EXTENSION_METADATA_KEY) return 'is not part of an Arrow extension type';
  return field.metadata.has(EXTENSION_NAME_KEY) ? undefined : `needs ${quoteForMessage(EXTENSION_NAME_KEY)} as well`;
}

function quotePath(path: readonly string[]): string {
  return quoteForMessage(path.join('.'));
}

function refuse(sentence: string, hint: string): never {
  throw new ServiceError('TableSchemaValidationError', sentence, { hint });
}

/** Maps need storage format 2.2, which is not the default of every engine release. */
export function needsStorageVersion22(schema: Schema): boolean {
  return schema.fields.some((field) => reaches(field.type, (type) => type.kind === 'map'));
}

/** Refuses a type that Lance 8.0 cannot write, or can write but not read. The caller checks its children. */
function checkType(field: Field, path: readonly string[], needsVersion22: boolean): void {
  const remedy = remedyFor(field.type) ?? (needsVersion22 ? remedyInVersion22(field.type) : undefined);
  if (remedy === undefined) return;
  const type = describeType(field.type);
  refuse(`The column ${quotePath(path)} has the type ${type}, which the storage format does not support.`, remedy);
}

/** What to send instead, or `undefined` if the type is supported. */
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
        ? 'Use the name of a time zone, such as "UTC" or "Etc/GMT-5"; offsets are not supported.'
        : undefined;
    case 'fixed-size-binary':
      return type.bytes === 0 ? 'A fixed-size binary must have at least one byte.' : undefined;
    case 'dictionary':
      return ['bool', 'int', 'float', 'utf8', 'binary'].includes(type.value.kind)
        ? undefined
        : 'Only strings, binary, booleans, integers and floats can be dictionary-encoded; send other values plain.';
    case 'struct':
      // Once written, it shifts the columns after it, and the table cannot be read.
      return type.children.length === 0 ? 'A struct needs at least one field.' : undefined;
    case 'list':
      return type.layout === 'view' || type.layout === 'large-view' ? 'Cast it to list or large list.' : undefined;
    case 'map':
      return remedyForMap(type.entries.type, type.keysSorted);
    case 'fixed-size-list':
      return remedyForFixedSizeList(type.length, type.item.type);
    default:
      return undefined;
  }
}

function remedyForMap(entries: DataType, keysSorted: boolean): string | undefined {
  if (keysSorted) return 'Send the map without the keysSorted flag.';
  const [key] = entries.kind === 'struct' ? entries.children : [];
  return key?.nullable === true ? 'Mark the keys of the map as not null.' : undefined;
}

/** Structs in a fixed-size list are written, but cannot be read together with other columns. */
function remedyForFixedSizeList(length: number, item: DataType): string | undefined {
  if (length === 0) return 'A fixed-size list needs at least one item.';
  if (item.kind === 'bool' || item.kind === 'fixed-size-list' || findFixedWidth(item) !== undefined) return undefined;
  return 'Items of a fixed-size list must have a fixed width; send a list instead.';
}

/** Storage version 2.2 writes numbers in dictionaries in a form that it cannot read. */
function remedyInVersion22(type: DataType): string | undefined {
  if (type.kind !== 'dictionary' || (type.value.kind !== 'int' && type.value.kind !== 'float')) return undefined;
  return 'A table with maps cannot have dictionaries of numbers; send them plain.';
}

function reaches(type: DataType, isMatch: (type: DataType) => boolean): boolean {
  return isMatch(type) || childFields(type).some((child) => reaches(child.type, isMatch));
}
