import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { DataType } from '../../model/schema.ts';
import { frameDelta, readValues, writeValues } from './dictionary-message.ts';
import type { FramedDictionary } from './dictionary-message.ts';
import { readColumns } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';
import type { ResultMessage } from './result-file.ts';
import { readSchemaMessage } from '../schema/schema-reader.ts';
import type { SchemaMessage } from '../format/footer.ts';
import type { ReadSchema } from '../schema/schema-reader.ts';

/** What one batch needs before it, and how its own indices have to be changed. */
export interface DictionaryMapping {
  readonly added: readonly FramedDictionary[];
  apply(batch: ResultMessage): ResultMessage;
}

/** One dictionary as the file has it so far. */
interface Merged {
  /** The dictionary of the batch before. */
  last: ResultMessage;
  /** Where each value stands, by its bytes; read only when a different dictionary comes. */
  places: Map<string, number> | undefined;
  /** How many values the file has, repeated ones counted. */
  size: number;
  /** Where the values of `last` stand; `undefined` when they stand where they did. */
  moved: readonly number[] | undefined;
}

const NOTHING_TO_DO: DictionaryMapping = { added: [], apply: (batch) => batch };

/**
 * The engine gives every batch dictionaries of its own, which differ from fragment to fragment. A file has one for each
 * column, which can grow but not change: so the first is kept, new values are added behind it, and the indices of later
 * batches are rewritten in place.
 */
export class DictionaryMerge {
  readonly #message: SchemaMessage;
  readonly #merged = new Map<number, Merged>();
  #read: ReadSchema | undefined;

  constructor(message: SchemaMessage) {
    this.#message = message;
  }

  add(dictionaries: readonly ResultMessage[]): DictionaryMapping {
    if (dictionaries.length === 0) return NOTHING_TO_DO;
    const added = dictionaries.flatMap((dictionary) => this.#addOne(dictionary));
    return { added, apply: (batch) => this.#rewrite(batch) };
  }

  get #schema(): ReadSchema {
    this.#read ??= readSchemaMessage(this.#message);
    return this.#read;
  }

  #addOne(dictionary: ResultMessage): readonly FramedDictionary[] {
    const { header, bytes } = dictionary;
    const id = header.flatbuffer.i64Field(header.table, 0, 0);
    const merged = this.#merged.get(id);
    if (merged === undefined) {
      this.#merged.set(id, { last: dictionary, places: undefined, size: 0, moved: undefined });
      return [dictionary];
    }
    if (merged.last.bytes.equals(bytes)) return [];
    merged.places ??= this.#learn(merged, id);
    merged.last = dictionary;
    return this.#grow(merged, merged.places, id);
  }

  /** Reads the first dictionary, which until now went through untouched. */
  #learn(merged: Merged, id: number): Map<string, number> {
    const values = readValues(this.#readColumn(merged.last, id));
    merged.size = values.length;
    return new Map(values.map((value, place) => [keyOf(value), place]));
  }

  #grow(merged: Merged, places: Map<string, number>, id: number): readonly FramedDictionary[] {
    const column = this.#readColumn(merged.last, id);
    const fresh: (Buffer | undefined)[] = [];
    merged.moved = readValues(column).map((value) => {
      const known = places.get(keyOf(value));
      if (known !== undefined) return known;
      const place = merged.size + fresh.length;
      places.set(keyOf(value), place);
      fresh.push(value);
      return place;
    });
    if (fresh.length === 0) return [];
    merged.size += fresh.length;
    const nulls = fresh.filter((value) => value === undefined).length;
    const { version } = this.#message;
    return [frameDelta({ id, version, rows: fresh.length, nulls, buffers: writeValues(column, fresh) })];
  }

  #readColumn({ header, body }: ResultMessage, id: number): ResultColumn {
    const values = this.#schema.dictionaries.valuesOf.get(id);
    const table = header.flatbuffer.tableField(header.table, 1);
    if (values === undefined || table === undefined) return header.flatbuffer.place.refuse('is of no column');
    const [column] = readColumns(header, table, [values], body);
    return column ?? header.flatbuffer.place.refuse('has no values');
  }

  #rewrite(batch: ResultMessage): ResultMessage {
    if ([...this.#merged.values()].every(({ moved }) => moved === undefined)) return batch;
    const { schema } = this.#schema;
    for (const column of readColumns(batch.header, batch.header.table, schema.fields, batch.body)) {
      this.#rewriteColumn(column);
    }
    return batch;
  }

  #rewriteColumn(column: ResultColumn): void {
    for (const child of column.children) this.#rewriteColumn(child);
    const { type } = column;
    if (type.kind !== 'dictionary') return;
    const moved = this.#merged.get(this.#schema.dictionaries.idOf.get(type) ?? -1)?.moved;
    const [indices] = column.buffers;
    if (moved === undefined || indices === undefined) return;
    const { bits, signed } = indexType(type.index);
    if (Math.max(0, ...moved) >= 2 ** (signed ? bits - 1 : bits)) throw tooManyValues(column);
    moveIndices(indices, { bytes: bits / 8, rows: column.length, moved });
  }
}

interface Move {
  readonly bytes: number;
  readonly rows: number;
  readonly moved: readonly number[];
}

/** Rows that are null may hold any index, also one that is past the end. */
function moveIndices(indices: Buffer, { bytes, rows, moved }: Move): void {
  for (let at = 0; at < rows * bytes; at += bytes) {
    if (bytes === 8) {
      indices.writeBigUInt64LE(BigInt(moved[Number(indices.readBigUInt64LE(at))] ?? 0), at);
    } else {
      indices.writeUIntLE(moved[indices.readUIntLE(at, bytes)] ?? 0, at, bytes);
    }
  }
}

function indexType(type: DataType): { readonly bits: number; readonly signed: boolean } {
  return type.kind === 'int' ? type : { bits: 32, signed: true };
}

function keyOf(value: Buffer | undefined): string {
  return value === undefined ? 'null' : `=${value.toString('latin1')}`;
}

function tooManyValues({ field }: ResultColumn): ServiceError {
  return new ServiceError(
    'Unsupported',
    `The column ${quoteForMessage(field.name)} has more different values than the indices of its dictionary can count.`,
    { hint: 'Ask for an Arrow stream, which may change its dictionaries on the way.' },
  );
}
