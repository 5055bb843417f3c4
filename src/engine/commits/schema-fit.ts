import { readFileSchema } from '../../arrow/schema/schema-reader.ts';
import { describeType } from '../../arrow/schema/type-name.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { quotePath, resolveField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { childFields, isJson } from '../../model/schema.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';
import { engineCall, isConversionRefusal } from '../native/engine-errors.ts';
import type { NativeTable } from '../native/native.ts';

/**
 * Compares the columns of new rows with those of the table. The engine would refuse later and less clearly, or silently
 * convert 1.5 to 1.
 */
export function requireFit(rows: Schema, table: Schema): void {
  requireKnown(rows.fields, table.fields);
  const given = new Set(rows.fields.map(({ name }) => name));
  const missing = table.fields.find(({ name, nullable }) => !nullable && !given.has(name));
  if (missing === undefined) return;
  throw unfit(`The column ${quotePath([missing.name])} is missing.`, 'Only nullable columns can be omitted.');
}

/** Refuses a column that the table lacks, or whose type cannot be converted. */
export function requireKnown(given: readonly Field[], wanted: readonly Field[], above?: FieldPath): void {
  const byName = new Map(wanted.map((field) => [field.name, field]));
  for (const field of given) {
    const path: FieldPath = above === undefined ? [field.name] : [...above, field.name];
    const known = byName.get(field.name);
    if (known === undefined) throw unknownColumn(path, wanted);
    requireType(field.type, known.type, path);
  }
}

/** Adds the rows of an Arrow file, converted to the types of the table. */
export async function addRows(
  native: NativeTable,
  file: Buffer,
  tableSchema: Schema,
): Promise<{ readonly version: number }> {
  try {
    return await engineCall(async () => native.add(file, 'append'));
  } catch (error) {
    if (!isConversionRefusal(error)) throw error;
    throw findMisfit(readFileSchema(file), tableSchema, error) ?? error;
  }
}

/** Names the columns that may contain the value that the engine could not convert; `undefined` if there are none. */
function findMisfit(rows: Schema, table: Schema, cause: unknown): ServiceError | undefined {
  const byName = new Map(table.fields.map(({ name, type }) => [name, describeType(type)]));
  const converted = rows.fields.flatMap(({ name, type }) => {
    const [given, wanted] = [describeType(type.kind === 'dictionary' ? type.value : type), byName.get(name)];
    return wanted === undefined || wanted === given ? [] : [`${quotePath([name])} (${given} to ${wanted})`];
  });
  if (converted.length === 0) return undefined;
  const hint = 'Send values that the type of the table can hold, or change it with alter_columns.';
  const message = `A value does not fit the type of its column: ${converted.slice(0, NAMED_MAX).join(' or ')}.`;
  return new ServiceError('TableSchemaValidationError', message, { hint, cause });
}

/** Naming more columns would only make the message longer. */
const NAMED_MAX = 20;

/**
 * Whether rows have the table's types, but some in another encoding: with or without a dictionary, with another offset
 * size, or JSON as plain text.
 */
export function isEncodedOtherwise(rows: Schema, table: Schema): boolean {
  const wanted = new Map(table.fields.map((field) => [field.name, field]));
  const others = rows.fields.flatMap((field) => {
    const known = wanted.get(field.name);
    return known === undefined || toText(field) === toText(known) ? [] : [[plainText(field), plainText(known)]];
  });
  return others.length > 0 && others.every(([given, known]) => given === known);
}

function toText(field: Field): string {
  return JSON.stringify(field, (key, value: unknown) => {
    if (NOTES.has(key)) return undefined;
    return isJsonField(value) ? 'json' : value;
  });
}

function plainText(field: Field): string {
  return JSON.stringify(field, (key, value: unknown) => {
    if (NOTES.has(key) || key === 'layout') return undefined;
    if (isJsonField(value)) return { ...value, type: { kind: 'utf8' } };
    return isDictionary(value) ? value.value : value;
  });
}

