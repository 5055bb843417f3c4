import { formatFieldPath } from '../model/field-path.ts';
import type { FieldPath } from '../model/field-path.ts';
import type { IndexContent } from '../wire/indexes.ts';
import type { SchemaJson, TypeJson } from '../wire/schema/schema-json.ts';

export interface ColumnFact {
  /** A field path. */
  readonly path: string;
  readonly type: TypeJson;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** All leaf fields, except those inside lists, which cannot be queried separately. */
export function listColumns(schema: SchemaJson | undefined): readonly ColumnFact[] {
  return (schema?.fields ?? []).flatMap((field) => expand([field.name], field));
}

/** The dimension of a searchable vector, or of each vector of a list. */
export function findDimension(type: TypeJson): number | undefined {
  const [item] = type.fields ?? [];
  if (type.type === 'list') return item === undefined ? undefined : findDimension(item.type);
  return type.type === 'fixed_size_list' && isVectorItem(item?.type.type ?? '') ? type.length : undefined;
}

/** The size in bytes of a fixed-size value. */
export function findWidth(type: TypeJson): number | undefined {
  const [item] = type.fields ?? [];
  if (type.type === 'fixed_size_list' && item !== undefined) return (type.length ?? 0) * (findWidth(item.type) ?? 0);
  if (type.type === 'fixed_size_binary') return type.length;
  if (type.type === 'bool') return 1;
  const [, bits] = /^(?:u?int|float|decimal|date|time|timestamp|duration)(\d+)/.exec(type.type) ?? [];
  return bits === undefined ? undefined : Number(bits) / 8;
}

export function findIndex(
  indexes: readonly IndexContent[] | undefined,
  column: string,
  kind: 'vector' | 'scalar' | 'text',
): IndexContent | undefined {
  return indexes?.find((index) => index.columns.includes(column) && kindOfIndex(index) === kind);
}

function kindOfIndex({ index_type: type }: IndexContent): 'vector' | 'scalar' | 'text' {
  if (type.startsWith('IVF')) return 'vector';
  return type === 'FTS' ? 'text' : 'scalar';
}

function expand(path: FieldPath, { type, metadata }: SchemaJson['fields'][number]): readonly ColumnFact[] {
  if (type.type === 'struct') return (type.fields ?? []).flatMap((child) => expand([...path, child.name], child));
  return [{ path: formatFieldPath(path), type, ...(metadata && { metadata }) }];
}

function isVectorItem(type: string): boolean {
  return /^(?:float(?:16|32|64)|uint8)$/.test(type);
}
