import { Field, RecordBatch, Schema, Struct, makeData } from 'apache-arrow';
import type { Data, DataType } from 'apache-arrow';
import { ServiceError } from '../errors/service-error.ts';
import type { BatchBounds, PlannedColumn, SourceBatch } from './format.ts';
import { buildData } from './types/build-data.ts';
import { ConversionError, converterFor } from './types/convert-value.ts';
import { plainValue } from './types/values-of.ts';

/** Rows of text, with one cell for each planned column. */
export interface RowPiece {
  readonly rows: readonly { readonly line: number; readonly cells: readonly unknown[] }[];
  readonly characters: number;
  readonly endByte: number;
}

/** A batch of text rows ends at as many rows as wanted, or after this much text. */
const BATCH_CHARACTERS = 8 * 1024 * 1024;

/** Batches out of rows of text. */
export async function* toBatches(
  pieces: AsyncIterable<RowPiece>,
  columns: readonly PlannedColumn[],
  bounds: BatchBounds,
): AsyncGenerator<SourceBatch> {
  const schema = schemaOf(columns);
  const converters = columns.map(({ type }) => converterFor(type));
  let values: unknown[][] = columns.map(() => []);
  let [rows, characters, endByte] = [0, 0, 0];
  const close = (): SourceBatch => {
    const children = columns.map(({ type }, index) => buildData(type, values[index] ?? []));
    const closed = { batch: makeBatch(schema, children, rows), rows, endByte };
    values = columns.map(() => []);
    rows = 0;
    characters = 0;
    return closed;
  };
  for await (const piece of pieces) {
    endByte = piece.endByte;
    for (const { line, cells } of piece.rows) {
      for (const [index, { source }] of columns.entries()) {
        try {
          values[index]?.push(converters[index]?.(cells[index]) ?? null);
        } catch (error) {
          const hint = 'Fix the line, or give the column another type: utf8 accepts everything.';
          refuseAt(error, `Line ${line}: the value of "${source.name}"`, hint);
        }
      }
      rows += 1;
      if (rows === bounds.rows) yield close();
    }
    characters += piece.characters;
    if (characters >= BATCH_CHARACTERS && rows > 0) yield close();
  }
  if (rows > 0) yield close();
}

/** The data of a column that has another type than in the file. */
export function convertValues(
  values: readonly unknown[],
  from: DataType,
  { convert, type, source }: PlannedColumn,
  firstRow: number,
): Data {
  const converted = values.map((value, index) => {
    try {
      return convert?.(plainValue(value, from)) ?? null;
    } catch (error) {
      const subject = `Row ${firstRow + index + 1}: the value of "${source.name}"`;
      return refuseAt(error, subject, 'Give the column another type.');
    }
  });
  return buildData(type, converted);
}

function refuseAt(error: unknown, subject: string, hint: string): never {
  if (!(error instanceof ConversionError)) throw error;
  throw new ServiceError('InvalidInput', `${subject} ${error.message}.`, { hint });
}

export function schemaOf(columns: readonly PlannedColumn[], metadata?: ReadonlyMap<string, string>): Schema {
  const fields = columns.map(
    ({ name, type, source }) => new Field(name, type, source.nullable, new Map(source.metadata)),
  );
  return new Schema(fields, new Map(metadata));
}

export function makeBatch(schema: Schema, children: readonly Data[], length: number): RecordBatch {
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length, children: [...children] }));
}

export function nullData(type: DataType, length: number): Data {
  return buildData(type, Array.from({ length }));
}
