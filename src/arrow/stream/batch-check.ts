import { quoteForMessage } from '../../model/identifier.ts';
import type { DataType, Field } from '../../model/schema.ts';
import { offsetBytes, requireFixedWidth, VIEW_BYTES, viewedBytes } from '../format/column-layout.ts';
import type { OffsetBytes } from '../format/column-layout.ts';
import { EXTENSION_NAME_KEY, JSON_EXTENSION } from '../schema/schema-rules.ts';
import type { BatchBuffers, BodyBuffer, FieldNode } from './batch-buffers.ts';
import { jsonColumnFault } from './json-column.ts';

export interface BatchSchema {
  readonly columns: readonly Field[];
  /** Collects the names of the top-level columns that hold nulls. */
  readonly nullColumns?: Set<string>;
  hasDictionary(type: DataType): boolean;
}

/**
 * Checks a batch against its schema without decoding it: everything that the engine would assume, or detect by failing in
 * the middle of a table. Beyond lengths, the contents of buffers are left to the engine.
 */
export function checkBatch(buffers: BatchBuffers, schema: BatchSchema): void {
  const walk = new ColumnWalk(buffers, schema);
  for (const column of schema.columns) walk.checkColumn(column, buffers.header.rows);
  buffers.requireEnd();
}

class ColumnWalk {
  readonly #buffers: BatchBuffers;
  readonly #schema: BatchSchema;
  readonly #path: string[] = [];

  constructor(buffers: BatchBuffers, schema: BatchSchema) {
    this.#buffers = buffers;
    this.#schema = schema;
  }

  /** `rows` is what the parent demands; below a list it is unknown, because the offsets are not read. */
  checkColumn(field: Field, rows: number | undefined): void {
    this.#path.push(field.name);
    const node = this.#buffers.nextNode();
    if (rows !== undefined && node.length !== rows) {
      this.#refuse(`has ${node.length} rows where ${rows} are declared`);
    }
    this.#checkNulls(field, node);
    this.#checkLayout(field, node);
    this.#path.pop();
  }

  #checkNulls(field: Field, node: FieldNode): void {
    if (field.type.kind === 'null') {
      if (node.nullCount !== node.length) this.#refuse('is of nulls only but counts rows that are not null');
      this.#schema.nullColumns?.add(field.name);
      return;
    }
    if (node.nullCount > 0 && this.#path.length === 1) {
      if (!field.nullable) this.#refuse(`has ${node.nullCount} nulls although the schema allows none`);
      this.#schema.nullColumns?.add(field.name);
    }
    const validity = this.#buffers.nextBuffer();
    if (node.nullCount > 0) this.#requireBytes(validity, Math.ceil(node.length / 8), 'validity');
  }

  #checkLayout(field: Field, node: FieldNode): void {
    const { type } = field;
    switch (type.kind) {
      case 'null':
        return this.#buffers.charge(node.length);
      case 'bool':
        return this.#requireBytes(this.#buffers.nextBuffer(), Math.ceil(node.length / 8), 'values');
      case 'utf8':
      case 'binary':
        return type.layout === 'view' ? this.#checkViews(node) : this.#checkBytes(field, node, offsetBytes(type));
      case 'list':
        this.#checkOffsets(node, offsetBytes(type));
        return this.checkColumn(type.item, undefined);
      case 'map':
        this.#checkOffsets(node, 4);
        return this.checkColumn(type.entries, undefined);
      case 'fixed-size-list':
        return this.checkColumn(type.item, node.length * type.length);
      case 'struct':
        if (type.children.length === 0) this.#buffers.charge(node.length);
        for (const child of type.children) this.checkColumn(child, node.length);
        return undefined;
      case 'dictionary':
        this.#checkFixedWidth(type.index, node);
        if (node.length === 0 || this.#schema.hasDictionary(type)) return undefined;
        return this.#refuse('uses a dictionary that has not been sent', 'Its dictionary batch comes first.');
      default:
        return this.#checkFixedWidth(type, node);
    }
  }

  #checkBytes(field: Field, node: FieldNode, bytes: OffsetBytes): void {
    const offsets = this.#checkOffsets(node, bytes);
    const data = this.#buffers.nextBuffer();
    if (field.type.kind !== 'utf8' || field.metadata.get(EXTENSION_NAME_KEY) !== JSON_EXTENSION) return;
    const fault = jsonColumnFault(this.#buffers, { rows: node.length, offsetBytes: bytes, offsets, data });
    if (fault !== undefined) this.#refuse(fault);
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
      this.#refuse(`has ${buffer.decodedBytes} bytes of ${what} where its rows need ${bytes}`);
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
    return this.#buffers.header.flatbuffer.refuse(`holds the column ${column}, which ${fault}`, hint);
  }
}
