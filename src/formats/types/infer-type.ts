import {
  Bool,
  DataType,
  Date_,
  DateUnit,
  Field,
  FixedSizeList,
  Float,
  Int,
  List,
  Precision,
  Struct,
  TimeUnit,
  Timestamp,
  Utf8,
} from 'apache-arrow';
import { parseFloatText } from './convert-value.ts';
import { LosslessNumber, parseLongJson } from '../json/exact-json.ts';
import { parseDay, parseMoment } from './times.ts';

/**
 * What the values of one column have in common, one value after the other. Texts of a CSV file are read for what they
 * say; in JSON a text stays a text unless it is a day or a moment.
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
    if (typeof value === 'string') this.addText(value);
    else if (typeof value === 'number') this.seen.add(Number.isSafeInteger(value) ? 'integer' : 'float');
    else if (value instanceof LosslessNumber) this.seen.add(kindOfLong(value.text));
    else if (typeof value === 'boolean') this.seen.add('bool');
    else if (Array.isArray(value)) this.addList(value);
    else if (typeof value === 'object') this.addObject(value);
  }

  type(): DataType {
    const kinds = [...this.seen];
    if (kinds.length === 0) return new Utf8();
    if (isOnly(kinds, 'bool')) return new Bool();
    if (isOnly(kinds, 'integer')) return new Int(true, 64);
    if (isOnly(kinds, 'integer', 'float') || (isOnly(kinds, 'integer', 'float', 'special') && hasNumber(kinds))) {
      return new Float(Precision.DOUBLE);
    }
    if (isOnly(kinds, 'day')) return new Date_(DateUnit.DAY);
    if (isOnly(kinds, 'moment', 'day')) return new Timestamp(this.unit());
    if (isOnly(kinds, 'zoned moment')) return new Timestamp(this.unit(), 'UTC');
    if (isOnly(kinds, 'list')) return this.listType();
    if (isOnly(kinds, 'object') && this.fields.size > 0) return this.structType();
    return new Utf8();
  }

  private addText(text: string): void {
    this.seen.add(this.kindOfText(text));
  }

  private kindOfText(text: string): Kind {
    if (parseDay(text) !== undefined) return 'day';
    const moment = parseMoment(text);
    if (moment?.hasTime === true) {
      this.fractionDigits = Math.max(this.fractionDigits, moment.fractionDigits);
      return moment.hasZone ? 'zoned moment' : 'moment';
    }
    if (SPECIAL.test(text)) return 'special';
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
      const list = parseLongJson(text);
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

  private addObject(value: object): void {
    this.seen.add('object');
    for (const [name, part] of Object.entries(value)) {
      let guess = this.fields.get(name);
      if (guess === undefined) this.fields.set(name, (guess = new TypeInference(false)));
      guess.add(part);
    }
  }

  /** Lists of numbers of one length are vectors. */
  private listType(): DataType {
    const item = this.items?.type() ?? new Utf8();
    const [length = 0] = this.lengths;
    const isVector = this.lengths.size === 1 && length > 0 && (DataType.isInt(item) || DataType.isFloat(item));
    if (isVector) return new FixedSizeList(length, new Field('item', new Float(Precision.SINGLE), true));
    return new List(new Field('item', item, true));
  }

  private structType(): DataType {
    return new Struct([...this.fields].map(([name, guess]) => new Field(name, guess.type(), true)));
  }

  private unit(): TimeUnit {
    return this.fractionDigits > 6 ? TimeUnit.NANOSECOND : TimeUnit.MICROSECOND;
  }
}

type Kind = 'bool' | 'integer' | 'float' | 'special' | 'day' | 'moment' | 'zoned moment' | 'text' | 'list' | 'object';

/** A zero in front is part of a code, not of a number. */
const PLAIN_INTEGER = /^-?(0|[1-9]\d*)$/;
const PLAIN_FLOAT = /^-?(0|[1-9]\d*)?(\.\d*)?(e[+-]?\d+)?$/i;
const SPECIAL = /^(nan|[+-]?inf(inity)?)$/i;

function isOnly(kinds: readonly Kind[], ...allowed: readonly Kind[]): boolean {
  return kinds.every((kind) => allowed.includes(kind));
}

function hasNumber(kinds: readonly Kind[]): boolean {
  return kinds.includes('integer') || kinds.includes('float');
}

function kindOfLong(text: string): Kind {
  return PLAIN_INTEGER.test(text) && fitsInt64(text) ? 'integer' : 'float';
}

function fitsInt64(text: string): boolean {
  if (text.length < 19) return true;
  if (text.length > 20) return false;
  const value = BigInt(text);
  return value >= -(2n ** 63n) && value < 2n ** 63n;
}
