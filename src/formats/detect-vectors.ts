import { DataType, Schema } from 'apache-arrow';
import type { Data, Field } from 'apache-arrow';
import type { Finding, Source } from './format.ts';
import { SAMPLE_ROWS } from './row-batches.ts';
import { formatType, vectorOf } from './types/type-text.ts';
import { formatCount } from '../model/value-text.ts';

/** Shorter lists of floats in a typed file are more often coordinates or ranges than embeddings. */
export const VECTOR_LENGTH_MIN = 8;

/** What the first rows of a typed file reveal about its lists of numbers. */
export async function findVectors(
  source: Source,
  isWanted: (name: string) => boolean,
): Promise<ReadonlyMap<string, Finding>> {
  const fields = source.columns.filter((field) => isListOfNumbers(field.type) && isWanted(field.name));
  if (fields.length === 0) return new Map();
  const chunks = await readSample(source, fields);
  return new Map(fields.map((field, index) => [field.name, toFinding(field.type, chunks[index] ?? [])]));
}

export function isListOfNumbers(type: DataType): boolean {
  return DataType.isList(type) && (DataType.isFloat(type.valueType) || DataType.isInt(type.valueType));
}

/** The data of each field in the first rows. */
async function readSample(source: Source, fields: readonly Field[]): Promise<readonly (readonly Data[])[]> {
  const columns = fields.map((field) => ({ source: field, field, convert: undefined, reason: '' }));
  const chunks: Data[][] = fields.map(() => []);
  let rows = 0;
  for await (const { batch } of source.batches({ columns, schema: new Schema([...fields]), batchRows: SAMPLE_ROWS })) {
    for (const [index, data] of batch.data.children.entries()) chunks[index]?.push(data);
    rows += batch.numRows;
    if (rows >= SAMPLE_ROWS) break;
  }
  return chunks;
}

function toFinding(list: DataType, chunks: readonly Data[]): Finding {
  const lists = measureLists(chunks);
  const [length = 0] = lists.lengths;
  const isVector =
    DataType.isList(list) &&
    DataType.isFloat(list.valueType) &&
    lists.lengths.size === 1 &&
    length >= VECTOR_LENGTH_MIN;
  if (!isVector) return { type: list, reason: 'as in the file', lists };
  const seen = lists.count === 1 ? 'the first list has' : `the first ${formatCount(lists.count)} lists have`;
  const reason = `${formatType(list)} in the file; ${seen} ${formatCount(length)} values`;
  return { type: vectorOf(list.valueType, length), reason, lists };
}

function measureLists(chunks: readonly Data[]): NonNullable<Finding['lists']> {
  const lengths = new Set<number>();
  let count = 0;
  for (const data of chunks) {
    for (let row = 0; row < data.length; row += 1) {
      if (!data.getValid(row)) continue;
      count += 1;
      lengths.add(Number(data.valueOffsets[row + 1]) - Number(data.valueOffsets[row]));
    }
  }
  return { count, lengths };
}