/** Properties of a field apart from its type. */
const NOTES: ReadonlySet<string> = new Set(['metadata', 'nullable']);

function isJsonField(value: unknown): value is Field {
  if (typeof value !== 'object' || value === null || !('metadata' in value)) return false;
  return value.metadata instanceof Map && isJson({ metadata: value.metadata });
}

function isDictionary(value: unknown): value is DataType & { readonly kind: 'dictionary' } {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'dictionary';
}

function requireType(given: DataType, wanted: DataType, path: FieldPath): void {
  if (given.kind === 'dictionary') return requireType(given.value, wanted, path);
  if (wanted.kind === 'dictionary') return requireType(given, wanted.value, path);
  if (given.kind === 'struct' && wanted.kind === 'struct') return requireKnown(given.children, wanted.children, path);
  if (given.kind === 'fixed-size-list' && wanted.kind === 'fixed-size-list' && given.length !== wanted.length) {
    throw unfit(
      `The column ${quotePath(path)} has lists of ${given.length} values; the table has lists of ${wanted.length}.`,
    );
  }
  if (!isConvertible(given, wanted)) {
    throw unfit(
      `The column ${quotePath(path)} has the type ${describeType(given)}; the table has ${describeType(wanted)}.`,
    );
  }
  const items = itemsOf(given);
  for (const [index, { name, type }] of itemsOf(wanted).entries()) {
    const item = items[index];
    if (item !== undefined) requireType(item.type, type, [...path, name]);
  }
}

/** The fields inside a list or map, which are matched by position: their names do not matter. */
function itemsOf(type: DataType): readonly Field[] {
  return type.kind === 'map' ? childFields(type.entries.type) : childFields(type);
}

/** Within a family the engine converts values, and refuses those out of range. */
const FAMILIES: readonly (readonly DataType['kind'][])[] = [
  ['int', 'float', 'decimal'],
  ['binary', 'fixed-size-binary'],
  ['list', 'fixed-size-list'],
];

function isConvertible(given: DataType, wanted: DataType): boolean {
  if (given.kind === 'null') return true;
  if (wanted.kind === 'int' && hasFractions(given)) return false;
  if (isShortened(given, wanted)) return false;
  // JSON is stored in a binary form.
  if (given.kind === 'utf8' && wanted.kind === 'binary') return true;
  return (
    given.kind === wanted.kind || FAMILIES.some((kinds) => kinds.includes(given.kind) && kinds.includes(wanted.kind))
  );
}

/** Whether the type has fractions, which the engine would truncate. */
export function hasFractions(type: DataType): boolean {
  return type.kind === 'float' || (type.kind === 'decimal' && type.scale > 0);
}

/** Whether values lose precision: the engine would round these decimals, and 32-bit dates would overflow. */
export function isShortened(given: DataType, wanted: DataType): boolean {
  if (given.kind === 'decimal' && wanted.kind === 'decimal') return wanted.scale < given.scale;
  return given.kind === 'date' && wanted.kind === 'date' && given.unit === 'ms' && wanted.unit === 'day';
}

function unknownColumn(path: FieldPath, wanted: readonly Field[]): ServiceError {
  const namesake = wanted.find(({ name }) => name.toLowerCase() === path.at(-1)?.toLowerCase());
  const hint = namesake === undefined ? undefined : `Did you mean ${quoteForMessage(namesake.name)}?`;
  return unfit(`The table has no column ${quotePath(path)}.`, hint);
}

function unfit(message: string, hint?: string): ServiceError {
  return new ServiceError('TableSchemaValidationError', message, { hint });
}

/** Whether the field, or a struct that contains it, is the item of a list. */
export function isInsideList(schema: Schema, path: FieldPath): boolean {
  return path.slice(1).some((_, index) => {
    const outer: FieldPath = [path[0], ...path.slice(1, index + 1)];
    return resolveField(schema, outer)?.type.kind !== 'struct';
  });
}
