import {
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  Schema,
  Struct,
  Table,
  Utf8,
  makeVector,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';
import type { DataType } from 'apache-arrow';

/** An Arrow IPC stream of `rows` rows with id, price, name, a nested point (null in every third row) and a vector. */
export function sampleStream(rows = 10, dimension = 4): Uint8Array {
  const pointType = new Struct([new Field('x', new Float64(), true), new Field('label', new Utf8(), true)]);
  const vectorType = new FixedSizeList(dimension, new Field('item', new Float32(), true));
  return toStream(
    {
      id: [new Int32(), (row) => row],
      price: [new Float64(), (row) => row * 1.5],
      name: [new Utf8(), (row) => `name ${row}`],
      point: [pointType, (row) => (row % 3 === 2 ? null : { x: row / 2, label: `p${row}` })],
      vec: [vectorType, (row) => Array.from({ length: dimension }, (_unused, index) => row + index)],
    },
    rows,
  );
}

export type Column = readonly [type: DataType, value: (row: number) => unknown];

export function toStream(columns: Readonly<Record<string, Column>>, rows: number): Uint8Array {
  const entries = Object.entries(columns).map(([name, [type, value]]) => {
    const values = Array.from({ length: rows }, (_unused, row) => value(row));
    return [name, vectorFromArray(values, type)] as const;
  });
  const table = new Table(Object.fromEntries(entries));
  return tableToIPC(table, 'stream');
}

export { Field, FixedSizeList, Float32, Float64, Int32, Schema, Struct, Utf8, makeVector };
