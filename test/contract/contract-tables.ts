import {
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  List,
  Schema,
  Struct,
  Table,
  Uint8,
  Utf8,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';
import type { DataType } from 'apache-arrow';

export interface ColumnSpec {
  readonly type: DataType;
  readonly values: readonly unknown[];
  readonly nullable?: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** An Arrow IPC stream of exactly these columns. */
export function streamOf(
  columns: Readonly<Record<string, ColumnSpec>>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array {
  const entries = Object.entries(columns);
  const fields = entries.map(
    ([name, spec]) => new Field(name, spec.type, spec.nullable ?? true, new Map(Object.entries(spec.metadata ?? {}))),
  );
  const schema = new Schema(fields, new Map(Object.entries(metadata)));
  const columnData = entries.map(([name, spec]) => [name, vectorFromArray([...spec.values], spec.type)] as const);
  return tableToIPC(new Table(schema, Object.fromEntries(columnData)), 'stream');
}

export function count(rows: number): readonly number[] {
  return Array.from({ length: rows }, (_unused, row) => row);
}

export function optional(name: string, type: DataType): Field {
  return new Field(name, type, true);
}

export function vectorType(dimension: number, item: DataType = new Float32()): FixedSizeList {
  return new FixedSizeList(dimension, optional('item', item));
}

/** Points on a line through the origin, so that the nearest to a corner are known. */
export function vectors(rows: number, dimension: number): readonly (readonly number[])[] {
  return count(rows).map((row) => count(dimension).map((index) => row + index / 10));
}

/** `id`, two texts, and one vector column of four dimensions. */
export function documentStream(rows = 20): Uint8Array {
  return streamOf({
    id: { type: new Int32(), values: count(rows) },
    title: { type: new Utf8(), values: count(rows).map((row) => `title ${row % 2 === 0 ? 'even' : 'odd'}`) },
    body: { type: new Utf8(), values: count(rows).map((row) => `the quick brown fox number ${row} jumps`) },
    vec: { type: vectorType(4), values: vectors(rows, 4) },
  });
}

/** Two vector columns of four dimensions, one of three, one of bytes, one of lists of vectors. */
export function vectorStream(rows = 12): Uint8Array {
  return streamOf({
    id: { type: new Int32(), values: count(rows) },
    first: { type: vectorType(4), values: vectors(rows, 4) },
    second: { type: vectorType(4), values: vectors(rows, 4) },
    short: { type: vectorType(3), values: vectors(rows, 3) },
    bits: { type: vectorType(8, new Uint8()), values: count(rows).map((row) => count(8).map((index) => row + index)) },
    several: {
      type: new List(optional('item', vectorType(2))),
      values: count(rows).map((row) => [
        [row, 1],
        [1, row],
      ]),
    },
  });
}

const DEEP = new Struct([optional('leaf', new Int32()), optional('word', new Utf8())]);

export const NESTED = new Struct([
  optional('x', new Float64()),
  optional('x.y', new Int32()),
  optional('b`t', new Int32()),
  optional('label', new Utf8()),
  optional('deep', DEEP),
  optional('vec', vectorType(2)),
]);

/**
 * A struct with names that need quoting; null in every third row, and its `deep` in every fourth. The last row of a
 * vector is never null: the Arrow project's own builder would write it too short.
 */
export function nestedStream(rows = 12): Uint8Array {
  return streamOf({
    id: { type: new Int32(), values: count(rows) },
    label: { type: new Utf8(), values: count(rows).map((row) => `top ${row}`) },
    place: { type: NESTED, values: count(rows).map(toNested) },
  });
}

function toNested(row: number): object | null {
  if (row % 3 === 1) return null;
  return {
    x: row / 2,
    'x.y': row * 10,
    'b`t': row * 100,
    label: `inner ${row}`,
    deep: row % 4 === 3 ? null : { leaf: row, word: `w${row}` },
    vec: [row, row],
  };
}

export { Field, FixedSizeList, Float32, Float64, Int32, List, Struct, Uint8, Utf8 };
