import { readInteger } from '../format/column-layout.ts';
import { readResultSchema } from '../schema/schema-reader.ts';
import type { ReadSchema } from '../schema/schema-reader.ts';
import { frameDictionary, readValues, rewriteIndices } from './dictionary-batch.ts';
import type { FramedDictionary } from './dictionary-batch.ts';
import { isValid, readColumns, readDictionaryColumn } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';
import { dictionaryIdOf, readResultFile, rowsOf, writeResultFile } from './result-file.ts';
import type { ResultMessage } from './result-file.ts';

/** Smaller dictionaries, and those with few unused values, are not worth the work. */
const LARGE_BYTES = 4096;
const VALUES_PER_ROW = 4;

/**
 * A file with the same rows, whose dictionaries contain only values that these rows use: the engine sends all values of
 * a fragment with every batch, 4 MB for the ten rows of a search. Rewrites indices in place.
 */
export function dropUnusedValues(file: Buffer): Buffer {
  const { schema, dictionaries, batches } = readResultFile(file);
  const [batch] = batches;
  if (batch === undefined || batches.length > 1) return file;
  const rows = rowsOf(batch.header);
  if (!dictionaries.some((each) => isWasteful(each, rows))) return file;
  const read = readResultSchema(schema);
  const columns = readColumns(batch.header, batch.header.table, read.schema.fields, batch.body);
  const used = dictionaries.map((dictionary) =>
    isWasteful(dictionary, rows) ? toUsed(dictionary, { read, columns, version: schema.version }) : dictionary,
  );
  return writeResultFile({ schema, dictionaries: used, batch });
}

function isWasteful({ header, bytes }: ResultMessage, rows: number): boolean {
  const table = header.flatbuffer.tableField(header.table, 1);
  if (table === undefined || bytes.length < LARGE_BYTES) return false;
  return rowsOf({ ...header, table }) > VALUES_PER_ROW * rows;
}

interface UsedBy {
  readonly read: ReadSchema;
  readonly columns: readonly ResultColumn[];
  readonly version: number;
}

function toUsed(dictionary: ResultMessage, { read, columns, version }: UsedBy): FramedDictionary {
  const id = dictionaryIdOf(dictionary.header);
  const values = readDictionaryColumn(dictionary, read.dictionaries.valuesOf.get(id));
  const { type } = values;
  // Numbers take little space.
  if ((type.kind !== 'utf8' && type.kind !== 'binary') || type.layout === 'view') return dictionary;
  const users = findColumns(columns, ({ type: own }) => read.dictionaries.idOf.get(own) === id);
  const indices = [...new Set(users.flatMap(usedIndices))].toSorted((one, other) => one - other);
  const newIndices = new Map(indices.map((index, position) => [index, position]));
  for (const column of users) rewriteIndices(column, (index) => newIndices.get(index) ?? 0);
  return frameDictionary({ id, version, isDelta: false, values: readValues(values, indices), column: values });
}

function findColumns(
  columns: readonly ResultColumn[],
  isWanted: (column: ResultColumn) => boolean,
): readonly ResultColumn[] {
  return columns.flatMap((column) => [
    ...(isWanted(column) ? [column] : []),
    ...findColumns(column.children, isWanted),
  ]);
}

function usedIndices(column: ResultColumn): readonly number[] {
  const { type, length, buffers } = column;
  const [indices] = buffers;
  if (type.kind !== 'dictionary' || indices === undefined) return [];
  const used: number[] = [];
  for (let row = 0; row < length; row += 1) {
    if (isValid(column, row)) used.push(Number(readInteger(indices, row, type.index)));
  }
  return used;
}
