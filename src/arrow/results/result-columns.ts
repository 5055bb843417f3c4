import { childFields } from '../../model/schema.ts';
import type { DataType, Field } from '../../model/schema.ts';
import { hasBit } from '../format/column-layout.ts';
import { PAIR_BYTES, readBatchHeader } from '../format/message-header.ts';
import type { BatchHeader, MessageHeader } from '../format/message-header.ts';
import type { ResultMessage } from './result-file.ts';

/** One column of a batch written by the engine, with views of its buffers. */
export interface ResultColumn {
  readonly field: Field;
  readonly type: DataType;
  readonly length: number;
  /** A bit per row, or `undefined` when no row is null. */
  readonly validity: Buffer | undefined;
  /** Offsets, values, in the order of the format; without the validity. */
  readonly buffers: readonly Buffer[];
  readonly children: readonly ResultColumn[];
}

/** The columns of the record batch at `table`, which is the message's own or that of a dictionary. */
export function readColumns(
  message: MessageHeader,
  table: number,
  fields: readonly Field[],
  body: Buffer,
): readonly ResultColumn[] {
  const reader = new ColumnReader(readBatchHeader(message, table, Number.MAX_SAFE_INTEGER), body);
  return fields.map((field) => reader.read(field));
}

/** The values of a dictionary batch. */
export function readDictionaryColumn({ header, body }: ResultMessage, field: Field | undefined): ResultColumn {
  const table = header.flatbuffer.tableField(header.table, 1);
  if (field === undefined || table === undefined) return header.flatbuffer.refuse('is of no column');
  const [column] = readColumns(header, table, [field], body);
  return column ?? header.flatbuffer.refuse('has no values');
}

export function isValid({ validity }: ResultColumn, row: number): boolean {
  return validity === undefined || hasBit(validity, row);
}

class ColumnReader {
  readonly #header: BatchHeader;
  readonly #body: Buffer;
  #nodesRead = 0;
  #buffersRead = 0;

  constructor(header: BatchHeader, body: Buffer) {
    if (header.codec !== 'none') header.flatbuffer.refuse('is compressed');
    this.#header = header;
    this.#body = body;
  }

  read(field: Field): ResultColumn {
    const { type } = field;
    const { flatbuffer, nodes } = this.#header;
    const at = nodes.start + PAIR_BYTES * this.#nodesRead;
    this.#nodesRead += 1;
    const length = flatbuffer.i64(at);
    const nulls = flatbuffer.i64(at + 8);
    if (type.kind === 'null') return { field, type, length, validity: undefined, buffers: [], children: [] };
    const bits = this.#nextBuffer();
    const validity = nulls === 0 || bits.length === 0 ? undefined : bits;
    const buffers = Array.from({ length: this.#bufferCount(type) }, () => this.#nextBuffer());
    return { field, type, length, validity, buffers, children: childFields(type).map((child) => this.read(child)) };
  }

  #nextBuffer(): Buffer {
    const { flatbuffer, buffers } = this.#header;
    if (this.#buffersRead >= buffers.count) flatbuffer.refuse('lists fewer buffers than its columns need');
    const at = buffers.start + PAIR_BYTES * this.#buffersRead;
    this.#buffersRead += 1;
    const offset = flatbuffer.i64(at);
    return this.#body.subarray(offset, offset + flatbuffer.i64(at + 8));
  }

  #bufferCount(type: DataType): number {
    switch (type.kind) {
      case 'struct':
      case 'fixed-size-list':
        return 0;
      case 'list':
        return type.layout === 'plain' || type.layout === 'large' ? 1 : this.#refuse(type);
      case 'utf8':
      case 'binary':
        return type.layout === 'view' ? this.#refuse(type) : 2;
      case 'union':
      case 'run-end-encoded':
        return this.#refuse(type);
      default:
        return 1;
    }
  }

  /** The engine converts these layouts when it writes, so it never returns them. */
  #refuse(type: DataType): never {
    return this.#header.flatbuffer.refuse(`holds a column of the kind ${type.kind} in a layout that is not read`);
  }
}
