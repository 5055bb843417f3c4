import { ServiceError } from '../../errors/service-error.ts';
import { structWriter } from './json-values.ts';
import { readColumns } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';
import { readResultFile } from './result-file.ts';
import type { ResultFile } from './result-file.ts';
import type { ResultFiles } from './result-framing.ts';
import { readSchemaMessage } from '../schema/schema-reader.ts';

/** Text is sent in pieces of about this many characters. */
const PIECE_CHARACTERS = 65_536;

/** One JSON object per line. */
export async function* writeLines({ files }: ResultFiles): AsyncGenerator<Uint8Array> {
  const text = new TextPieces();
  for await (const file of files) {
    for (const row of writeRows(file)) yield* text.add(`${row}\n`);
    yield* text.rest();
  }
}

/** One JSON document: `{"rows": […]}`. */
export async function* writeDocument({ files }: ResultFiles): AsyncGenerator<Uint8Array> {
  const text = new TextPieces();
  yield* text.add('{"rows":[');
  let separator = '';
  for await (const file of files) {
    for (const row of writeRows(file)) {
      yield* text.add(separator + row);
      separator = ',';
    }
    yield* text.rest();
  }
  yield* text.add(']}');
  yield* text.rest();
}

class TextPieces {
  #parts: string[] = [];
  #characters = 0;

  *add(text: string): Generator<Uint8Array> {
    this.#parts.push(text);
    this.#characters += text.length;
    if (this.#characters >= PIECE_CHARACTERS) yield* this.rest();
  }

  *rest(): Generator<Uint8Array> {
    if (this.#characters > 0) yield Buffer.from(this.#parts.join(''), 'utf8');
    this.#parts = [];
    this.#characters = 0;
  }
}

function* writeRows(bytes: Buffer): Generator<string> {
  const file = readResultFile(bytes);
  const { schema, dictionaries } = readSchemaMessage(file.schema);
  const values = readDictionaries(file, dictionaries.valuesOf);
  const dictionaryOf = (column: ResultColumn): ResultColumn => {
    const found = values.get(dictionaries.idOf.get(column.type) ?? -1);
    if (found === undefined) throw new ServiceError('Internal', 'A result of the storage engine lacks a dictionary.');
    return found;
  };
  for (const { header, body } of file.batches) {
    const columns = readColumns(header, header.table, schema.fields, body);
    const write = structWriter(columns, dictionaryOf);
    const rows = header.flatbuffer.i64Field(header.table, 0, 0);
    for (let row = 0; row < rows; row += 1) yield write(row);
  }
}

function readDictionaries(
  file: ResultFile,
  valuesOf: ReturnType<typeof readSchemaMessage>['dictionaries']['valuesOf'],
): ReadonlyMap<number, ResultColumn> {
  const found = new Map<number, ResultColumn>();
  for (const { header, body } of file.dictionaries) {
    const id = header.flatbuffer.i64Field(header.table, 0, 0);
    const field = valuesOf.get(id);
    const table = header.flatbuffer.tableField(header.table, 1);
    if (field === undefined || table === undefined) continue;
    const [column] = readColumns(header, table, [field], body);
    if (column !== undefined) found.set(id, column);
  }
  return found;
}
