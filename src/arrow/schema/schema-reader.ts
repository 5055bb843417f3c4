import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { ArrowLimits } from '../../model/limits.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';
import { formatCount } from '../../model/value-text.ts';
import { Flatbuffer, MessageContext } from '../format/flatbuffer.ts';
import { FILE_MAGIC, TRAILER_BYTES } from '../format/footer.ts';
import type { SchemaMessage } from '../format/footer.ts';
import { readIntType, readType } from './type-reader.ts';

type SchemaBounds = Pick<ArrowLimits, 'columnsMax' | 'depthMax'>;

/** Schemas written by the engine are trusted, but still bounded. */
const ENGINE_BOUNDS: SchemaBounds = { columnsMax: 1_000_000, depthMax: 256 };

/** Which column uses which dictionary: a stream sends dictionaries separately, by id. */
export interface DictionaryTypes {
  readonly idOf: ReadonlyMap<DataType, number>;
  /** The values of a dictionary as a column, under the name of the first column that uses it. */
  readonly valuesOf: ReadonlyMap<number, Field>;
}

export interface ReadSchema {
  readonly schema: Schema;
  readonly dictionaries: DictionaryTypes;
}

export function readSchema(flatbuffer: Flatbuffer, table: number, bounds: SchemaBounds): ReadSchema {
  if (flatbuffer.i16Field(table, 0) !== 0) {
    flatbuffer.refuse('declares big-endian data', 'Send little-endian Arrow data.');
  }
  const reader = new FieldReader(flatbuffer, bounds);
  const fields = reader.readFields(table, 1, 1);
  return { schema: { fields, metadata: readKeyValues(flatbuffer, table, 2) }, dictionaries: reader };
}

export function readResultSchema({ metadata, table }: SchemaMessage): ReadSchema {
  return readSchema(new Flatbuffer(metadata, new MessageContext('The schema of a result', 0)), table, ENGINE_BOUNDS);
}

/** The schema of an Arrow IPC file written by the engine, read from the footer because the start may be padded. */
export function readFileSchema(file: Uint8Array): Schema {
  try {
    const context = new MessageContext('The footer', 0);
    const footer = new Flatbuffer(footerOf(file, context), context);
    const table = footer.tableField(footer.rootTable(), 1) ?? context.refuse('has no schema');
    return readSchema(footer, table, ENGINE_BOUNDS).schema;
  } catch (cause) {
    throw new ServiceError('Internal', 'The schema of the table could not be read.', { cause });
  }
}

function footerOf(file: Uint8Array, context: MessageContext): Buffer {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const end = bytes.length - TRAILER_BYTES;
  if (end < 0 || !bytes.subarray(end + 4).equals(FILE_MAGIC)) return context.refuse('is missing');
  const length = bytes.readInt32LE(end);
  if (length < 0 || length > end) return context.refuse(`is ${length} bytes long`);
  return bytes.subarray(end - length, end);
}

class FieldReader implements DictionaryTypes {
  readonly idOf = new Map<DataType, number>();
  readonly valuesOf = new Map<number, Field>();
  readonly #flatbuffer: Flatbuffer;
  readonly #bounds: SchemaBounds;
  #columns = 0;

  constructor(flatbuffer: Flatbuffer, bounds: SchemaBounds) {
    this.#flatbuffer = flatbuffer;
    this.#bounds = bounds;
  }

  readFields(table: number, slot: number, depth: number): readonly Field[] {
    return Array.from(this.#flatbuffer.tables(table, slot), (field) => this.#readField(field, depth));
  }

  #readField(table: number, depth: number): Field {
    const { columnsMax, depthMax } = this.#bounds;
    const flatbuffer = this.#flatbuffer;
    this.#columns += 1;
    if (this.#columns > columnsMax) {
      flatbuffer.refuse(`declares more than ${formatCount(columnsMax)} columns, including nested ones`);
    }
    if (depth > depthMax) flatbuffer.refuse(`nests columns more than ${depthMax} levels deep`);
    const name = flatbuffer.textField(table, 0) ?? '';
    const nullable = flatbuffer.u8Field(table, 1) !== 0;
    const type = this.#readFieldType(table, name, depth);
    return { name, nullable, type, metadata: readKeyValues(flatbuffer, table, 6) };
  }

  #readFieldType(table: number, name: string, depth: number): DataType {
    const flatbuffer = this.#flatbuffer;
    const typeTable =
      flatbuffer.tableField(table, 3) ?? flatbuffer.refuse(`has no type for the column ${quoteForMessage(name)}`);
    const children = this.readFields(table, 5, depth + 1);
    const type = readType(flatbuffer, { tag: flatbuffer.u8Field(table, 2), table: typeTable, children });
    const encoding = flatbuffer.tableField(table, 4);
    return encoding === undefined ? type : this.#readDictionaryType(encoding, name, type);
  }

  #readDictionaryType(encoding: number, name: string, value: DataType): DataType {
    const flatbuffer = this.#flatbuffer;
    const indexTable =
      flatbuffer.tableField(encoding, 1) ??
      flatbuffer.refuse(`has no index type for the dictionary of the column ${quoteForMessage(name)}`);
    const index = readIntType(flatbuffer, indexTable);
    const type: DataType = { kind: 'dictionary', index, value, ordered: flatbuffer.u8Field(encoding, 2) !== 0 };
    const id = flatbuffer.i64Field(encoding, 0);
    this.#register(id, type, { name, nullable: true, type: value, metadata: new Map() });
    return type;
  }

  /** Columns may share a dictionary if they agree on the type of its values. */
  #register(id: number, type: DataType, values: Field): void {
    const known = this.valuesOf.get(id);
    if (known !== undefined && !isDeepStrictEqual(known.type, values.type)) {
      const columns = `${quoteForMessage(known.name)} and ${quoteForMessage(values.name)}`;
      this.#flatbuffer.refuse(`uses the dictionary ${id} for the columns ${columns}, which have different types`);
    }
    this.idOf.set(type, id);
    if (known === undefined) this.valuesOf.set(id, values);
  }
}

/** Omits entries without a key or a value, like the engine. */
function readKeyValues(flatbuffer: Flatbuffer, table: number, slot: number): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  for (const entry of flatbuffer.tables(table, slot)) {
    flatbuffer.spend(1);
    const key = flatbuffer.textField(entry, 0);
    const value = flatbuffer.textField(entry, 1);
    if (key !== undefined && value !== undefined) entries.set(key, value);
  }
  return entries;
}
