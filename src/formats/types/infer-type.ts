import * as arrow from 'apache-arrow';
import { LosslessNumber } from 'lossless-json';
import { isJsonObject, parseExactJson } from '../json/exact-json.ts';
import { parseFloatText, SPECIAL_FLOAT } from './convert-value.ts';
import { parseDate, parseTimestamp } from './times.ts';
import { listOf, vectorOf } from './type-text.ts';

type Kind = 'bool' | 'integer' | 'float' | 'special' | 'date' | 'timestamp' | 'zoned' | 'text' | 'list' | 'object';

/** A leading zero belongs to a code, not to a number. */
const PLAIN_INTEGER = /^-?(0|[1-9]\d*)$/;
const PLAIN_FLOAT = /^-?(0|[1-9]\d*)?(\.\d*)?(e[+-]?\d+)?$/i;

/**
 * Infers the type of one column from its values. Texts of a CSV file are parsed; in JSON a text stays a text unless it is
 * a date or a timestamp.
 */
export class TypeInference {
  private readonly seen = new Set<Kind>();
  private readonly lengths = new Set<number>();
  private readonly fields = new Map<string, TypeInference>();
  private readonly isText: boolean;
  private items: TypeInference | undefined;
  private fractionDigits = 0;

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
    const isOnly = (...kinds: readonly Kind[]): boolean => [...this.seen].every((kind) => kinds.includes(kind));
    if (this.seen.size === 0) return new arrow.Utf8();
    if (isOnly('bool')) return new arrow.Bool();
    if (isOnly('integer')) return new arrow.Int(true, 64);
    if (isOnly('integer', 'float', 'special') && !isOnly('special')) return new arrow.Float(arrow.Precision.DOUBLE);
    if (isOnly('date')) return new arrow.Date_(arrow.DateUnit.DAY);
    if (isOnly('timestamp', 'date')) return new arrow.Timestamp(this.unit());
    if (isOnly('zoned')) return new arrow.Timestamp(this.unit(), 'UTC');
    if (isOnly('list')) return this.listType();
    if (isOnly('object') && this.fields.size > 0) {
      return new arrow.Struct([...this.fields].map(([name, field]) => new arrow.Field(name, field.type(), true)));
    }
    return new arrow.Utf8();
  }

  private kindOf(value: unknown): Kind {
    if (typeof value === 'string') return this.kindOfText(value);
    if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'float';
    if (typeof value === 'boolean') return 'bool';
    if (!(value instanceof LosslessNumber)) return 'object';
    return PLAIN_INTEGER.test(value.value) && fitsInt64(value.value) ? 'integer' : 'float';
  }

  private kindOfText(text: string): Kind {
    if (parseDate(text) !== undefined) return 'date';
    const timestamp = parseTimestamp(text);
    if (timestamp?.hasTime === true) {
      this.fractionDigits = Math.max(this.fractionDigits, timestamp.fractionDigits);
      return timestamp.hasZone ? 'zoned' : 'timestamp';
    }
    if (SPECIAL_FLOAT.test(text)) return 'special';
    if (!this.isText) return 'text';
    if (/^(true|false)$/i.test(text)) return 'bool';
    if (PLAIN_INTEGER.test(text)) return fitsInt64(text) ? 'integer' : 'text';
    if (PLAIN_FLOAT.test(text) && parseFloatText(text) !== undefined) return 'float';
    return this.addJsonList(text) ? 'list' : 'text';
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
    this.lengths.add(list.length);
    this.items ??= new TypeInference(false);
    for (const item of list) this.items.add(item);
  }

  /** Lists of numbers of one length are vectors. */
  private listType(): arrow.DataType {
    const item = this.items?.type() ?? new arrow.Utf8();
    const [length = 0] = this.lengths;
    const isNumeric = arrow.DataType.isInt(item) || arrow.DataType.isFloat(item);
    const isVector = this.lengths.size === 1 && length > 0 && isNumeric;
    return isVector ? vectorOf(new arrow.Float(arrow.Precision.SINGLE), length) : listOf(item);
  }

  private unit(): arrow.TimeUnit {
    return this.fractionDigits > 6 ? arrow.TimeUnit.NANOSECOND : arrow.TimeUnit.MICROSECOND;
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
