import { quoteForMessage } from '../../model/identifier.ts';
import type { DataType, Field, TimeUnit } from '../../model/schema.ts';

const UNIT_NAMES: Readonly<Record<TimeUnit, string>> = {
  s: 'Second',
  ms: 'Millisecond',
  us: 'Microsecond',
  ns: 'Nanosecond',
};

/**
 * The name of a type for the engine's SQL function `arrow_cast`, or `undefined` if its grammar has none. The caller
 * quotes it as an SQL string.
 */
export function formatArrowCast(type: DataType): string | undefined {
  switch (type.kind) {
    case 'null':
      return 'Null';
    case 'bool':
      return 'Boolean';
    case 'int':
      return `${type.signed ? 'Int' : 'UInt'}${type.bits}`;
    case 'float':
      return `Float${type.bits}`;
    case 'decimal':
      return `Decimal${type.bits}(${type.precision}, ${type.scale})`;
    case 'utf8':
    case 'binary':
      return nameOfLayout(type.layout, ['Large', type.kind === 'utf8' ? 'Utf8' : 'Binary', 'View']);
    case 'fixed-size-binary':
      return `FixedSizeBinary(${type.bytes})`;
    case 'date':
      return type.unit === 'day' ? 'Date32' : 'Date64';
    case 'time':
      return `Time${type.bits}(${UNIT_NAMES[type.unit]})`;
    case 'timestamp':
      return formatTimestamp(type.unit, type.timezone);
    case 'duration':
      return `Duration(${UNIT_NAMES[type.unit]})`;
    case 'interval':
    case 'union':
    case 'run-end-encoded':
      return undefined;
    case 'list':
      return wrap(nameOfLayout(type.layout, ['Large', 'List', 'View']), [formatItem(type.item)]);
    case 'fixed-size-list':
      return formatFixedSizeList(type.length, type.item);
    case 'struct':
      return wrap('Struct', type.children.map(formatField));
    case 'map':
      return wrap('Map', [formatField(type.entries), type.keysSorted ? 'sorted' : 'unsorted']);
    case 'dictionary':
      return wrap('Dictionary', [formatArrowCast(type.index), formatArrowCast(type.value)]);
  }
}

/** The grammar keeps the backslash of an escape in the name, so names with these characters cannot be expressed. */
const UNQUOTABLE = /["'\\]/;

type Layout = 'plain' | 'large' | 'view' | 'large-view';

function nameOfLayout(layout: Layout, [large, name, view]: readonly [string, string, string]): string {
  return `${layout.startsWith('large') ? large : ''}${name}${layout.endsWith('view') ? view : ''}`;
}

function formatTimestamp(unit: TimeUnit, timezone: string | undefined): string | undefined {
  if (timezone === undefined) return `Timestamp(${UNIT_NAMES[unit]}, None)`;
  return isQuotable(timezone) ? `Timestamp(${UNIT_NAMES[unit]}, Some("${timezone}"))` : undefined;
}

function formatFixedSizeList(length: number, item: Field): string | undefined {
  if (item.name === 'item' && item.nullable) return wrap('FixedSizeList', [`${length}`, formatArrowCast(item.type)]);
  const text = formatItem(item);
  return text === undefined ? undefined : `FixedSizeList(${length} x ${text})`;
}

function formatItem(item: Field): string | undefined {
  const text = formatNullable(item);
  return text === undefined || item.name === 'item' ? text : `${text}, field: '${item.name}'`;
}

function formatField(field: Field): string | undefined {
  const text = formatNullable(field);
  return text === undefined ? undefined : `"${field.name}": ${text}`;
}

function formatNullable({ name, type, nullable }: Field): string | undefined {
  const text = formatArrowCast(type);
  if (text === undefined || !isQuotable(name)) return undefined;
  return nullable ? text : `non-null ${text}`;
}

function isQuotable(name: string): boolean {
  return name !== '' && !UNQUOTABLE.test(name);
}

function wrap(name: string, parts: readonly (string | undefined)[]): string | undefined {
  return parts.includes(undefined) ? undefined : `${name}(${parts.join(', ')})`;
}

/** A short name for people: `float32[16]`, `list<int64>`, `timestamp[us, UTC]`. */
export function describeType(type: DataType): string {
  switch (type.kind) {
    case 'int':
      return `${type.signed ? 'int' : 'uint'}${type.bits}`;
    case 'float':
      return `float${type.bits}`;
    case 'decimal':
      return `decimal${type.bits}(${type.precision}, ${type.scale})`;
    case 'utf8':
    case 'binary':
      return nameOfLayout(type.layout, ['large ', type.kind, ' view']);
    case 'fixed-size-binary':
      return `binary[${type.bytes}]`;
    case 'date':
      return type.unit === 'day' ? 'date32' : 'date64';
    case 'time':
      return `time${type.bits}[${type.unit}]`;
    case 'timestamp':
      return `timestamp[${type.unit}${type.timezone === undefined ? '' : `, ${describeZone(type.timezone)}`}]`;
    case 'duration':
    case 'interval':
      return `${type.kind}[${type.unit}]`;
    case 'list':
      return `${nameOfLayout(type.layout, ['large ', 'list', ' view'])}<${describeType(type.item.type)}>`;
    case 'fixed-size-list':
      return `${describeType(type.item.type)}[${type.length}]`;
    case 'dictionary':
      return `dictionary<${describeType(type.value)}>`;
    default:
      return type.kind;
  }
}

function describeZone(timezone: string): string {
  return /^[\w/+:-]{1,64}$/.test(timezone) ? timezone : quoteForMessage(timezone);
}
