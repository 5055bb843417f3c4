import {
  Binary,
  Bool,
  DataType,
  Date_,
  DateUnit,
  Decimal,
  Duration,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float,
  Int,
  LargeBinary,
  LargeUtf8,
  List,
  Map_,
  Null,
  Precision,
  Struct,
  Time,
  TimeUnit,
  Timestamp,
  Utf8,
} from 'apache-arrow';
import { ServiceError } from '../../errors/service-error.ts';

/** Types as people write them: `int64`, `float32[16]`, `list<utf8>`, `timestamp[us, UTC]`, `struct<a: int64>`. */
export function formatType(type: DataType): string {
  if (DataType.isInt(type)) return `${type.isSigned ? '' : 'u'}int${type.bitWidth}`;
  if (DataType.isFloat(type)) return `float${16 << type.precision}`;
  if (DataType.isDecimal(type)) return `decimal${type.bitWidth}(${type.precision}, ${type.scale})`;
  if (DataType.isFixedSizeBinary(type)) return `binary[${type.byteWidth}]`;
  if (DataType.isDate(type)) return type.unit === DateUnit.DAY ? 'date32' : 'date64';
  if (DataType.isTime(type)) return `time${type.bitWidth}[${UNITS[type.unit] ?? ''}]`;
  if (DataType.isTimestamp(type)) return formatTimestamp(type);
  if (DataType.isDuration(type)) return `duration[${UNITS[type.unit] ?? ''}]`;
  if (DataType.isDictionary(type)) return `dictionary<${formatType(type.dictionary)}>`;
  return (
    formatNested(type) ?? PLAIN_NAMES.find(([, known]) => known.typeId === type.typeId)?.[0] ?? `type ${type.typeId}`
  );
}

export function parseType(text: string): DataType {
  const scanner = new TypeScanner(text);
  const type = scanner.type(0);
  if (type !== undefined && scanner.atEnd()) return type;
  throw new ServiceError('InvalidInput', `"${text}" is not a type.`, { hint: TYPE_HINT });
}

const TYPE_HINT =
  'Write bool, int64, float64, utf8, binary, date32, timestamp[us], decimal128(10, 2), float32[128] (a vector), list<int64> or struct<name: utf8>.';
const UNITS = ['s', 'ms', 'us', 'ns'] as const;
const DEPTH_MAX = 16;
const LENGTH_MAX = 65_536;

const PLAIN_NAMES: readonly (readonly [string, DataType])[] = [
  ['null', new Null()],
  ['bool', new Bool()],
  ['utf8', new Utf8()],
  ['large_utf8', new LargeUtf8()],
  ['binary', new Binary()],
  ['large_binary', new LargeBinary()],
];

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
  halffloat: 'float16',
  date: 'date32',
};

function formatTimestamp(type: Timestamp): string {
  const zone = type.timezone === null || type.timezone === undefined ? '' : `, ${type.timezone}`;
  return `timestamp[${UNITS[type.unit] ?? ''}${zone}]`;
}

function formatNested(type: DataType): string | undefined {
  if (DataType.isList(type)) return `list<${formatType(type.valueType)}>`;
  if (DataType.isFixedSizeList(type)) return `${formatType(type.valueType)}[${type.listSize}]`;
  if (DataType.isMap(type)) return `map<${formatType(type.keyType)}, ${formatType(type.valueType)}>`;
  if (!DataType.isStruct(type)) return undefined;
  return `struct<${type.children.map(({ name, type: child }) => `${quoteName(name)}: ${formatType(child)}`).join(', ')}>`;
}

function quoteName(name: string): string {
  return /^[\w.$-]+$/.test(name) ? name : JSON.stringify(name);
}

