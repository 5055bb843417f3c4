import { RecordBatch, Struct, makeData } from 'apache-arrow';
import type { Data, Schema } from 'apache-arrow';
import { invalidInput } from '../errors/service-error.ts';
import type { PlannedColumn, ReadPlan, SourceBatch } from './format.ts';
import { buildData } from './types/build-data.ts';
import { ConversionError, converterFor } from './types/convert-value.ts';
import { formatType } from './types/type-text.ts';
import { plainConverter, valuesOf } from './types/values-of.ts';
import { toVectors } from './types/vectors.ts';

/** Rows of text, with one cell for each planned column. */
export interface RowPiece {
  readonly rows: readonly { readonly line: number; readonly cells: readonly unknown[] }[];
  readonly characters: number;
  readonly endByte: number;
}

/** The number of rows from which types of text formats are inferred. */
export const SAMPLE_ROWS = 1000;

/** A batch of text rows ends at the wanted number of rows, or after this much text. */
const BATCH_CHARACTERS = 8 * 1024 * 1024;

export async function* toBatches(
  pieces: AsyncIterable<RowPiece>,
  { columns, schema, batchRows }: ReadPlan,
): AsyncGenerator<SourceBatch> {
  const converters = columns.map(({ field, convert }) => convert ?? converterFor(field.type));
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

/** The data of a planned column in a batch of the file that starts at row `firstRow`. */
export function columnOf(batch: RecordBatch, column: PlannedColumn, firstRow: number): Data {
  const data = batch.data.children[batch.schema.fields.findIndex(({ name }) => name === column.source.name)];
  return convertColumn(data, column, firstRow);
}

/** The data of a planned column, converted from the file's data. */
export function convertColumn(data: Data | undefined, column: PlannedColumn, firstRow: number): Data {
  if (data === undefined) throw new TypeError(`a batch without the column "${column.source.name}"`);
  const isAsPlanned = column.convert === undefined && data.type.typeId === column.field.type.typeId;
  return isAsPlanned ? data : convertData(data, column, firstRow);
}

/** The data of a column whose type differs from that in the file. */
function convertData(data: Data, { convert, field, source }: PlannedColumn, firstRow: number): Data {
  const refuse = (error: unknown, row: number): never => {
    const hint = `Give the column another type, or leave it as ${formatType(source.type)}.`;
    return refuseAt(error, `Row ${firstRow + row + 1}: the value of "${source.name}"`, hint);
  };
  const vectors = toVectors(data, field.type, refuse);
  if (vectors !== undefined) return vectors;
  const toPlain = plainConverter(data.type);
  const converted = valuesOf(data).map((value, row) => {
    try {
      return convert === undefined ? value : (convert(toPlain(value)) ?? null);
    } catch (error) {
      return refuse(error, row);
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
