import { RecordBatch, Struct, makeData } from 'apache-arrow';
import type { Data, DataType, Schema } from 'apache-arrow';
import { invalidInput } from '../errors/service-error.ts';
import type { PlannedColumn, ReadPlan, SourceBatch } from './format.ts';
import { buildData } from './types/build-data.ts';
import { ConversionError, converterFor } from './types/convert-value.ts';
import { plainConverter } from './types/values-of.ts';

/** Rows of text, with one cell for each planned column. */
export interface RowPiece {
  readonly rows: readonly { readonly line: number; readonly cells: readonly unknown[] }[];
  readonly characters: number;
  readonly endByte: number;
}

/** The types of text are inferred from so many rows. */
export const SAMPLE_ROWS = 1000;

/** A batch of text rows ends at as many rows as wanted, or after this much text. */
const BATCH_CHARACTERS = 8 * 1024 * 1024;

export async function* toBatches(
  pieces: AsyncIterable<RowPiece>,
  { columns, schema, batchRows }: ReadPlan,
): AsyncGenerator<SourceBatch> {
  const converters = columns.map(({ field }) => converterFor(field.type));
  let values: unknown[][] = columns.map(() => []);
  let [rows, characters, endByte] = [0, 0, 0];
  const close = (): SourceBatch => {
    const children = columns.map(({ field }, index) => buildData(field.type, values[index] ?? []));
    const closed = { batch: makeBatch(schema, children, rows), endByte };
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
      if (rows === batchRows) yield close();
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
  { convert, field, source }: PlannedColumn,
  firstRow: number,
): Data {
  const toPlain = plainConverter(from);
  const converted = values.map((value, index) => {
    try {
      return convert?.(toPlain(value)) ?? null;
    } catch (error) {
      const subject = `Row ${firstRow + index + 1}: the value of "${source.name}"`;
      return refuseAt(error, subject, 'Give the column another type.');
    }
  });
  return buildData(field.type, converted);
}

function refuseAt(error: unknown, subject: string, hint: string): never {
  if (!(error instanceof ConversionError)) throw error;
  throw invalidInput(`${subject} ${error.message}.`, hint);
}

export function makeBatch(schema: Schema, children: readonly Data[], length: number): RecordBatch {
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length, children: [...children] }));
}
