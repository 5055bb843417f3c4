import * as arrow from 'apache-arrow';
import { DataType, Field } from 'apache-arrow';
import { invalidInput } from '../../errors/service-error.ts';
import { parseJson } from '../../model/strict-json.ts';

const TYPE_HINT =
  'Write bool, int64, float64, utf8, binary, date32, timestamp[us], decimal128(10, 2), vector[128] or float32[128], list<int64> or struct<name: utf8>.';
/** By the values of `arrow.TimeUnit`. */
const UNITS = ['s', 'ms', 'us', 'ns'] as const;
/** By the values of `arrow.IntervalUnit`. */
const INTERVAL_UNITS = ['year-month', 'day-time', 'month-day-nano'] as const;
const DEPTH_MAX = 16;
const LENGTH_MAX = 65_536;

const PLAIN_TYPES: Readonly<Record<string, DataType>> = {
  null: new arrow.Null(),
  bool: new arrow.Bool(),
  int8: new arrow.Int(true, 8),
  int16: new arrow.Int(true, 16),
  int32: new arrow.Int(true, 32),
  int64: new arrow.Int(true, 64),
  uint8: new arrow.Int(false, 8),
  uint16: new arrow.Int(false, 16),
  uint32: new arrow.Int(false, 32),
  uint64: new arrow.Int(false, 64),
  float16: new arrow.Float(arrow.Precision.HALF),
  float32: new arrow.Float(arrow.Precision.SINGLE),
  float64: new arrow.Float(arrow.Precision.DOUBLE),
  utf8: new arrow.Utf8(),
  large_utf8: new arrow.LargeUtf8(),
  binary: new arrow.Binary(),
  large_binary: new arrow.LargeBinary(),
  date32: new arrow.Date_(arrow.DateUnit.DAY),
  date64: new arrow.Date_(arrow.DateUnit.MILLISECOND),
};

const ALIASES: Readonly<Record<string, string>> = {
  boolean: 'bool',
  text: 'utf8',
  string: 'utf8',
  large_string: 'large_utf8',
  bytes: 'binary',
  int: 'int64',
  integer: 'int64',
  float: 'float32',
  double: 'float64',
  vector: 'float32',
  halffloat: 'float16',
  date: 'date32',
};

/** Types as people write them: `int64`, `float32[16]`, `list<utf8>`, `timestamp[us, UTC]`, `struct<a: int64>`. */
export function formatType(type: DataType): string {
  if (DataType.isDecimal(type)) return `decimal${type.bitWidth}(${type.precision}, ${type.scale})`;
  if (DataType.isFixedSizeBinary(type)) return `binary[${type.byteWidth}]`;
  if (DataType.isTime(type)) return `time${type.bitWidth}[${UNITS[type.unit] ?? ''}]`;
  if (DataType.isTimestamp(type)) {
    const zone = type.timezone === null || type.timezone === undefined ? '' : `, ${type.timezone}`;
    return `timestamp[${UNITS[type.unit] ?? ''}${zone}]`;
  }
  if (DataType.isDuration(type)) return `duration[${UNITS[type.unit] ?? ''}]`;
  if (DataType.isDictionary(type)) return `dictionary<${formatType(type.dictionary)}>`;
  if (DataType.isList(type)) return `list<${formatType(type.valueType)}>`;
  if (DataType.isFixedSizeList(type)) return `${formatType(type.valueType)}[${type.listSize}]`;
  if (DataType.isMap(type)) return `map<${formatType(type.keyType)}, ${formatType(type.valueType)}>`;
  if (DataType.isStruct(type)) return `struct<${formatChildren(type.children)}>`;
  if (DataType.isUnion(type)) return `union<${formatChildren(type.children)}>`;
  if (DataType.isInterval(type)) return `interval[${INTERVAL_UNITS[type.unit] ?? ''}]`;
  const named = Object.entries(PLAIN_TYPES).find(([, known]) => arrow.util.compareTypes(known, type));
  return named?.[0] ?? arrow.Type[type.typeId] ?? 'unknown';
}

function formatChildren(children: readonly Field[]): string {
  return children.map(({ name, type }) => `${quoteName(name)}: ${formatType(type)}`).join(', ');
}

function quoteName(name: string): string {
  return /^[\w.$-]+$/.test(name) ? name : JSON.stringify(name);
}

export function parseType(text: string): DataType {
  const parser = new TypeParser(text);
  const type = parser.type(0);
  if (type !== undefined && parser.atEnd()) return type;
  throw invalidInput(`"${text}" is not a type.`, TYPE_HINT);
}

/** Parses one type from left to right; `undefined` where the text is not a type. */
class TypeParser {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  atEnd(): boolean {
    this.match(/\s*/y);
    return this.at === this.text.length;
  }

