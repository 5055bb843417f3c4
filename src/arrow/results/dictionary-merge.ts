import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { SchemaMessage } from '../format/footer.ts';
import { readResultSchema } from '../schema/schema-reader.ts';
import type { ReadSchema } from '../schema/schema-reader.ts';
import { frameDictionary, readValues, rewriteIndices } from './dictionary-batch.ts';
import type { FramedDictionary } from './dictionary-batch.ts';
import { readColumns, readDictionaryColumn } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';
import { dictionaryIdOf } from './result-file.ts';
import type { ResultMessage } from './result-file.ts';

interface MergedDictionary {
  /** The dictionary of the previous batch. */
  last: ResultMessage;
  /** The index of each value, by its bytes; built only when a different dictionary arrives. */
  indexOf: Map<string, number> | undefined;
  /** The number of values in the file, including repeated ones. */
  size: number;
  /** New indices of the values of `last`; `undefined` if unchanged. */
  newIndices: readonly number[] | undefined;
}

/**
 * The engine gives every batch separate dictionaries, which differ between fragments. A file has one per column, which
 * can grow but not change. So the first one is kept, new values are appended to it, and the indices of later batches
 * are rewritten in place.
 */
export class DictionaryMerge {
  readonly #message: SchemaMessage;
  readonly #merged = new Map<number, MergedDictionary>();
  #read: ReadSchema | undefined;

  constructor(message: SchemaMessage) {
    this.#message = message;
  }

  /** Returns the dictionary batches to write before the batches that use this dictionary. */
  add(dictionary: ResultMessage): readonly FramedDictionary[] {
    const id = dictionaryIdOf(dictionary.header);
    const merged = this.#merged.get(id);
    if (merged === undefined) {
      this.#merged.set(id, { last: dictionary, indexOf: undefined, size: 0, newIndices: undefined });
      return [dictionary];
    }
    if (merged.last.bytes.equals(dictionary.bytes)) return [];
    merged.indexOf ??= this.#indexFirst(merged, id);
    merged.last = dictionary;
    return this.#grow(merged, merged.indexOf, id);
  }

  /** Rewrites the indices of a batch to those of the file. */
  rewrite(batch: ResultMessage): ResultMessage {
    if ([...this.#merged.values()].every(({ newIndices }) => newIndices === undefined)) return batch;
    const { fields } = this.#schema.schema;
    for (const column of readColumns(batch.header, batch.header.table, fields, batch.body)) this.#rewriteColumn(column);
    return batch;
  }

  get #schema(): ReadSchema {
    this.#read ??= readResultSchema(this.#message);
    return this.#read;
  }

  /** Reads the first dictionary, which was passed on undecoded so far. */
  #indexFirst(merged: MergedDictionary, id: number): Map<string, number> {
    const values = readValues(this.#readColumn(merged.last, id));
    merged.size = values.length;
    return new Map(values.map((value, index) => [keyOf(value), index]));
  }

  #grow(merged: MergedDictionary, indexOf: Map<string, number>, id: number): readonly FramedDictionary[] {
    const column = this.#readColumn(merged.last, id);
    const added: (Buffer | undefined)[] = [];
    merged.newIndices = readValues(column).map((value) => {
      const known = indexOf.get(keyOf(value));
      if (known !== undefined) return known;
      const index = merged.size + added.length;
      indexOf.set(keyOf(value), index);
      added.push(value);
      return index;
    });
    if (added.length === 0) return [];
    merged.size += added.length;
    const { version } = this.#message;
    return [frameDictionary({ id, version, isDelta: true, values: added, column })];
  }

  #readColumn(message: ResultMessage, id: number): ResultColumn {
    return readDictionaryColumn(message, this.#schema.dictionaries.valuesOf.get(id));
  }

  #rewriteColumn(column: ResultColumn): void {
    for (const child of column.children) this.#rewriteColumn(child);
    const { type, field } = column;
    if (type.kind !== 'dictionary') return;
    const newIndices = this.#merged.get(this.#schema.dictionaries.idOf.get(type) ?? -1)?.newIndices;
    if (newIndices === undefined) return;
    const { bits, signed } = type.index;
    const largest = newIndices.reduce((max, index) => Math.max(max, index), 0);
    if (largest >= 2 ** (signed ? bits - 1 : bits)) {
      throw new ServiceError(
        'Unsupported',
        `The column ${quoteForMessage(field.name)} has more distinct values than the index type of its dictionary can count.`,
        { hint: 'Request an Arrow stream, in which dictionaries can change between batches.' },
      );
    }
    rewriteIndices(column, (index) => newIndices[index] ?? 0);
  }
}

function keyOf(value: Buffer | undefined): string {
  return value === undefined ? 'null' : `=${value.toString('latin1')}`;
}
