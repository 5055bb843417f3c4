import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { SchemaMessage } from '../format/footer.ts';
import { readResultSchema } from '../schema/schema-reader.ts';
import type { ReadSchema } from '../schema/schema-reader.ts';
import { frameDelta, readValues, writeValues } from './dictionary-message.ts';
import type { FramedDictionary } from './dictionary-message.ts';
import { readColumns, readDictionaryColumn } from './result-columns.ts';
import type { ResultColumn } from './result-columns.ts';
import { dictionaryIdOf } from './result-file.ts';
import type { ResultMessage } from './result-file.ts';

/** What one batch needs before it, and how its own indices have to be changed. */
export interface DictionaryMapping {
  readonly added: readonly FramedDictionary[];
  apply(batch: ResultMessage): ResultMessage;
}

/** One dictionary as the file has it so far. */
interface MergedDictionary {
  /** The dictionary of the batch before. */
  last: ResultMessage;
  /** Index of each value, by its bytes; built only when a different dictionary arrives. */
  indexOf: Map<string, number> | undefined;
  /** How many values the file has, repeated ones counted. */
  size: number;
  /** New indices of the values of `last`; `undefined` when they are unchanged. */
  newIndices: readonly number[] | undefined;
}

/**
 * The engine gives every batch separate dictionaries, which differ from fragment to fragment. A file has one for each
 * column, which can grow but not change: so the first is kept, new values are appended to it, and the indices of later
 * batches are rewritten in place.
 */
export class DictionaryMerge {
  readonly #message: SchemaMessage;
  readonly #merged = new Map<number, MergedDictionary>();
  #read: ReadSchema | undefined;

  constructor(message: SchemaMessage) {
    this.#message = message;
  }

  add(dictionaries: readonly ResultMessage[]): DictionaryMapping {
    const added = dictionaries.flatMap((dictionary) => this.#addOne(dictionary));
    return { added, apply: (batch) => (dictionaries.length === 0 ? batch : this.#rewrite(batch)) };
  }

  get #schema(): ReadSchema {
    this.#read ??= readResultSchema(this.#message);
    return this.#read;
  }

  #addOne(dictionary: ResultMessage): readonly FramedDictionary[] {
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

  /** Reads the first dictionary, which until now was passed on undecoded. */
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
    const nulls = added.filter((value) => value === undefined).length;
    const { version } = this.#message;
    return [frameDelta({ id, version, rows: added.length, nulls, buffers: writeValues(column, added) })];
  }

  #readColumn(message: ResultMessage, id: number): ResultColumn {
    return readDictionaryColumn(message, this.#schema.dictionaries.valuesOf.get(id));
  }

  #rewrite(batch: ResultMessage): ResultMessage {
    if ([...this.#merged.values()].every(({ newIndices }) => newIndices === undefined)) return batch;
    const { fields } = this.#schema.schema;
    for (const column of readColumns(batch.header, batch.header.table, fields, batch.body)) this.#rewriteColumn(column);
    return batch;
  }

  #rewriteColumn(column: ResultColumn): void {
    for (const child of column.children) this.#rewriteColumn(child);
    const { type, field } = column;
    if (type.kind !== 'dictionary') return;
    const newIndices = this.#merged.get(this.#schema.dictionaries.idOf.get(type) ?? -1)?.newIndices;
    const [indices] = column.buffers;
    if (newIndices === undefined || indices === undefined) return;
    const { bits, signed } = type.index.kind === 'int' ? type.index : { bits: 32, signed: true };
    if (Math.max(0, ...newIndices) >= 2 ** (signed ? bits - 1 : bits)) {
      throw new ServiceError(
        'Unsupported',
        `The column ${quoteForMessage(field.name)} has more different values than the indices of its dictionary can count.`,
        { hint: 'Ask for an Arrow stream, which may change its dictionaries on the way.' },
      );
    }
    rewriteIndices(indices.subarray(0, (column.length * bits) / 8), bits / 8, newIndices);
  }
}

/** Rows that are null may hold any index, even one past the end. */
function rewriteIndices(indices: Buffer, bytes: number, newIndices: readonly number[]): void {
  for (let at = 0; at < indices.length; at += bytes) {
    if (bytes === 8) {
      indices.writeBigUInt64LE(BigInt(newIndices[Number(indices.readBigUInt64LE(at))] ?? 0), at);
    } else {
      indices.writeUIntLE(newIndices[indices.readUIntLE(at, bytes)] ?? 0, at, bytes);
    }
  }
}

function keyOf(value: Buffer | undefined): string {
  return value === undefined ? 'null' : `=${value.toString('latin1')}`;
}
