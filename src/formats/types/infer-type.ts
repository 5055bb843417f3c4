import * as arrow from 'apache-arrow';
import { LosslessNumber } from 'lossless-json';
import type { Finding } from '../format.ts';
import { isJsonObject, parseExactJson } from '../json/exact-json.ts';
import { isRoundedInteger, losesDigits, parseFloatText, SPECIAL_FLOAT } from './convert-value.ts';
import { parseDate, parseTimestamp, toUnits } from './times.ts';
import { listOf, vectorOf } from './type-text.ts';
import { formatCount } from '../../model/value-text.ts';

type NumberKind = 'integer' | 'unsigned' | 'huge' | 'float' | 'special';
type Kind = NumberKind | 'bool' | 'date' | 'timestamp' | 'zoned' | 'text' | 'list' | 'object';

const NUMBERS: readonly NumberKind[] = ['integer', 'unsigned', 'huge', 'float', 'special'];

/** A leading zero means a code, not a number. */
const PLAIN_INTEGER = /^-?(0|[1-9]\d*)$/;
const PLAIN_FLOAT = /^-?(0|[1-9]\d*)?(\.\d*)?(e[+-]?\d+)?$/i;

/**
 * Infers the type of one column from its values. Texts of a CSV file are parsed; in JSON, a text stays a text unless it
 * is a date or a timestamp.
 */
export class TypeInference {
  private readonly seen = new Set<Kind>();
  private readonly lengths = new Set<number>();
  private readonly fields = new Map<string, TypeInference>();
  private readonly isText: boolean;
  private items: TypeInference | undefined;
  private fractionDigits = 0;
  private hasNanoseconds = false;
  private exceedsNanoseconds = false;
  private hasNegative = false;
  private floatLosesDigits = false;
  private hasRounded = false;
  private lists = 0;
  private texts = 0;
  private jsonTexts = 0;

  constructor(isText: boolean) {
    this.isText = isText;
  }

  add(value: unknown): void {
    if (value === null || value === undefined) return;
    if (Array.isArray(value)) return this.addList(value);
    this.seen.add(this.kindOf(value));
    if (isJsonObject(value)) addFields(this.fields, value);
  }

  type(): arrow.DataType {
    const isOnly = (...kinds: readonly Kind[]): boolean => this.isOnly(kinds);
    if (this.seen.size === 0) return new arrow.Utf8();
    if (isOnly('bool')) return new arrow.Bool();
    if (isOnly('integer')) return new arrow.Int(true, 64);
    if (isOnly('integer', 'unsigned') && !this.hasNegative) return new arrow.Int(false, 64);
    if (this.isFloat()) return new arrow.Float(arrow.Precision.DOUBLE);
    if (isOnly('date')) return new arrow.Date_(arrow.DateUnit.DAY);
    if (isOnly('timestamp', 'date')) return this.timestampType(null);
    if (isOnly('zoned')) return this.timestampType('UTC');
    if (isOnly('list')) return this.listType();
    if (isOnly('object') && this.fields.size > 0) {
      return new arrow.Struct([...this.fields].map(([name, field]) => new arrow.Field(name, field.plainType(), true)));
    }
    return new arrow.Utf8();
  }

  /** Like `type`, but lists of numbers stay lists. */
  plainType(): arrow.DataType {
    const type = this.type();
    return arrow.DataType.isFixedSizeList(type) ? listOf(this.itemType()) : type;
  }

  /** What the values have in common, for people. */
  finding(): Finding {
    const type = this.type();
    const lists = this.seen.has('list') ? { count: this.lists, lengths: this.lengths } : undefined;
    return { type, reason: this.reasonFor(type), lists };
  }

  private reasonFor(type: arrow.DataType): string {
    if (this.seen.size === 0) return 'no values';
    if (arrow.DataType.isFixedSizeList(type))
      return `lists of ${formatCount(type.listSize)} ${type.listSize === 1 ? 'number' : 'numbers'} each`;
    if (arrow.DataType.isList(type)) return this.lengths.size > 1 ? 'lists of different lengths' : 'lists';
    if (arrow.DataType.isUtf8(type)) {
      if (this.isOnly(NUMBERS) && !this.isOnly(['special'])) return 'numbers that float64 would round';
      if (this.seen.size > 1) return 'values of different kinds';
      return this.jsonTexts > 0 && this.jsonTexts === this.texts ? 'JSON objects, kept as text' : 'text';
    }
    const isZoned = arrow.DataType.isTimestamp(type) && type.timezone !== null;
    return isZoned ? 'ISO timestamps with a zone' : (REASONS[type.typeId] ?? 'values of one kind');
  }

  private isOnly(kinds: readonly Kind[]): boolean {
    return [...this.seen].every((kind) => kinds.includes(kind));
  }

  private isFloat(): boolean {
    const hasFloat = this.seen.has('float') || (this.seen.has('special') && this.seen.size > 1);
    return hasFloat && this.isOnly(NUMBERS) && !this.floatLosesDigits;
  }