  type(depth: number): DataType | undefined {
    if (depth > DEPTH_MAX) return undefined;
    let type = this.unsized(depth);
    for (let length = this.length(); type !== undefined && length !== undefined; length = this.length()) {
      if (length > LENGTH_MAX) return undefined;
      type = DataType.isBinary(type) ? new arrow.FixedSizeBinary(length) : vectorOf(type, length);
    }
    return type;
  }

  private unsized(depth: number): DataType | undefined {
    const word = this.match(/\s*(\w+)/y)?.[1]?.toLowerCase() ?? '';
    const name = Object.hasOwn(ALIASES, word) ? (ALIASES[word] ?? word) : word;
    if (Object.hasOwn(PLAIN_TYPES, name)) return PLAIN_TYPES[name];
    if (name === 'timestamp') return this.timestamp();
    if (['decimal', 'decimal128', 'decimal256'].includes(name)) return this.decimal(name === 'decimal256' ? 256 : 128);
    if (!['list', 'map', 'struct', 'dictionary'].includes(name)) return this.unitType(name);
    if (!this.skip('<')) return undefined;
    const type = this.nested(name, depth);
    return this.skip('>') ? type : undefined;
  }

  private nested(name: string, depth: number): DataType | undefined {
    if (name === 'list') return this.list(depth);
    if (name === 'map') return this.map(depth);
    // The server re-encodes plain values like its table.
    return name === 'struct' ? this.struct(depth) : this.type(depth + 1);
  }

  private list(depth: number): DataType | undefined {
    const item = this.type(depth + 1);
    return item === undefined ? undefined : listOf(item);
  }

  private map(depth: number): DataType | undefined {
    const key = this.type(depth + 1);
    const value = this.skip(',') ? this.type(depth + 1) : undefined;
    return key === undefined || value === undefined ? undefined : mapOf(key, value);
  }

  private struct(depth: number): DataType | undefined {
    const fields: Field[] = [];
    do {
      const name = this.name();
      const type = this.skip(':') ? this.type(depth + 1) : undefined;
      if (name === undefined || type === undefined) return undefined;
      fields.push(new Field(name, type, true));
    } while (this.skip(','));
    return new arrow.Struct(fields);
  }

  private name(): string | undefined {
    const quoted = this.match(/\s*("(?:[^"\\]|\\.)*")/y)?.[1];
    if (quoted === undefined) return this.match(/\s*([\w.$-]+)/y)?.[1];
    const name = parseJson(quoted);
    return typeof name === 'string' ? name : undefined;
  }

  private timestamp(): DataType {
    const found = this.match(/\[\s*(s|ms|us|ns)\s*(?:,\s*([\w/+:-]{1,64})\s*)?\]/y);
    if (found === null) return new arrow.Timestamp(arrow.TimeUnit.MICROSECOND);
    return new arrow.Timestamp(unitOf(found[1]), found[2] ?? null);
  }

  private decimal(bits: 128 | 256): DataType | undefined {
    const found = this.match(/\(\s*(\d{1,2})\s*,\s*(-?\d{1,2})\s*\)/y);
    return found === null ? undefined : new arrow.Decimal(Number(found[2]), Number(found[1]), bits);
  }

  private unitType(name: string): DataType | undefined {
    const unit = this.match(/\[(s|ms|us|ns)\]/y)?.[1];
    if (unit === undefined) return undefined;
    if (name === 'duration') return new arrow.Duration(unitOf(unit));
    if (name === 'time32' && (unit === 's' || unit === 'ms')) return new arrow.Time(unitOf(unit), 32);
    if (name === 'time64' && (unit === 'us' || unit === 'ns')) return new arrow.Time(unitOf(unit), 64);
    return undefined;
  }

  private length(): number | undefined {
    const digits = this.match(/\[([1-9]\d*)\]/y)?.[1];
    return digits === undefined ? undefined : Number(digits);
  }

  private skip(mark: string): boolean {
    this.match(/\s*/y);
    if (this.text[this.at] !== mark) return false;
    this.at += 1;
    return true;
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found !== null) this.at = pattern.lastIndex;
    return found;
  }
}

function unitOf(text: string | undefined): arrow.TimeUnit {
  return UNITS.findIndex((unit) => unit === text);
}

export function listOf(item: DataType, nullable = true): DataType {
  return new arrow.List(new Field('item', item, nullable));
}

export function vectorOf(item: DataType, length: number): DataType {
  return new arrow.FixedSizeList(length, new Field('item', item, true));
}

export function mapOf(key: DataType, value: DataType): DataType {
  const entries = new arrow.Struct([new Field('key', key, false), new Field('value', value, true)]);
  // The types of the package ask for the two children as type parameters, which are not known here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A map consists of a struct of a key and a value.
  return new arrow.Map_(new Field('entries', entries, false) as never, false);
}
