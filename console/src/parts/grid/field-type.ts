import { formatFieldPath } from '../../../../src/model/field-path.ts';
import type { FieldPath } from '../../../../src/model/field-path.ts';
import type { SchemaJson, TypeJson } from '../../../../src/wire/schema/schema-json.ts';

export type FieldShape = SchemaJson['fields'][number];

const FLOATS = new Set(['float16', 'float32', 'float64']);
const NUMBERS = /^(?:u?int\d+|float\d+|decimal.*)$/;
const NESTED = new Set(['list', 'large_list', 'fixed_size_list', 'struct', 'map']);

/** `float32[64]`, `list<utf8>`, `timestamp[us, UTC]`. */
export function typeText(type: TypeJson): string {
  const item = type.fields?.[0]?.type;
  if (type.type === 'fixed_size_list' && item !== undefined) return `${typeText(item)}[${type.length ?? 0}]`;
  if (type.type === 'fixed_size_binary') return `binary[${type.length ?? 0}]`;
  if ((type.type === 'list' || type.type === 'large_list') && item !== undefined) return `list<${typeText(item)}>`;
  const [name = '', unit, zone] = type.type.split(':', 3);
  if (unit === undefined) return name;
  return zone === undefined || zone === '-' ? `${name}[${unit}]` : `${name}[${unit}, ${zone}]`;
}

export function isVector({ type, fields }: TypeJson): boolean {
  const item = fields?.[0]?.type.type ?? '';
  return (type === 'fixed_size_list' || type === 'list') && FLOATS.has(item);
}

export function isNumber({ type }: TypeJson): boolean {
  return NUMBERS.test(type);
}

export function isText({ type }: TypeJson): boolean {
  return type === 'utf8' || type === 'large_utf8';
}

export function isBinary({ type }: TypeJson): boolean {
  return type === 'binary' || type === 'large_binary' || type === 'fixed_size_binary';
}

export function isSortable(type: TypeJson): boolean {
  return !NESTED.has(type.type) && !isBinary(type);
}

export interface PlacedField {
  readonly field: FieldShape;
  readonly names: FieldPath;
  /** A field path with quotes where needed. */
  readonly path: string;
  readonly level: number;
}

/** All fields, depth first, except those inside lists, which have no path. */
export function listFields(fields: readonly FieldShape[], above: readonly string[] = []): readonly PlacedField[] {
  return fields.flatMap((field) => {
    const names = toFieldPath(above, field.name);
    const placed = { field, names, path: formatFieldPath(names), level: names.length };
    const inner = field.type.type === 'struct' ? (field.type.fields ?? []) : [];
    return [placed, ...listFields(inner, names)];
  });
}

function toFieldPath([first, ...rest]: readonly string[], name: string): FieldPath {
  return first === undefined ? [name] : [first, ...rest, name];
}
