import type { DataType, IntType, TimeUnit } from '../../model/schema.ts';

const INTEGERS = new Map<string, IntType>(
  ([8, 16, 32, 64] as const).flatMap((bits) => [
    [`int${bits}`, { kind: 'int', bits, signed: true }],
    [`uint${bits}`, { kind: 'int', bits, signed: false }],
  ]),
);

const PLAIN_TYPES: Readonly<Record<string, DataType>> = {
  ...Object.fromEntries(INTEGERS),
  null: { kind: 'null' },
  bool: { kind: 'bool' },
  boolean: { kind: 'bool' },
  halffloat: { kind: 'float', bits: 16 },
  float16: { kind: 'float', bits: 16 },
  float: { kind: 'float', bits: 32 },
  float32: { kind: 'float', bits: 32 },
  double: { kind: 'float', bits: 64 },
  float64: { kind: 'float', bits: 64 },
  string: { kind: 'utf8', layout: 'plain' },
  utf8: { kind: 'utf8', layout: 'plain' },
  large_string: { kind: 'utf8', layout: 'large' },
  large_utf8: { kind: 'utf8', layout: 'large' },
  binary: { kind: 'binary', layout: 'plain' },
  large_binary: { kind: 'binary', layout: 'large' },
  date32: { kind: 'date', unit: 'day' },
  'date32:day': { kind: 'date', unit: 'day' },
  date64: { kind: 'date', unit: 'ms' },
  'date64:ms': { kind: 'date', unit: 'ms' },
  timestamp: { kind: 'timestamp', unit: 'us', timezone: undefined },
};

/** Parses the name of a type without fields, of either client family: `float` is `float32`. */
export function parseTypeName(name: string): DataType | undefined {
  if (Object.hasOwn(PLAIN_TYPES, name)) return PLAIN_TYPES[name];
  return parseTime(name) ?? parseDecimal(name) ?? parseSized(name) ?? parseDictionary(name);
}

function parseTime(name: string): DataType | undefined {
  const [kind = '', unitText = '', ...zone] = name.split(':');
  const unit = toUnit(unitText);
  if (unit === undefined) return undefined;
  if (kind === 'timestamp') return toTimestamp(unit, zone.join(':'));
  if (zone.length > 0) return undefined;
  if (kind === 'duration') return { kind: 'duration', unit };
  if (kind === 'time32' && (unit === 's' || unit === 'ms')) return { kind: 'time', bits: 32, unit };
  if (kind === 'time64' && (unit === 'us' || unit === 'ns')) return { kind: 'time', bits: 64, unit };
  return undefined;
}

/** Lance writes a dash if there is no zone. */
function toTimestamp(unit: TimeUnit, zone: string): DataType | undefined {
  if (zone === '' || zone === '-') return { kind: 'timestamp', unit, timezone: undefined };
  return /^[\w/+:-]{1,64}$/.test(zone) ? { kind: 'timestamp', unit, timezone: zone } : undefined;
}

function parseDecimal(name: string): DataType | undefined {
  const match = /^decimal:(128|256):(\d{1,2}):(-?\d{1,2})$|^decimal(128|256)\((\d{1,2}), ?(-?\d{1,2})\)$/.exec(name);
  if (match === null) return undefined;
  const bits = (match[1] ?? match[4]) === '128' ? 128 : 256;
  const precision = Number(match[2] ?? match[5]);
  const scale = Number(match[3] ?? match[6]);
  const precisionMax = bits === 128 ? 38 : 76;
  return precision >= 1 && precision <= precisionMax && Math.abs(scale) <= precision
    ? { kind: 'decimal', bits, precision, scale }
    : undefined;
}

/** `fixed_size_list:float:16` and `fixed_size_binary:16`. */
function parseSized(name: string): DataType | undefined {
  const match = /^fixed_size_(?:binary|list:(\w+)):(\d{1,6})$/.exec(name);
  if (match === null) return undefined;
  const length = Number(match[2]);
  if (length < 1) return undefined;
  if (match[1] === undefined) return { kind: 'fixed-size-binary', bytes: length };
  const type = parseTypeName(match[1]);
  if (type === undefined) return undefined;
  return { kind: 'fixed-size-list', length, item: { name: 'item', nullable: true, type, metadata: new Map() } };
}

function parseDictionary(name: string): DataType | undefined {
  const match = /^dict:(\w+):(\w+):(true|false)$/.exec(name);
  if (match === null) return undefined;
  const [, valueName = '', indexName = '', ordered] = match;
  const value = parseTypeName(valueName);
  const index = INTEGERS.get(indexName);
  if (value === undefined || index === undefined) return undefined;
  return { kind: 'dictionary', value, index, ordered: ordered === 'true' };
}

function toUnit(text: string): TimeUnit | undefined {
  return (['s', 'ms', 'us', 'ns'] as const).find((unit) => unit === text);
}