/** Reads one type from left to right; `undefined` wherever the text is none. */
class TypeScanner {
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
    let type = this.bare(depth);
    for (let length = this.suffix(); type !== undefined && length !== undefined; length = this.suffix()) {
      type = sized(type, length);
    }
    return type;
  }

  private bare(depth: number): DataType | undefined {
    const word = this.match(/\s*(\w+)/y)?.[1]?.toLowerCase() ?? '';
    const name = Object.hasOwn(ALIASES, word) ? (ALIASES[word] ?? word) : word;
    if (name === 'list') return this.list(depth);
    if (name === 'map') return this.map(depth);
    if (name === 'struct') return this.struct(depth);
    if (name === 'timestamp') return this.timestamp();
    if (name.startsWith('decimal')) return this.decimal(name);
    return plainType(name) ?? this.unitType(name);
  }

  private list(depth: number): DataType | undefined {
    if (!this.skip('<')) return undefined;
    const item = this.type(depth + 1);
    return item !== undefined && this.skip('>') ? new List(new Field('item', item, true)) : undefined;
  }

  private map(depth: number): DataType | undefined {
    if (!this.skip('<')) return undefined;
    const key = this.type(depth + 1);
    const value = this.skip(',') ? this.type(depth + 1) : undefined;
    return key !== undefined && value !== undefined && this.skip('>') ? mapType(key, value) : undefined;
  }

  private struct(depth: number): DataType | undefined {
    if (!this.skip('<')) return undefined;
    const fields: Field[] = [];
    do {
      const name = this.name();
      const type = this.skip(':') ? this.type(depth + 1) : undefined;
      if (name === undefined || type === undefined) return undefined;
      fields.push(new Field(name, type, true));
    } while (this.skip(','));
    return this.skip('>') ? new Struct(fields) : undefined;
  }

  private name(): string | undefined {
    const quoted = this.match(/\s*("(?:[^"\\]|\\.)*")/y)?.[1];
    if (quoted === undefined) return this.match(/\s*([\w.$-]+)/y)?.[1];
    try {
      return String(JSON.parse(quoted));
    } catch {
      return undefined;
    }
  }

  private timestamp(): DataType | undefined {
    const found = this.match(/\[\s*(s|ms|us|ns)\s*(?:,\s*([\w/+:-]{1,64})\s*)?\]/y);
    if (found === null) return new Timestamp(TimeUnit.MICROSECOND);
    return new Timestamp(unitOf(found[1]), found[2] ?? null);
  }

  private decimal(name: string): DataType | undefined {
    const found = this.match(/\(\s*(\d{1,2})\s*,\s*(-?\d{1,2})\s*\)/y);
    const bits = name === 'decimal256' ? 256 : 128;
    if (found === null || !['decimal', 'decimal128', 'decimal256'].includes(name)) return undefined;
    return new Decimal(Number(found[2]), Number(found[1]), bits);
  }

  private unitType(name: string): DataType | undefined {
    const unit = this.match(/\[(s|ms|us|ns)\]/y)?.[1];
    if (unit === undefined) return undefined;
    if (name === 'duration') return new Duration(unitOf(unit));
    if (name === 'time32' && (unit === 's' || unit === 'ms')) return new Time(unitOf(unit), 32);
    if (name === 'time64' && (unit === 'us' || unit === 'ns')) return new Time(unitOf(unit), 64);
    return undefined;
  }

  private suffix(): number | undefined {
    const length = Number(this.match(/\[([1-9]\d{0,5})\]/y)?.[1] ?? Number.NaN);
    return length <= LENGTH_MAX ? length : undefined;
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

export function mapType(key: DataType, value: DataType): DataType {
  const entries = new Struct([new Field('key', key, false), new Field('value', value, true)]);
  // The types of the package ask for the two children as type parameters, which are not known here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A map is made of a struct of a key and a value.
  return new Map_(new Field('entries', entries, false) as never, false);
}

function sized(type: DataType, length: number): DataType {
  if (DataType.isBinary(type)) return new FixedSizeBinary(length);
  return new FixedSizeList(length, new Field('item', type, true));
}

function plainType(name: string): DataType | undefined {
  const integer = /^(u?)int(8|16|32|64)$/.exec(name);
  if (integer !== null) return new Int(integer[1] === '', toIntBits(Number(integer[2])));
  if (name === 'date32') return new Date_(DateUnit.DAY);
  if (name === 'date64') return new Date_(DateUnit.MILLISECOND);
  const precision = { float16: Precision.HALF, float32: Precision.SINGLE, float64: Precision.DOUBLE }[name];
  if (precision !== undefined) return new Float(precision);
  return PLAIN_NAMES.find(([known]) => known === name)?.[1];
}

function toIntBits(bits: number): 8 | 16 | 32 | 64 {
  return bits === 8 ? 8 : bits === 16 ? 16 : bits === 32 ? 32 : 64;
}

function unitOf(text: string | undefined): TimeUnit {
  return { s: TimeUnit.SECOND, ms: TimeUnit.MILLISECOND, ns: TimeUnit.NANOSECOND }[text ?? ''] ?? TimeUnit.MICROSECOND;
}
