import { quoteForMessage } from '../../model/identifier.ts';
import type { DataType, Field, TimeUnit } from '../../model/schema.ts';

/**
 * The text by which the engine's SQL function `arrow_cast` knows a type, or `undefined` when its grammar has none. The
 * caller quotes it as an SQL string.
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
      return BYTES_LAYOUT[type.layout]('Utf8');
    case 'binary':
      return BYTES_LAYOUT[type.layout]('Binary');
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
    default:
      return formatNested(type);
  }
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
      return BYTES_DESCRIPTION[type.layout](type.kind);
    case 'fixed-size-binary':
      return `binary[${type.bytes}]`;
    case 'date':
      return type.unit === 'day' ? 'date32' : 'date64';
    case 'time':
      return `time${type.bits}[${type.unit}]`;
    case 'timestamp':
      return `timestamp[${type.unit}${type.timezone === undefined ? '' : `, ${describeZone(type.timezone)}`}]`;
    case 'duration':
      return `duration[${type.unit}]`;
    case 'interval':
      return `interval[${type.unit}]`;
    case 'list':
      return `${LIST_DESCRIPTION[type.layout]}<${describeType(type.item.type)}>`;
    case 'fixed-size-list':
      return `${describeType(type.item.type)}[${type.length}]`;
    case 'dictionary':
      return `dictionary<${describeType(type.value)}>`;
    default:
      return type.kind;
  }
}

type NestedKind = 'list' | 'fixed-size-list' | 'struct' | 'map' | 'dictionary';

const UNIT_NAMES: Readonly<Record<TimeUnit, string>> = {
  s: 'Second',
  ms: 'Millisecond',
  us: 'Microsecond',
  ns: 'Nanosecond',
};

const BYTES_LAYOUT = {
  plain: (name: string) => name,
  large: (name: string) => `Large${name}`,
  view: (name: string) => `${name}View`,
} as const;

const LIST_NAMES = { plain: 'List', large: 'LargeList', view: 'ListView', 'large-view': 'LargeListView' } as const;

/** The grammar keeps the backslash of an escape in the name, so a name with one of these cannot be said. */
const UNQUOTABLE = /["'\\]/;

function formatTimestamp(unit: TimeUnit, timezone: string | undefined): string | undefined {
  if (timezone === undefined) return `Timestamp(${UNIT_NAMES[unit]}, None)`;
  return isQuotable(timezone) ? `Timestamp(${UNIT_NAMES[unit]}, Some("${timezone}"))` : undefined;
}

function formatNested(type: Extract<DataType, { kind: NestedKind }>): string | undefined {
  switch (type.kind) {
    case 'list':
      return wrap(LIST_NAMES[type.layout], [formatItem(type.item)]);
    case 'fixed-size-list':
      return formatFixedSizeList(type.length, type.item);
    case 'struct':
      return wrap('Struct', type.children.map(formatField));
    case 'map':
      return wrap('Map', [formatField(type.entries), type.keysSorted ? 'sorted' : 'unsorted']);
    default:
      return wrap('Dictionary', [formatArrowCast(type.index), formatArrowCast(type.value)]);
  }
}

function formatFixedSizeList(length: number, item: Field): string | undefined {
  if (item.name === 'item' && item.nullable) return wrap('FixedSizeList', [`${length}`, formatArrowCast(item.type)]);
  const text = formatItem(item);
  return text === undefined ? undefined : `FixedSizeList(${length} x ${text})`;
}

function formatItem(item: Field): string | undefined {
  const type = formatArrowCast(item.type);
  if (type === undefined || !isQuotable(item.name)) return undefined;
  const text = item.nullable ? type : `non-null ${type}`;
  return item.name === 'item' ? text : `${text}, field: '${item.name}'`;
}

function formatField(field: Field): string | undefined {
  const type = formatArrowCast(field.type);
  if (type === undefined || !isQuotable(field.name)) return undefined;
  return `"${field.name}": ${field.nullable ? type : `non-null ${type}`}`;
}

function isQuotable(name: string): boolean {
  return name !== '' && !UNQUOTABLE.test(name);
}

function wrap(name: string, parts: readonly (string | undefined)[]): string | undefined {
  return parts.includes(undefined) ? undefined : `${name}(${parts.join(', ')})`;
}

const BYTES_DESCRIPTION = {
  plain: (name: string) => name,
  large: (name: string) => `large ${name}`,
  view: (name: string) => `${name} view`,
} as const;

const LIST_DESCRIPTION = {
  plain: 'list',
  large: 'large list',
  view: 'list view',
  'large-view': 'large list view',
} as const;

function describeZone(timezone: string): string {
  return /^[\w/+:-]{1,64}$/.test(timezone) ? timezone : quoteForMessage(timezone);
}
