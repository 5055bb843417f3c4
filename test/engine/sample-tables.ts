import {
  Field,
  FixedSizeList,
  Float16,
  Float32,
  Float64,
  Int32,
  Int64,
  List,
  Schema,
  Struct,
  Table,
  Uint8,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import type { DataType } from 'apache-arrow';

/** A table of the given columns; each has its type and a value for each row. */
export function toTable(
  columns: Readonly<Record<string, readonly [type: DataType, values: readonly unknown[]]>>,
): Table {
  const entries = Object.entries(columns);
  const schema = new Schema(entries.map(([name, [type]]) => new Field(name, type, true)));
  const vectors = entries.map(([name, [type, values]]) => [name, vectorFromArray([...values], type)] as const);
  return new Table(schema, Object.fromEntries(vectors));
}

export function optional(name: string, type: DataType): Field {
  return new Field(name, type, true);
}

export function required(name: string, type: DataType): Field {
  return new Field(name, type, false);
}

export function vectorType(length: number, item: DataType = new Float32()): FixedSizeList {
  return new FixedSizeList(length, optional('item', item));
}

/** `id` counts up from 0; `name` and `score` are there to be changed. */
export function toItems(count: number): Table {
  const ids = Array.from({ length: count }, (_, index) => index);
  return toTable({
    id: [new Int32(), ids],
    name: [new Utf8(), ids.map((id) => `item ${id}`)],
    score: [new Float64(), ids.map(() => 1)],
  });
}

export const PERSON = new Struct([
  optional('age', new Int32()),
  optional('nick.name', new Utf8()),
  optional('home', new Struct([optional('street', new Utf8()), optional('number', new Int64())])),
]);

/** Every fifth person is null, and every seventh has no home. */
export function toPeople(count: number): Table {
  const ids = Array.from({ length: count }, (_, index) => index);
  const people = ids.map((id) =>
    id % 5 === 0
      ? null
      : { age: id, 'nick.name': `n${id}`, home: id % 7 === 0 ? null : { street: `s${id}`, number: BigInt(id) } },
  );
  return toTable({
    id: [new Int32(), ids],
    note: [new Utf8(), ids.map((id) => `note ${id}`)],
    person: [PERSON, people],
  });
}

/** One column of each kind of vector, and text. */
export function toDocuments(count: number): Table {
  const ids = Array.from({ length: count }, (_, index) => index);
  const column = (length: number, item: DataType) =>
    [vectorType(length, item), ids.map((id) => toVector(id, length))] as const;
  const meta = new Struct([optional('vec', vectorType(7)), optional('title', new Utf8())]);
  return toTable({
    id: [new Int32(), ids],
    body: [new Utf8(), ids.map((id) => `${['alpha beta', 'beta gamma', 'quick brown fox', 'lazy dog'][id % 4]} ${id}`)],
    vec: column(4, new Float32()),
    twin_a: column(8, new Float32()),
    twin_b: column(8, new Float32()),
    half: column(6, new Float16()),
    double: column(5, new Float64()),
    bits: [vectorType(16, new Uint8()), ids.map((id) => Array.from({ length: 16 }, (_, index) => (id * index) % 256))],
    many: [new List(optional('item', vectorType(3))), ids.map((id) => [toVector(id, 3), toVector(id + 1, 3)])],
    meta: [meta, ids.map((id) => ({ vec: toVector(id, 7), title: `title ${id}` }))],
  });
}

function toVector(id: number, length: number): number[] {
  return Array.from({ length }, (_, index) => Math.sin(id * 7 + index + 1));
}
