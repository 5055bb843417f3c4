import { Field, RecordBatch, Schema, Struct, makeData } from 'apache-arrow';
import type { Data, DataType } from 'apache-arrow';
import { ServiceError } from '../errors/service-error.ts';
import { buildData } from './types/build-data.ts';
import { ConversionError, converterFor } from './types/convert-value.ts';
import type { Convert } from './types/convert-value.ts';
import type { BatchBounds, PlannedColumn, SourceBatch } from './format.ts';
import { plainValue } from './types/plain-value.ts';
import { valuesOf } from './types/values-of.ts';

export interface TextRow {
  readonly line: number;
  /** One cell for each planned column. */
  readonly cells: readonly unknown[];
}

export interface RowPiece {
  readonly rows: readonly TextRow[];
  readonly characters: number;
  readonly endByte: number;
}

/** A batch of text rows is closed when it has as many rows as wanted, or came from this much text. */
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
  let [rows, characters, lastByte] = [0, 0, 0];
  const close = (): SourceBatch => {
    const batch = makeBatch(
      schema,
      columns.map(({ type }, index) => buildData(type, values[index] ?? [])),
      rows,
    );
    const closed = { batch, rows, endByte: lastByte };
    values = columns.map(() => []);
    rows = 0;
    characters = 0;
    return closed;
  };
  for await (const piece of pieces) {
    lastByte = piece.endByte;
    for (const row of piece.rows) {
      for (const [index, column] of columns.entries()) {
        values[index]?.push(convertCell(converters[index], row, index, column));
      }
      rows += 1;
      if (rows === bounds.rows) yield close();
    }
    characters += piece.characters;
    if (characters >= BATCH_CHARACTERS && rows > 0) yield close();
  }
  if (rows > 0) yield close();
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

function convertCell(convert: Convert | undefined, row: TextRow, index: number, column: PlannedColumn): unknown {
  try {
    return convert?.(row.cells[index]) ?? null;
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    throw new ServiceError('InvalidInput', `Line ${row.line}: the value of "${column.source.name}" ${error.fault}.`, {
      hint: 'Mend the line, or give the column another type: utf8 takes everything.',
    });
  }
}

/** A column that is to have another type than in the file. */
export function convertColumn(data: Data, column: PlannedColumn, firstRow: number): Data {
  return convertValues(valuesOf(data), data.type, column, firstRow);
}

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
      if (!(error instanceof ConversionError)) throw error;
      const place = `Row ${firstRow + index + 1}: the value of "${source.name}"`;
      throw new ServiceError('InvalidInput', `${place} ${error.fault}.`, { hint: 'Give the column another type.' });
    }
  });
  return buildData(type, converted);
}
