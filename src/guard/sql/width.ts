import type { FunctionRule } from './functions.ts';
import type { SqlToken } from './tokenizer.ts';

/**
 * An upper bound of the size of one value: how many times each column occurs in it, and the bytes that literals and
 * numbers add. Columns are counted by name, in lower case; a struct and its fields separately.
 */
export interface Width {
  readonly columns: ReadonlyMap<string, number>;
  readonly bytes: number;
}

/** A number, a boolean or a date, and the overhead of each value in a list or struct. */
const SCALAR_BYTES = 8;

export const SCALAR: Width = { columns: new Map(), bytes: SCALAR_BYTES };
export const NOTHING: Width = { columns: new Map(), bytes: 0 };

export function columnWidth(name: string): Width {
  return { columns: new Map([[name, 1]]), bytes: 0 };
}

export function bytesWidth(bytes: number): Width {
  return { columns: NOTHING.columns, bytes };
}

export function sum(one: Width, other: Width): Width {
  return combine(one, other, (left, right) => left + right);
}

export function greater(one: Width, other: Width): Width {
  return combine(one, other, Math.max);
}

export function times({ columns, bytes }: Width, factor: number): Width {
  if (factor === 1) return { columns, bytes };
  return { columns: new Map([...columns].map(([name, count]) => [name, count * factor])), bytes: bytes * factor };
}

/** The fields of a struct are disjoint: together they are as wide as the struct, however many are named. */
export function columnFactor({ columns }: Width): number {
  const structs = new Map<string, { whole: number; fields: number }>();
  for (const [name, count] of columns) {
    const [column = '', field] = name.split(FIELD_MARK);
    const struct = structs.get(column) ?? { whole: 0, fields: 0 };
    if (field === undefined) struct.whole += count;
    else struct.fields = Math.max(struct.fields, count);
    structs.set(column, struct);
  }
  return Math.max(1, ...[...structs.values()].map(({ whole, fields }) => whole + fields));
}

/** Separates a column and its field; no column name contains it. */
export const FIELD_MARK = '\n';

function combine(one: Width, other: Width, join: (left: number, right: number) => number): Width {
  const bytes = join(one.bytes, other.bytes);
  if (other.columns.size === 0) return { columns: one.columns, bytes };
  if (one.columns.size === 0) return { columns: other.columns, bytes };
  const columns = new Map(one.columns);
  for (const [name, count] of other.columns) columns.set(name, join(columns.get(name) ?? 0, count));
  return { columns, bytes };
}

export interface Argument {
  readonly width: Width;
  /** The token of an argument that is a single literal. */
  readonly literal: SqlToken | undefined;
}

interface Arguments {
  readonly total: Width;
  readonly count: number;
  readonly given: readonly Argument[];
}

/** A number or date as text. */
export const CAST = bytesWidth(64);
/** A character of UTF-8. */
const CHARACTER_BYTES = 4;
/** A small number as text, such as -128. */
const ELEMENT_BYTES = 4;

/** The width of a call's result. */
export function applyRule({ growth = 1 }: FunctionRule, { total, count, given }: Arguments): Width {
  const [first, second, third] = given;
  const value = first?.width ?? NOTHING;
  switch (growth) {
    case 'greatest':
      return total;
    case 'list':
      return sum(total, bytesWidth(count * SCALAR.bytes));
    case 'separator':
      return sum(total, times(value, count));
    case 'join':
      return sum(total, times(value, ELEMENT_BYTES + textBytes(second) + textBytes(third)));
    case 'repeat':
      return times(sum(value, SCALAR), numberOf(second));
    case 'pad':
      return sum(total, bytesWidth(numberOf(second) * CHARACTER_BYTES));
    case 'replace':
      return times(total, Math.max(1, textBytes(third) / Math.max(1, textBytes(second))));
    case 'groups':
      return times(value, (second?.literal?.text ?? '').split('(').length);
    case 'type':
      return toType(total, second?.literal?.text ?? '');
    default:
      return times(total, growth);
  }
}

/** Fixed-size lists take their space in every row, even where they are null. */
function toType(width: Width, type: string): Width {
  const isFixed = /fixed/i.test(type);
  const sizes = isFixed ? (type.match(/\b\d+\b/g) ?? []).map((size) => Math.max(1, Number(size))) : [];
  const factor = /list/i.test(type) ? LIST_CAST_FACTOR : 1;
  const fixedBytes = isFixed ? sizes.reduce((product, size) => product * size, 1) * SCALAR.bytes : 0;
  return sum(times(width, factor), sum(CAST, bytesWidth(fixedBytes)));
}

/** From one byte to eight for each item. */
const LIST_CAST_FACTOR = 8;

function textBytes(argument: Argument | undefined): number {
  return argument?.literal === undefined ? 0 : Math.max(0, Buffer.byteLength(argument.literal.text) - 2);
}

function numberOf(argument: Argument | undefined): number {
  return Number(argument?.literal?.text ?? 1);
}
