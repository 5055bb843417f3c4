export const SCALAR_TYPES = [
  'bool',
  'int32',
  'int64',
  'float32',
  'float64',
  'utf8',
  'binary',
  'date32',
  'timestamp[us]',
  'timestamp[us, UTC]',
  'decimal128(18, 2)',
];

/** Suggestions: any type that the server supports can be entered. */
export const COLUMN_TYPES = [...SCALAR_TYPES, 'float32[128]', 'list<utf8>'];

/**
 * Converts `float32[64]`, `list<utf8>` and `timestamp[us, UTC]` to the form of requests; the server accepts all others
 * unchanged.
 */
export function toDataType(text: string): unknown {
  const type = text.trim();
  const [, vectorItem, length] = /^(\w+)\[([1-9]\d*)\]$/.exec(type) ?? [];
  if (vectorItem !== undefined) return { ...listOf(vectorItem, 'fixed_size_list'), length: Number(length) };
  const listItem = /^list<(.+)>$/.exec(type)?.[1];
  if (listItem !== undefined) return listOf(listItem, 'list');
  const [, name, unit, zone] = /^(\w+)\[(s|ms|us|ns)(?:,\s*([^\]]+))?\]$/.exec(type) ?? [];
  if (name === undefined) return type;
  return [name, unit, zone].filter((part) => part !== undefined).join(':');
}

function listOf(item: string, type: string): object {
  const itemType = toDataType(item);
  const fields = [{ name: 'item', type: typeof itemType === 'string' ? { type: itemType } : itemType, nullable: true }];
  return { type, fields };
}