  private kindOf(value: unknown): Kind {
    if (typeof value === 'string') return this.kindOfText(value);
    if (typeof value === 'number') return this.kindOfNumber(value);
    if (typeof value === 'boolean') return 'bool';
    if (!(value instanceof LosslessNumber)) return 'object';
    return PLAIN_INTEGER.test(value.value) ? this.kindOfInteger(value.value) : 'float';
  }

  private kindOfNumber(value: number): Kind {
    if (value < 0) this.hasNegative = true;
    return Number.isSafeInteger(value) ? 'integer' : 'float';
  }

  private kindOfInteger(text: string): Kind {
    if (text.startsWith('-')) this.hasNegative = true;
    if (losesDigits(text)) this.floatLosesDigits = true;
    if (fitsInt64(text)) return 'integer';
    if (this.isText) return 'text';
    return text.length <= 20 && BigInt.asUintN(64, BigInt(text)) === BigInt(text) ? 'unsigned' : 'huge';
  }

  private kindOfText(text: string): Kind {
    const kind = this.kindOfTime(text);
    if (kind !== undefined) return kind;
    if (SPECIAL_FLOAT.test(text)) return 'special';
    this.texts += 1;
    if (isJsonObjectText(text)) this.jsonTexts += 1;
    if (!this.isText) return 'text';
    if (/^(true|false)$/i.test(text)) return 'bool';
    if (PLAIN_INTEGER.test(text)) return this.kindOfInteger(text);
    if (PLAIN_FLOAT.test(text) && parseFloatText(text) !== undefined) return 'float';
    return this.addJsonList(text) ? 'list' : 'text';
  }

  private kindOfTime(text: string): Kind | undefined {
    const timestamp = parseTimestamp(text);
    if (timestamp === undefined) return undefined;
    const { seconds, nanoseconds, fractionDigits, hasTime, hasZone } = timestamp;
    if (!hasTime && parseDate(text) === undefined) return undefined;
    this.fractionDigits = Math.max(this.fractionDigits, fractionDigits);
    const count = toUnits(seconds, nanoseconds, arrow.TimeUnit.NANOSECOND) ?? 0n;
    if (nanoseconds % 1000n !== 0n) this.hasNanoseconds = true;
    if (BigInt.asIntN(64, count) !== count) this.exceedsNanoseconds = true;
    if (!hasTime) return 'date';
    return hasZone ? 'zoned' : 'timestamp';
  }

  /** A vector in a CSV file. */
  private addJsonList(text: string): boolean {
    if (!text.startsWith('[') || !text.endsWith(']')) return false;
    try {
      const list = parseExactJson(text);
      if (!Array.isArray(list)) return false;
      this.addList(list);
      return true;
    } catch {
      return false;
    }
  }

  private addList(list: readonly unknown[]): void {
    this.seen.add('list');
    this.lists += 1;
    this.lengths.add(list.length);
    this.items ??= new TypeInference(false);
    for (const item of list) {
      this.items.add(item);
      if (isRoundedInteger(item)) this.hasRounded = true;
    }
  }

  /** Lists of numbers with one length are vectors, unless that would change whole numbers. */
  private listType(): arrow.DataType {
    const item = this.itemType();
    const [length = 0] = this.lengths;
    const isNumeric = arrow.DataType.isInt(item) || arrow.DataType.isFloat(item);
    const isVector = this.lengths.size === 1 && length > 0 && isNumeric && !this.hasRounded;
    return isVector ? vectorOf(new arrow.Float(arrow.Precision.SINGLE), length) : listOf(item);
  }

  private itemType(): arrow.DataType {
    return this.items?.plainType() ?? new arrow.Utf8();
  }

  private timestampType(zone: string | null): arrow.DataType {
    if (this.fractionDigits > 6 && !this.exceedsNanoseconds) {
      return new arrow.Timestamp(arrow.TimeUnit.NANOSECOND, zone);
    }
    return this.hasNanoseconds ? new arrow.Utf8() : new arrow.Timestamp(arrow.TimeUnit.MICROSECOND, zone);
  }
}

const REASONS: Readonly<Partial<Record<arrow.Type, string>>> = {
  [arrow.Type.Bool]: 'true and false',
  [arrow.Type.Int]: 'whole numbers',
  [arrow.Type.Float]: 'numbers',
  [arrow.Type.Date]: 'ISO dates',
  [arrow.Type.Timestamp]: 'ISO timestamps',
  [arrow.Type.Struct]: 'objects',
};

function isJsonObjectText(text: string): boolean {
  if (!text.startsWith('{') || !text.endsWith('}')) return false;
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}

export function addFields(fields: Map<string, TypeInference>, value: object): void {
  for (const [name, part] of Object.entries(value)) {
    let field = fields.get(name);
    if (field === undefined) fields.set(name, (field = new TypeInference(false)));
    field.add(part);
  }
}

function fitsInt64(text: string): boolean {
  if (text.length < 19) return true;
  return text.length <= 20 && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}
