import { ServiceError } from '../../errors/service-error.ts';
import { readResultSchema } from '../schema/schema-reader.ts';
import { structWriter } from './json-values.ts';
import { readColumns, readDictionaryColumn } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';
import { dictionaryIdOf, readResultFile, rowsOf } from './result-file.ts';
import type { ResultFiles } from './result-framing.ts';

/** Text is sent in pieces of about this many characters. */
const PIECE_CHARACTERS = 65_536;

/** One JSON object per line. */
export async function* writeLines({ files }: ResultFiles): AsyncGenerator<Uint8Array> {
  for await (const file of files) yield* writePieces(file, (row) => `${row}\n`);
}

/** One JSON document: `{"rows": […]}`. */
export async function* writeDocument({ files }: ResultFiles): AsyncGenerator<Uint8Array> {
  let separator = '{"rows":[';
  for await (const file of files) {
    yield* writePieces(file, (row) => {
      const text = separator + row;
      separator = ',';
      return text;
    });
  }
  yield Buffer.from(separator === ',' ? ']}' : '{"rows":[]}');
}

function* writePieces(file: Buffer, format: (row: string) => string): Generator<Uint8Array> {
  let parts: string[] = [];
  let characters = 0;
  for (const row of writeRows(file)) {
    const text = format(row);
    parts.push(text);
    characters += text.length;
    if (characters < PIECE_CHARACTERS) continue;
    yield Buffer.from(parts.join(''));
    parts = [];
    characters = 0;
  }
  if (characters > 0) yield Buffer.from(parts.join(''));
}

function* writeRows(bytes: Buffer): Generator<string> {
  const file = readResultFile(bytes);
  const { schema, dictionaries } = readResultSchema(file.schema);
  const values = new Map<number, ResultColumn>();
  for (const message of file.dictionaries) {
    const id = dictionaryIdOf(message.header);
    const field = dictionaries.valuesOf.get(id);
    if (field !== undefined) values.set(id, readDictionaryColumn(message, field));
  }
  const dictionaryOf = (column: ResultColumn): ResultColumn => {
    const found = values.get(dictionaries.idOf.get(column.type) ?? -1);
    if (found === undefined) throw new ServiceError('Internal', 'A result of the storage engine lacks a dictionary.');
    return found;
  };
  for (const { header, body } of file.batches) {
    const write = structWriter(readColumns(header, header.table, schema.fields, body), dictionaryOf);
    const rows = rowsOf(header);
    for (let row = 0; row < rows; row += 1) yield write(row);
  }
}
