import { quoteForMessage } from '../../model/identifier.ts';
import type { DataType, Field } from '../../model/schema.ts';
import {
  hasBit,
  offsetBytes,
  readOffset,
  requireFixedWidth,
  VIEW_BYTES,
  viewedBytes,
} from '../format/column-layout.ts';
import type { OffsetBytes } from '../format/column-layout.ts';
import { jsonTextFault } from '../format/json-text.ts';
import { EXTENSION_NAME_KEY, JSON_EXTENSION } from '../schema/schema-rules.ts';
import type { BatchBuffers, BodyBuffer, FieldNode } from './batch-buffers.ts';

export interface BatchSchema {
  readonly columns: readonly Field[];
  /** Collects the names of top-level columns with nulls. */
  readonly nullColumns?: Set<string>;
  hasDictionary(type: DataType): boolean;
}

/**
 * Checks a batch against its schema without decoding it: everything that the engine would assume, or detect by failing
 * in the middle of a table. Apart from lengths, the contents of buffers are left to the engine.
 */
export function checkBatch(buffers: BatchBuffers, schema: BatchSchema): void {
  const walk = new ColumnWalk(buffers, schema);
  for (const column of schema.columns) walk.checkColumn(column, buffers.header.rows);
  buffers.requireEnd();
}

/** The column that contains a field. */
interface Parent {
  readonly kind: DataType['kind'];
  readonly nulls: Nulls | undefined;
}

/** Where a column is null. A column of the null type has no bitmap. */
interface Nulls {
  readonly node: FieldNode;
  readonly bitmap: BodyBuffer | undefined;
}

class ColumnWalk {
  readonly #buffers: BatchBuffers;
  readonly #schema: BatchSchema;
  readonly #path: string[] = [];

  constructor(buffers: BatchBuffers, schema: BatchSchema) {
    this.#buffers = buffers;
    this.#schema = schema;
  }

  /** `rows` is what the parent requires; unknown below a list, because offsets are not read. */
  checkColumn(field: Field, rows: number | undefined, parent?: Parent): void {
    this.#path.push(field.name);
    const node = this.#buffers.nextNode();
    if (rows !== undefined && node.length !== rows) {
      this.#refuse(`has ${node.length} rows instead of the declared ${rows}`);
    }
    const nulls = this.#readNulls(field, node);
    if (nulls !== undefined && parent === undefined) this.#schema.nullColumns?.add(field.name);
    if (field.type.kind === 'null') this.#checkNullType(parent);
    else if (nulls !== undefined && !field.nullable) this.#checkRequired(nulls, parent);
    this.#checkLayout(field, node, nulls);
    this.#path.pop();
  }

  #readNulls(field: Field, node: FieldNode): Nulls | undefined {
    if (field.type.kind === 'null') {
      if (node.nullCount !== node.length) this.#refuse('has the null type but counts rows that are not null');
      return { node, bitmap: undefined };
    }
    const bitmap = this.#buffers.nextBuffer();
    if (node.nullCount === 0) return undefined;
    this.#requireBytes(bitmap, Math.ceil(node.length / 8), 'validity');
    return { node, bitmap };
  }

  /** The engine cannot store a null struct with such a field. */
  #checkNullType(parent: Parent | undefined): void {
    if (parent?.kind !== 'struct' || parent.nulls === undefined) return;
    const row = this.#findNull(parent.nulls);
    const where = row === undefined ? '' : ` in row ${row}`;
    this.#refuse(`has the null type, in a struct that is null${where}`, 'Give the field a type, or omit it.');
  }

  /** Below a null struct, a non-nullable field has no value, but in a fixed-size list the engine requires one. */
  #checkRequired(nulls: Nulls, parent: Parent | undefined): void {
    if (parent?.kind === 'struct' && parent.nulls !== undefined) {
      const row = this.#findNull(nulls, parent.nulls);
      if (row !== undefined) this.#refuse(`is null in row ${row} although the schema allows no nulls`);
      return;
    }
    const row = this.#findNull(nulls);
    const where = row === undefined ? '' : `, the first in row ${row}`;
    const hint = 'Mark the field as nullable, or send a value.';
    this.#refuse(`has ${nulls.node.nullCount} nulls although the schema allows none${where}`, hint);
  }

  /** The first row that is null, but not null in the parent; also `undefined` for ZSTD, which is not decoded here. */
  #findNull(nulls: Nulls, parent?: Nulls): number | undefined {
    const bits = this.#readBitmap(nulls);
    const parentBits = parent === undefined ? undefined : this.#readBitmap(parent);
    if (bits === undefined || (parent !== undefined && parentBits === undefined)) return undefined;
    for (let row = 0; row < nulls.node.length; row += 1) {
      if (!hasBit(bits, row) && (parentBits === undefined || hasBit(parentBits, row))) return row;
    }
    return undefined;
  }

  #readBitmap({ node, bitmap }: Nulls): Buffer | undefined {
    return bitmap === undefined ? undefined : this.#buffers.content(bitmap, Math.ceil(node.length / 8));
  }

  #checkLayout(field: Field, node: FieldNode, nulls: Nulls | undefined): void {
    const { type } = field;
    const parent = { kind: type.kind, nulls };
    switch (type.kind) {
      case 'null':
        return this.#buffers.charge(node.length);
      case 'bool':
        return this.#checkBooleans(node);
      case 'utf8':
      case 'binary':
        return type.layout === 'view'
          ? this.#checkViews(node)
          : this.#checkTexts(field, offsetBytes(type), { node, nulls });
      case 'list':
        this.#checkOffsets(node, offsetBytes(type));
        return this.checkColumn(type.item, undefined, parent);
      case 'map':
        this.#checkOffsets(node, 4);
        return this.checkColumn(type.entries, undefined, parent);
      case 'fixed-size-list':
        return this.checkColumn(type.item, node.length * type.length, parent);
      case 'struct':
        for (const child of type.children) this.checkColumn(child, node.length, parent);
        return undefined;
      case 'dictionary':
        this.#checkFixedWidth(type.index, node);
        if (node.length === 0 || this.#schema.hasDictionary(type)) return undefined;
        return this.#refuse('uses a dictionary that has not been sent', 'Send its dictionary batch first.');
      default:
        return this.#checkFixedWidth(type, node);
    }
  }

  /**
   * Arrow for JavaScript sends no values for a column of only nulls. Any values will do, so the bitmap of nulls, which
   * has the same length, is used.
   */
  #checkBooleans(node: FieldNode): void {
    const values = this.#buffers.nextBuffer();
    const isLeftOut = values.decodedBytes === 0 && node.length > 0 && node.nullCount === node.length;
    const used = isLeftOut ? this.#buffers.shareBytesOfPrevious() : values;
    this.#requireBytes(used, Math.ceil(node.length / 8), 'values');
  }

  #checkTexts(field: Field, bytes: OffsetBytes, { node, nulls }: { node: FieldNode; nulls: Nulls | undefined }): void {
    const offsets = this.#checkOffsets(node, bytes);
    const data = this.#buffers.nextBuffer();
    if (field.type.kind !== 'utf8' || field.metadata.get(EXTENSION_NAME_KEY) !== JSON_EXTENSION) return;
    const validity = nulls === undefined ? undefined : this.#readBitmap(nulls);
    const fault = jsonColumnFault(this.#buffers, { rows: node.length, offsetBytes: bytes, validity, offsets, data });
    if (fault !== undefined)
      this.#refuse(fault, 'Values of a JSON column must be standard JSON (RFC 8259) without repeated keys.');
  }

  #checkOffsets(node: FieldNode, bytes: OffsetBytes): BodyBuffer {
    const offsets = this.#buffers.nextBuffer();
    if (node.length > 0 || offsets.decodedBytes > 0) {
      this.#requireBytes(offsets, bytes * (node.length + 1), 'offsets');
    }
    this.#requireMultiple(offsets, bytes, 'offsets');
    return offsets;
  }

  /** Many views may share one text, and the engine writes it out for each. */
  #checkViews(node: FieldNode): void {
    const views = this.#buffers.nextBuffer();
    this.#requireBytes(views, VIEW_BYTES * node.length, 'views');
    this.#requireMultiple(views, VIEW_BYTES, 'views');
    let largestBytes = 0;
    for (let remaining = this.#buffers.nextVariadicCount(); remaining > 0; remaining -= 1) {
      largestBytes = Math.max(largestBytes, this.#buffers.nextBuffer().decodedBytes);
    }
    const content = this.#buffers.content(views, VIEW_BYTES * node.length);
    this.#buffers.charge(content === undefined ? node.length * largestBytes : viewedBytes(content));
  }

  #checkFixedWidth(type: DataType, node: FieldNode): void {
    const values = this.#buffers.nextBuffer();
    const width = requireFixedWidth(type);
    this.#requireBytes(values, node.length * width, 'values');
    if (type.kind !== 'fixed-size-binary') this.#requireMultiple(values, Math.min(width, 16), 'values');
  }

  #requireBytes(buffer: BodyBuffer, bytes: number, what: string): void {
    if (buffer.decodedBytes < bytes) {
      this.#refuse(`has ${buffer.decodedBytes} bytes of ${what}, but its rows need ${bytes}`);
    }
  }

  /** The engine fails on a remainder. */
  #requireMultiple(buffer: BodyBuffer, width: number, what: string): void {
    if (buffer.decodedBytes % width !== 0) {
      this.#refuse(`has ${buffer.decodedBytes} bytes of ${what}, which is not a multiple of ${width}`);
    }
  }

  #refuse(fault: string, hint?: string): never {
    const column = quoteForMessage(this.#path.join('.'));
    return this.#buffers.header.flatbuffer.refuse(`has the column ${column}, which ${fault}`, hint);
  }
}

interface JsonColumn {
  readonly rows: number;
  readonly offsetBytes: OffsetBytes;
  /** `undefined` if no row is null. */
  readonly validity: Buffer | undefined;
  readonly offsets: BodyBuffer;
  readonly data: BodyBuffer;
}

/** Why the texts of a JSON column cannot be passed to the engine; `undefined` if they can. */
function jsonColumnFault(buffers: BatchBuffers, column: JsonColumn): string | undefined {
  const { rows, offsetBytes: width } = column;
  if (rows === 0) return undefined;
  const offsets = buffers.content(column.offsets, width * (rows + 1));
  const data = buffers.content(column.data, column.data.decodedBytes);
  if (offsets === undefined || data === undefined) {
    return 'is JSON text compressed with ZSTD, which cannot be checked; use LZ4 or no compression';
  }
  let start = readOffset(offsets, 0, width);
  for (let row = 0; row < rows; row += 1) {
    const end = readOffset(offsets, row + 1, width);
    if (start < 0 || end < start || end > data.length) {
      return `has offsets in row ${row} that do not increase or point outside its data`;
    }
    const isNull = column.validity !== undefined && !hasBit(column.validity, row);
    const fault = isNull ? undefined : jsonTextFault(data.subarray(start, end));
    if (fault !== undefined) return `in row ${row} ${fault}`;
    start = end;
  }
  return undefined;
}
